"""The trajectory: what an agent wrote and what befell it, as numbered steps in JSON lines.

    {"step": 12, "offset_s": 3.042, "kind": "output", "stream": "stdout", "text": "a line"}
    {"step": 13, "offset_s": 3.1, "kind": "event", "text": "cancelled"}
    {"step": 14, "offset_s": 4.2, "kind": "model", "text": "in short", "model": {"status": 200, …}}

A step is a line, without its newline. Longer lines, and lines that are not finished when a chunk must be
sealed, come in pieces: "continued": true says that the next step of the same stream goes on with it. Bytes
that are not UTF-8 stand as \\xNN, and "undecoded" counts them. Control codes are JSON escapes.

Steps are sealed in chunks that are written once, so that the death of a runner costs the last seconds only,
and memory stays the same for any length of run and of line.
"""

from __future__ import annotations

import asyncio
import codecs
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass

MAX_LINE = 64 * 1024
MAX_CHUNK = 1024 * 1024
MAX_AGE_S = 2.0

# What the "surrogateescape" handler makes of bytes that are not UTF-8.
_UNDECODED = re.compile("[\udc80-\udcff]")

Sink = Callable[[str, bytes], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Step:
    """One step; `stream` is "" for events and exchanges with a model, of which `model` tells."""

    number: int
    offset_s: float
    stream: str
    text: str
    continued: bool = False
    undecoded: int = 0
    model: Mapping[str, object] | None = None

    @property
    def kind(self) -> str:
        if self.model is not None:
            return "model"
        return "output" if self.stream else "event"

    def line(self) -> bytes:
        """The step as a JSON line."""
        told: dict[str, object] = {
            "step": self.number,
            "offset_s": round(self.offset_s, 3),
            "kind": self.kind,
        }
        if self.stream:
            told["stream"] = self.stream
        told["text"] = self.text
        if self.continued:
            told["continued"] = True
        if self.undecoded:
            told["undecoded"] = self.undecoded
        if self.model is not None:
            told["model"] = self.model
        return json.dumps(told).encode() + b"\n"


def chunk_name(number: int) -> str:
    """Name of the chunk with this 0-based number."""
    return f"trajectory/{number:05d}.jsonl"


class Recorder:
    """Turns output into steps and hands sealed chunks to `sink`, in order, one at a time.

    `seen` is called with each step as it is made. Offsets are seconds from the start of the run.
    """

    def __init__(self, sink: Sink, seen: Callable[[Step], None] = lambda _: None) -> None:
        self._sink = sink
        self._seen = seen
        self._lines: dict[str, _Line] = {}
        self._chunk = bytearray()
        self._begun_s = 0.0
        self._turn = asyncio.Lock()
        self.steps = 0
        self.chunks = 0

    async def output(self, stream: str, data: bytes, offset_s: float) -> None:
        """Record bytes as they came."""
        async with self._turn:
            line = self._lines.setdefault(stream, _Line(stream))
            for text, undecoded, begun_s, continued in line.feed(data, offset_s):
                await self._add(Step(self.steps + 1, begun_s, stream, text, continued, undecoded))
            await self._tick(offset_s)

    async def event(self, text: str, offset_s: float) -> None:
        """Record something that befell the run."""
        async with self._turn:
            await self._add(Step(self.steps + 1, offset_s, "", text))

    async def model(self, text: str, told: Mapping[str, object], offset_s: float) -> None:
        """Record an exchange with a model: `text` says it in short, `told` in full."""
        async with self._turn:
            await self._add(Step(self.steps + 1, offset_s, "", text, model=told))

    async def tick(self, offset_s: float) -> None:
        """Seal what has waited long enough. To be called about once a second."""
        async with self._turn:
            await self._tick(offset_s)

    async def close(self) -> None:
        """Record what is left and seal it."""
        async with self._turn:
            await self._flush(continued=False)
            await self._seal()

    async def _tick(self, offset_s: float) -> None:
        waiting = [line.begun_s for line in self._lines.values() if line.pending]
        if self._chunk:
            waiting.append(self._begun_s)
        if waiting and offset_s - min(waiting) >= MAX_AGE_S:
            await self._flush(continued=True)
            await self._seal()

    async def _flush(self, *, continued: bool) -> None:
        for line in self._lines.values():
            if line.pending or (line.open and not continued):
                text, undecoded, begun_s = line.take(continued=continued)
                await self._add(Step(self.steps + 1, begun_s, line.stream, text, continued, undecoded))

    async def _add(self, step: Step) -> None:
        told = step.line()
        if self._chunk and len(self._chunk) + len(told) > MAX_CHUNK:
            await self._seal()
        if not self._chunk:
            self._begun_s = step.offset_s
        self._chunk += told
        self.steps += 1
        self._seen(step)

    async def _seal(self) -> None:
        if self._chunk:
            await self._sink(chunk_name(self.chunks), bytes(self._chunk))
            self.chunks += 1
            self._chunk.clear()


class _Line:
    """The unfinished line of one stream."""

    def __init__(self, stream: str) -> None:
        self.stream = stream
        self.pending = bytearray()
        self.begun_s = 0.0
        self.open = False  # a piece of this line is already a step
        self._decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")

    def feed(self, data: bytes, offset_s: float) -> list[tuple[str, int, float, bool]]:
        """(text, undecoded bytes, begin, continued) for each line or piece that is complete now."""
        done = []
        *whole, rest = data.split(b"\n")
        for part in whole:
            done += self._append(part, offset_s)
            done.append((*self.take(continued=False), False))
        return done + self._append(rest, offset_s)

    def _append(self, part: bytes, offset_s: float) -> list[tuple[str, int, float, bool]]:
        """Add to the line; gives the pieces that make it longer than it may be."""
        pieces = []
        for start in range(0, len(part), MAX_LINE):
            if not self.pending:
                self.begun_s = offset_s
            self.pending += part[start : start + MAX_LINE]
            if len(self.pending) > MAX_LINE:
                over = bytes(self.pending[MAX_LINE:])
                del self.pending[MAX_LINE:]
                pieces.append((*self.take(continued=True), True))
                self.pending += over
                self.begun_s = offset_s
        if not self.pending and not self.open:
            self.begun_s = offset_s
        return pieces

    def take(self, *, continued: bool) -> tuple[str, int, float]:
        """(text, undecoded bytes, begin) of what is there; a character that is cut waits for its rest."""
        text = self._decoder.decode(bytes(self.pending), final=not continued)
        if not continued:
            self._decoder.reset()
        self.pending.clear()
        self.open = continued
        text, undecoded = _UNDECODED.subn(lambda found: f"\\x{ord(found[0]) - 0xDC00:02x}", text)
        return text, undecoded, self.begun_s


Load = Callable[[int], Awaitable[bytes]]


async def first_chunk(load: Load, chunks: int, step: int) -> int:
    """The number of the chunk that holds `step` (or would), of `chunks`; reads about log2(chunks) of them."""
    low, high = 0, chunks - 1
    while low < high:
        middle = (low + high + 1) // 2
        if _number(await load(middle)) <= step:
            low = middle
        else:
            high = middle - 1
    return low


async def read(load: Load, chunks: int, from_step: int = 1) -> AsyncIterator[bytes]:
    """The JSON lines of each chunk from `from_step` on, in order; one chunk is in memory at a time."""
    if not chunks:
        return
    for number in range(await first_chunk(load, chunks, from_step), chunks):
        if lines := since(await load(number), from_step):
            yield lines


def since(chunk: bytes, step: int) -> bytes:
    """The lines of a chunk from a step on."""
    skip = step - _number(chunk)
    if skip <= 0:
        return chunk
    return b"".join(chunk.splitlines(keepends=True)[skip:])


def _number(chunk: bytes) -> int:
    return int(json.loads(chunk[: chunk.index(b"\n")])["step"])
