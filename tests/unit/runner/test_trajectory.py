"""Steps, chunks and their reader."""

from __future__ import annotations

import asyncio
import json
import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firetrial_runner import trajectory
from firetrial_runner.trajectory import (
    INDEX,
    MAX_CHUNK,
    MAX_FIELD,
    MAX_LINE,
    MAX_READ,
    Index,
    Kind,
    Recorder,
    Step,
    Told,
    chunk_name,
    lines_of,
)


class Store:
    def __init__(self) -> None:
        self.chunks: dict[str, bytes] = {}
        self.index = Index(0, ())

    async def put(self, name: str, data: bytes) -> None:
        if name == INDEX:
            self.index = trajectory.unpacked(data)
            return
        assert name not in self.chunks, "a chunk is written once"
        self.chunks[name] = data

    @property
    def firsts(self) -> list[int]:
        return trajectory.first_steps(f"runs/r-1/{name}" for name in self.chunks)

    async def load(self, first: int) -> bytes:
        return self.chunks[chunk_name(first)]

    def lines(self) -> list[bytes]:
        return [line for chunk in self.chunks.values() for line in lines_of(chunk).splitlines()]

    def steps(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.lines()]


def joined(steps: list[dict[str, Any]], stream: str) -> str:
    """The text of a stream, put together again."""
    return "".join(
        step["text"] + ("" if step.get("continued") else "\n")
        for step in steps
        if step.get("stream") == stream
    )


async def test_lines_events_and_streams() -> None:
    store = Store()
    recorder = Recorder(store.put)
    await recorder.event("started", 0.0)
    await recorder.output("stdout", b"one\ntw", 0.5)
    await recorder.output("stderr", b"oops\n", 0.6)
    await recorder.output("stdout", b"o\n\nthree", 0.75)
    await recorder.close()
    assert store.steps() == [
        {"step": 1, "offset_s": 0.0, "kind": "event", "text": "started"},
        {"step": 2, "offset_s": 0.5, "kind": "output", "stream": "stdout", "text": "one"},
        {"step": 3, "offset_s": 0.6, "kind": "output", "stream": "stderr", "text": "oops"},
        {"step": 4, "offset_s": 0.5, "kind": "output", "stream": "stdout", "text": "two"},
        {"step": 5, "offset_s": 0.75, "kind": "output", "stream": "stdout", "text": ""},
        {"step": 6, "offset_s": 0.75, "kind": "output", "stream": "stdout", "text": "three"},
    ]
    assert (recorder.steps, recorder.chunks) == (6, 1)


async def test_nothing_gives_no_chunk() -> None:
    store = Store()
    recorder = Recorder(store.put)
    await recorder.tick(9)
    await recorder.close()
    assert (store.chunks, recorder.steps) == ({}, 0)


async def test_characters_cut_by_chunks_and_bytes_that_are_none() -> None:
    store = Store()
    recorder = Recorder(store.put)
    for byte in "a€😀\n".encode() + b"\xff\xfe b\xc3\n" + b"\xe2\x82":
        await recorder.output("stdout", bytes([byte]), 0.0)
    await recorder.close()
    first, second, third = store.steps()
    assert first["text"] == "a€😀"
    assert "undecoded" not in first
    assert (second["text"], second["undecoded"]) == ("\\xff\\xfe b\\xc3", 3)
    assert (third["text"], third["undecoded"]) == ("\\xe2\\x82", 2)


async def test_control_codes_are_escaped() -> None:
    store = Store()
    recorder = Recorder(store.put)
    await recorder.output("stdout", b"\x1b[31mred\x00\r50%\r\n", 0.0)
    await recorder.close()
    (line,) = store.lines()
    assert line.isascii()
    assert not any(byte < 32 for byte in line)
    assert store.steps()[0]["text"] == "\x1b[31mred\x00\r50%\r"


async def test_long_lines_come_in_pieces_of_whole_characters() -> None:
    store = Store()
    recorder = Recorder(store.put)
    line = "€" * 100_000
    await recorder.output("stdout", line.encode() + b"\nend\n", 0.0)
    await recorder.close()
    steps = store.steps()
    assert [step.get("continued", False) for step in steps] == [True] * 4 + [False, False]
    assert joined(steps, "stdout") == line + "\nend\n"
    assert not any(step.get("undecoded") for step in steps)


async def test_a_line_of_exactly_the_most() -> None:
    store = Store()
    recorder = Recorder(store.put)
    await recorder.output("stdout", b"x" * MAX_LINE + b"\n" + b"y" * MAX_LINE, 0.0)
    await recorder.close()
    assert [(len(step["text"]), step.get("continued")) for step in store.steps()] == [(MAX_LINE, None)] * 2


