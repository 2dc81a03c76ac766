"""What of a trajectory a page shows: all of it, or its ends and what is cited."""

import asyncio
import gzip
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from firetrial_analyzer.window import MAX_TEXT, Gap, Line, Window, read, window


def step(number: int, **more: Any) -> str:
    told = {
        "step": number,
        "offset_s": number / 10,
        "kind": "output",
        "stream": "stdout",
        "text": f"line {number}",
    }
    return json.dumps(told | more)


def stored(steps: int, each: int) -> dict[str, bytes]:
    """Chunks of `each` steps by key, as the runner stores them."""
    return {
        f"runs/r-1/trajectory/{first:010d}.jsonl.gz": gzip.compress(
            "".join(f"{step(number)}\n" for number in range(first, min(first + each, steps + 1))).encode()
        )
        for first in range(1, steps + 1, each)
    }


def shown(chunks: dict[str, bytes], **bounds: Any) -> tuple[Window, list[str]]:
    """The window, and which chunks were read for it."""
    asked: list[str] = []

    async def load(key: str) -> bytes:
        asked.append(key)
        return chunks[key]

    return asyncio.run(window(list(reversed(chunks)), load, **bounds)), asked


def numbers(found: Window) -> list[int]:
    return [line.number for line in found.lines]


@given(st.integers(0, 300), st.integers(1, 60))
def test_a_short_trajectory_is_whole(steps: int, each: int) -> None:
    found, asked = shown(stored(steps, each))
    assert numbers(found) == list(range(1, steps + 1))
    assert found.gaps == ()
    assert len(asked) == len(set(asked))


def test_of_a_long_one_both_ends_are_shown_and_the_gap_is_told() -> None:
    chunks = stored(1000, 10)
    size = len(gzip.decompress(chunks["runs/r-1/trajectory/0000000001.jsonl.gz"]))
    found, _ = shown(chunks, head=3 * size, tail=2 * size)
    kept = set(numbers(found))
    (gap,) = found.gaps
    assert {1, 2, 1000} < kept
    assert kept | set(range(gap.first, gap.last + 1)) == set(range(1, 1001))
    assert not kept & set(range(gap.first, gap.last + 1))


def test_what_is_cited_is_shown_from_the_middle_too() -> None:
    found, _ = shown(stored(1000, 10), cited=(505, 4000, -3), head=1, tail=1)
    assert numbers(found) == [*range(1, 11), *range(501, 511), *range(991, 1001)]
    assert found.gaps == (Gap(11, 500), Gap(511, 990))


def test_pieces_of_a_text_are_one_line_that_is_cut_where_it_is_too_long() -> None:
    rows = [
        step(1, text="a" * MAX_TEXT, continued=True),
        step(2, stream="stderr", text="other"),
        step(3, text="b" * 10, continued=True),
        step(4, text="c"),
    ]
    first, whole = sorted(read(["\n".join(rows).encode()]), key=lambda line: -line.number)
    assert (first.text, first.stream) == ("other", "stderr")
    assert (whole.number, whole.last, whole.size, len(whole.text)) == (1, 4, MAX_TEXT + 11, MAX_TEXT)


def test_what_a_step_tells_beside_its_text_is_noted() -> None:
    rows = [
        step(1, kind="command", text="python run.py", exit_code=2, tool="bash"),
        step(2, kind="edit", text="+x", path="run.py"),
        step(3, kind="command", text="{}", tool="search", failed=True),
    ]
    lines = list(read(["\n".join(rows).encode()]))
    assert [(line.note, line.failed) for line in lines] == [
        ("exit 2", True),
        ("run.py", False),
        ("search", True),
    ]


def test_what_is_no_step_is_left_out() -> None:
    rows = ["", "{", "[]", '{"step": "x"}', step(7), '{"step": 8, "kind": "output"}', "\ufffd"]
    assert [line.number for line in read(["\n".join(rows).encode()])] == [7]
    assert list(read([b"\xff\xfe\n" + step(1).encode()])) == [
        Line(1, 1, 0.1, "output", "stdout", "line 1", 6)
    ]


def test_a_chunk_that_is_no_gzip_shows_nothing() -> None:
    chunks = stored(20, 10) | {"runs/r-1/trajectory/0000000011.jsonl.gz": b"no gzip", "runs/r-1/x": b""}
    found, _ = shown(chunks)
    assert numbers(found) == list(range(1, 11))
