"""What of a trajectory is kept, and what is told of the rest."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from firetrial_analyzer.trajectory import HEAD, LONGEST, TAIL, Keeper, Trajectory


def line(number: int, text: str, **told: Any) -> bytes:
    return json.dumps({"step": number, "kind": "output", "text": text, **told}).encode() + b"\n"


def kept(chunks: Sequence[bytes], head: int = HEAD, tail: int = TAIL) -> Trajectory:
    keeper = Keeper(head, tail)
    for number, chunk in enumerate(chunks):
        keeper.feed(f"chunk {number}", chunk)
    return keeper.close()


def test_a_small_trajectory_is_whole_over_its_chunks() -> None:
    first, second = line(1, "a") + line(2, "b", continued=True), line(3, "c") + line(4, "done", kind="event")
    found = kept([gzip.compress(first), second])
    assert [(step.number, step.last, step.text) for step in found.steps] == [
        (1, 1, "a"), (2, 3, "bc"), (4, 4, "done")
    ]  # fmt: skip
    assert found.whole


def test_begin_and_end_of_a_long_one_are_kept_and_the_rest_is_told() -> None:
    found = kept([b"".join(line(n, f"line {n}") for n in range(1, 1001))], head=1100, tail=2200)
    numbers = [step.number for step in found.steps]
    assert (numbers[:10], numbers[-1]) == (list(range(1, 11)), 1000)
    assert len(numbers) < 32
    first_missing, last_missing = numbers[9] + 1, numbers[10] - 1
    assert found.left_out == (
        f"steps {first_missing} to {last_missing} were not read: they go beyond what is kept of one run",
    )


def test_a_line_of_megabytes_is_cut_and_that_is_told() -> None:
    found = kept([line(1, "x" * 60_000, continued=n < 39) for n in range(40)])
    assert [len(step.text) for step in found.steps] == [LONGEST]
    assert found.left_out == (
        f"long lines, the first in step 1, were cut by {40 * 60_000 - LONGEST} characters",
    )


def test_what_is_no_chunk_is_told_and_the_rest_is_read() -> None:
    bomb = gzip.compress(b" " * (16 * 1024 * 1024))
    found = kept([b"\x1f\x8bnot gzip", bomb, line(3, "still here")])
    assert [step.text for step in found.steps] == ["still here"]
    assert [told.partition(" could")[0] for told in found.left_out] == ["chunk 0", "chunk 1"]


@given(st.lists(st.binary(max_size=80), max_size=8))
def test_any_bytes_are_read_without_fail(chunks: list[bytes]) -> None:
    kept(chunks)


@given(st.lists(st.integers(0, 400), max_size=60), st.integers(0, 3000), st.integers(0, 3000))
def test_steps_stay_in_order_and_a_gap_is_never_silent(sizes: list[int], head: int, tail: int) -> None:
    found = kept([line(n, "x" * size) for n, size in enumerate(sizes, 1)], head=head, tail=tail)
    numbers = [step.number for step in found.steps]
    assert numbers == sorted(numbers)
    assert (len(numbers) == len(sizes)) is found.whole
    assert not sizes or numbers[-1] == len(sizes), "the end is always there"