async def test_what_waits_is_sealed_after_two_seconds_with_the_unfinished_line() -> None:
    store = Store()
    recorder = Recorder(store.put)
    await recorder.output("stdout", b"done\nhalf \xe2\x82", 0.0)
    await recorder.tick(1.9)
    assert store.chunks == {}
    await recorder.tick(2.0)
    assert len(store.chunks) == 1
    await recorder.output("stdout", b"\xac a line\n", 3.0)
    await recorder.close()
    steps = store.steps()
    assert [step["text"] for step in steps] == ["done", "half ", "€ a line"]
    assert joined(steps, "stdout") == "done\nhalf € a line\n"


async def test_an_unfinished_line_that_never_goes_on_is_closed() -> None:
    store = Store()
    recorder = Recorder(store.put)
    await recorder.output("stdout", b"half", 0.0)
    await recorder.tick(2.0)
    await recorder.close()
    assert [(step["text"], step.get("continued")) for step in store.steps()] == [("half", True), ("", None)]


async def test_chunks_are_bounded_and_hold_whole_steps() -> None:
    store = Store()
    recorder = Recorder(store.put)
    for _ in range(60):
        await recorder.output("stdout", b"\x01" * 65_000 + b"\n", 0.0)
    await recorder.close()
    assert len(store.chunks) == recorder.chunks > 15
    assert all(len(lines_of(chunk)) <= MAX_CHUNK for chunk in store.chunks.values())
    numbers = [step["step"] for step in store.steps()]
    assert numbers == list(range(1, 61))


async def test_memory_is_the_same_for_a_line_of_any_length() -> None:
    async def forget(_: str, __: bytes) -> None:
        pass

    recorder = Recorder(forget)
    piece = b"x" * 65_536
    tracemalloc.start()
    try:
        for number in range(64 * 16):  # 64 MiB without a newline
            await recorder.output("stdout", piece, number / 1000)
        await recorder.close()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert recorder.steps == 64 * 16
    assert peak < 8 * 1024 * 1024


@given(
    st.lists(
        st.tuples(st.sampled_from(["stdout", "stderr"]), st.binary(max_size=200), st.floats(0, 3)),
        max_size=30,
    )
)
async def test_nothing_is_lost_whatever_comes(parts: list[tuple[str, bytes, float]]) -> None:
    store = Store()
    seen: list[Step] = []
    recorder = Recorder(store.put, seen.append)
    now = 0.0
    for stream, data, pause in parts:
        now += pause
        await recorder.output(stream, data, now)
    await recorder.close()
    steps = store.steps()
    assert [step["step"] for step in steps] == list(range(1, len(steps) + 1))
    assert len(seen) == recorder.steps == len(steps)
    for stream in ("stdout", "stderr"):
        sent = b"".join(data for name, data, _ in parts if name == stream)
        wanted = sent.decode("utf-8", "surrogateescape").encode("utf-8", "surrogateescape")
        got = joined(steps, stream)
        assert got.removesuffix("\n") == wanted.decode("utf-8", "backslashreplace").removesuffix("\n")


async def filled(steps: int) -> tuple[Store, Recorder]:
    store = Store()
    recorder = Recorder(store.put)
    for number in range(1, steps + 1):
        await recorder.output("stdout", f"line {number} {'.' * 300}\n".encode(), number / 1000)
    await recorder.close()
    return store, recorder


async def paged(store: Store, from_step: int, size: int) -> tuple[list[int], int, int]:
    """(numbers of the steps, total, next) of a page."""
    found = await trajectory.page(store.load, store.index, from_step, size)
    return [json.loads(line)["step"] for line in found.lines.splitlines()], found.total, found.next_step


@pytest.mark.parametrize("from_step", [1, 2, 5_000, 9_951, 9_999, 10_000, 10_001])
async def test_a_page_from_any_step_reads_its_own_chunks_alone(from_step: int) -> None:
    store, recorder = await filled(10_000)
    assert recorder.chunks > 3
    loaded: list[int] = []

    async def load(first: int) -> bytes:
        loaded.append(first)
        return await store.load(first)

    found = await trajectory.page(load, store.index, from_step, 50)
    numbers = [json.loads(line)["step"] for line in found.lines.splitlines()]
    assert numbers == list(range(from_step, min(from_step + 50, 10_001)))
    assert found.total == 10_000
    assert found.next_step == (from_step + 50 if from_step + 50 <= 10_000 else 0)
    assert len(loaded) <= 2


async def test_a_page_goes_over_the_end_of_a_chunk() -> None:
    store, _ = await filled(10_000)
    second = store.firsts[1]
    assert await paged(store, second - 2, 4) == (
        [second - 2, second - 1, second, second + 1],
        10_000,
        second + 2,
    )


