"""Steps, chunks and their reader."""

from __future__ import annotations

import asyncio
import json
import tracemalloc
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firetrial_runner import trajectory
from firetrial_runner.trajectory import MAX_CHUNK, MAX_LINE, Recorder, Step, chunk_name


class Store:
    def __init__(self) -> None:
        self.chunks: dict[str, bytes] = {}

    async def put(self, name: str, data: bytes) -> None:
        assert name not in self.chunks, "a chunk is written once"
        self.chunks[name] = data

    async def load(self, number: int) -> bytes:
        return self.chunks[chunk_name(number)]

    def steps(self) -> list[dict[str, Any]]:
        return [json.loads(line) for chunk in self.chunks.values() for line in chunk.splitlines()]


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
    (chunk,) = store.chunks.values()
    assert chunk.isascii()
    assert not any(byte < 32 for byte in chunk.replace(b"\n", b""))
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
    assert all(len(chunk) <= MAX_CHUNK for chunk in store.chunks.values())
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


@pytest.mark.parametrize("from_step", [1, 2, 5_000, 9_999, 10_000])
async def test_reading_from_a_step(from_step: int) -> None:
    store, recorder = await filled(10_000)
    assert recorder.chunks > 3
    loaded: list[int] = []

    async def load(number: int) -> bytes:
        loaded.append(number)
        return await store.load(number)

    read = [lines async for lines in trajectory.read(load, recorder.chunks, from_step)]
    numbers = [json.loads(line)["step"] for lines in read for line in lines.splitlines()]
    assert numbers == list(range(from_step, 10_001))
    assert all(earlier < later for earlier, later in pairwise(numbers))
    assert len(loaded) <= recorder.chunks + 5


async def test_reading_past_the_end() -> None:
    store, recorder = await filled(10)
    assert [lines async for lines in trajectory.read(store.load, recorder.chunks, 11)] == []
    assert [lines async for lines in trajectory.read(store.load, 0)] == []


async def test_an_exchange_with_a_model_is_a_step_of_its_own() -> None:
    chunks: list[bytes] = []

    async def sink(_: str, data: bytes) -> None:
        chunks.append(data)

    recorder = Recorder(sink)
    await asyncio.gather(
        recorder.output("stdout", b"one\n", 0.1),
        recorder.model("small: 200", {"status": 200, "tokens": {"prompt": 3}}, 0.2),
        recorder.output("stdout", b"two\n", 0.3),
    )
    await recorder.close()
    steps = [json.loads(line) for line in b"".join(chunks).splitlines()]
    assert [(step["step"], step["kind"]) for step in steps] == [(1, "output"), (2, "model"), (3, "output")]
    assert steps[1] == {
        "step": 2,
        "offset_s": 0.2,
        "kind": "model",
        "text": "small: 200",
        "model": {"status": 200, "tokens": {"prompt": 3}},
    }