async def test_a_page_is_bounded_in_bytes_and_holds_one_step_at_least() -> None:
    store, _ = await filled(100)
    found = await trajectory.page(store.load, store.index, 1, 100, most=1000)
    assert 1 < len(found.lines.splitlines()) < 4
    assert found.next_step == len(found.lines.splitlines()) + 1
    one = await trajectory.page(store.load, store.index, 5, 100, most=1)
    assert len(one.lines.splitlines()) == 1
    assert one.next_step == 6


async def test_an_index_is_made_of_the_chunks_where_none_was_written() -> None:
    store, recorder = await filled(10_000)
    assert store.index == Index(10_000, tuple(store.firsts))
    assert await trajectory.indexed(store.load, store.firsts) == store.index
    assert len(store.index.firsts) == recorder.chunks
    assert await trajectory.indexed(store.load, []) == Index(0, ())


async def test_a_page_past_the_end_and_of_nothing() -> None:
    store, _ = await filled(10)
    assert await paged(store, 11, 5) == ([], 10, 0)
    assert await paged(Store(), 1, 5) == ([], 0, 0)


async def test_steps_of_every_kind_and_their_fields() -> None:
    store = Store()
    recorder = Recorder(store.put)
    await recorder.tell(Told(Kind.COMMAND, "ls", {"exit_code": 0, "tool": None, "call": "c" * 5000}), 1.0)
    await recorder.tell(Told(Kind.THOUGHT, "x" * MAX_LINE + "end", {"reasoning": True}, offset_s=0.5), 1.0)
    await recorder.tell(Told(Kind.OUTPUT, "lone \ud83d and \udc41", {"call": "1"}, "stdout"), 1.0)
    await recorder.close()
    command, thought, rest, output = store.steps()
    assert command == {
        "step": 1,
        "offset_s": 1.0,
        "kind": "command",
        "text": "ls",
        "exit_code": 0,
        "call": "c" * MAX_FIELD,
        "cut": 5000 - MAX_FIELD,
    }
    assert (thought["continued"], thought["reasoning"], thought["offset_s"]) == (True, True, 0.5)
    assert rest == {"step": 3, "offset_s": 0.5, "kind": "thought", "text": "end"}
    assert output["text"] == "lone \\ud83d and \\udc41"


class Shouting:
    """Reads lines that begin with "!", and keeps one back for the end."""

    def __init__(self) -> None:
        self.kept: list[Told] = []

    def line(self, text: str) -> list[Told] | None:
        if text == "!keep":
            self.kept.append(Told(Kind.EVENT, "kept"))
            return []
        return [Told(Kind.THOUGHT, text[1:])] if text.startswith("!") else None

    def close(self) -> list[Told]:
        return self.kept


async def test_a_reader_makes_steps_of_the_lines_it_knows_and_the_others_stay() -> None:
    store = Store()
    recorder = Recorder(store.put, reader=Shouting())
    await recorder.output("stdout", b"!on", 0.0)
    await recorder.tick(5.0)
    await recorder.output("stderr", b"!err\n", 5.0)
    await recorder.output("stdout", "e €\n!keep\nplain \xff\n!half".encode("latin-1", "replace"), 6.0)
    await recorder.close()
    found = [(step["kind"], step.get("stream"), step["text"]) for step in store.steps()]
    assert found == [
        ("output", "stderr", "!err"),
        ("thought", None, "one ?"),
        ("output", "stdout", "plain \\xff"),
        ("thought", None, "half"),
        ("event", None, "kept"),
    ]


async def test_a_line_too_long_to_be_looked_into_is_kept_as_it_is() -> None:
    store = Store()
    recorder = Recorder(store.put, reader=Shouting())
    await recorder.output("stdout", b"!" + b"x" * (MAX_READ + 10) + b"\n!next\n", 0.0)
    await recorder.close()
    steps = store.steps()
    assert joined(steps, "stdout") == "!" + "x" * (MAX_READ + 10) + "\n"
    assert steps[-1]["kind"] == "thought"


async def test_an_exchange_with_a_model_is_a_step_of_its_own() -> None:
    chunks: list[bytes] = []

    async def sink(name: str, data: bytes) -> None:
        if name != INDEX:
            chunks.append(data)

    recorder = Recorder(sink)
    await asyncio.gather(
        recorder.output("stdout", b"one\n", 0.1),
        recorder.model("small: 200", {"status": 200, "tokens": {"prompt": 3}}, 0.2),
        recorder.output("stdout", b"two\n", 0.3),
    )
    await recorder.close()
    steps = [json.loads(line) for chunk in chunks for line in lines_of(chunk).splitlines()]
    assert [(step["step"], step["kind"]) for step in steps] == [(1, "output"), (2, "model"), (3, "output")]
    assert steps[1] == {
        "step": 2,
        "offset_s": 0.2,
        "kind": "model",
        "text": "small: 200",
        "model": {"status": 200, "tokens": {"prompt": 3}},
    }
