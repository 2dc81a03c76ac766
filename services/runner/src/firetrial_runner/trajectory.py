"""The trajectory: what an agent did, wrote and what befell it, as numbered steps in JSON lines.

    {"step": 12, "offset_s": 3.042, "kind": "output", "stream": "stdout", "text": "a line"}
    {"step": 13, "offset_s": 3.1, "kind": "command", "text": "python run.py", "exit_code": 0}

docs/trajectory.md says which kinds there are, what each tells, and how the chunks lie in the store.

An output step is a line, without its newline. Longer texts, and lines that are not finished when a chunk must
be sealed, come in pieces: "continued": true says that the next step of the same kind and stream goes on with
it. Bytes that are not UTF-8 stand as \\xNN, and "undecoded" counts them. Control codes are JSON escapes.

Steps are sealed in chunks that are written once, so that a runner's death costs the last seconds only, and
memory stays the same for any length of run and of line. A chunk's name is the number of its first step, so
that any step is found by the names alone; the index, written at the end, spares a reader to list them.
"""

from __future__ import annotations

import asyncio
import codecs
import gzip
import json
import re
from bisect import bisect_right
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

MAX_LINE = 64 * 1024
MAX_CHUNK = 1024 * 1024
MAX_AGE_S = 2.0
MAX_READ = 8 * 1024 * 1024
"""Characters of a line that is looked into; a longer one is recorded as it is."""
MAX_FIELD = 4096
"""Characters of a field other than the text."""
FOLDER = "trajectory/"
INDEX = "trajectory.json.gz"

# What the "surrogateescape" handler makes of bytes that are not UTF-8, and surrogates that JSON can bring.
_SURROGATE = re.compile("[\ud800-\udfff]")
_CHUNK_NAME = re.compile(r"(\d{10})\.jsonl\.gz")

Sink = Callable[[str, bytes], Awaitable[None]]
Value = str | int | float | bool | Mapping[str, object] | None


class Kind(StrEnum):
    """What a step is."""

    OUTPUT = "output"
    EVENT = "event"
    THOUGHT = "thought"
    COMMAND = "command"
    EDIT = "edit"
    MODEL = "model"
    CONCLUSION = "conclusion"


@dataclass(frozen=True, slots=True)
class Told:
    """A step that has no number yet. Without an `offset_s` it is of the moment when it is recorded."""

    kind: Kind
    text: str
    fields: Mapping[str, Value] = field(default_factory=dict)
    stream: str = ""
    offset_s: float | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """One step; `stream` is "" for all but output. `kind` may be left out for output and events."""

    number: int
    offset_s: float
    stream: str
    text: str
    continued: bool = False
    undecoded: int = 0
    kind: Kind | None = None
    fields: Mapping[str, Value] = field(default_factory=dict)

    def line(self) -> bytes:
        """The step as a JSON line."""
        kind = self.kind or (Kind.OUTPUT if self.stream else Kind.EVENT)
        told: dict[str, object] = {"step": self.number, "offset_s": round(self.offset_s, 3), "kind": kind}
        if self.stream:
            told["stream"] = self.stream
        told["text"] = self.text
        if self.continued:
            told["continued"] = True
        if self.undecoded:
            told["undecoded"] = self.undecoded
        return json.dumps({**self.fields, **told} if self.fields else told).encode() + b"\n"


class Reader(Protocol):
    """Reads an agent program's standard output line by line; see `firetrial_runner.streams`."""

    def line(self, text: str) -> Sequence[Told] | None:
        """The steps that a whole line tells; None for a line that is not of the program's stream."""
        ...

    def close(self) -> Sequence[Told]:
        """What was still waiting for its end."""
        ...


def chunk_name(first: int) -> str:
    """Name of the chunk whose first step has this number."""
    return f"{FOLDER}{first:010d}.jsonl.gz"


def first_steps(keys: Iterable[str]) -> list[int]:
    """The first step of each chunk among object keys, in order."""
    named = (_CHUNK_NAME.fullmatch(key.rpartition("/")[2]) for key in keys)
    return sorted(int(match[1]) for match in named if match)


def clean(text: str) -> tuple[str, int]:
    """`text` with nothing in it that UTF-8 cannot hold, and how many bytes of it were not decoded."""
    undecoded = 0

    def spell(found: re.Match[str]) -> str:
        nonlocal undecoded
        code = ord(found[0])
        if not 0xDC80 <= code <= 0xDCFF:
            return f"\\u{code:04x}"
        undecoded += 1
        return f"\\x{code - 0xDC00:02x}"

    return _SURROGATE.sub(spell, text), undecoded


@dataclass(frozen=True, slots=True)
class Index:
    """The number of a trajectory's steps, and the first step of each of its chunks."""

    steps: int
    firsts: tuple[int, ...]

    def packed(self) -> bytes:
        """The index as it is stored."""
        told = {"steps": self.steps, "firsts": self.firsts}
        return gzip.compress(json.dumps(told).encode(), mtime=0)


def unpacked(index: bytes) -> Index:
    """The index as it was stored."""
    told = json.loads(gzip.decompress(index))
    return Index(told["steps"], tuple(told["firsts"]))


class Recorder:
    """Turns output into steps and hands sealed, compressed chunks to `sink`, in order, one at a time.

    `seen` is called with each step as it is made. What `reader` understands of standard output becomes the
    steps that it tells; all else stays output. Offsets are seconds from the start of the run. Several tasks
    may use it.
    """

    def __init__(
        self, sink: Sink, seen: Callable[[Step], None] = lambda _: None, reader: Reader | None = None
    ) -> None:
        self._sink = sink
        self._seen = seen
        self._reading = _Reading(reader) if reader else None
        self._lines: dict[str, _Line] = {}
        self._chunk = bytearray()
        self._firsts: list[int] = []
        self._begun_s = 0.0
        self._turn = asyncio.Lock()
        self.steps = 0
        self.chunks = 0

    async def output(self, stream: str, data: bytes, offset_s: float) -> None:
        """Record bytes as they came."""
        async with self._turn:
            line = self._lines.setdefault(stream, _Line(stream))
            for piece in line.feed(data, offset_s):
                await self._piece(stream, piece)
            await self._age(offset_s)

    async def event(self, text: str, offset_s: float) -> None:
        """Record something that befell the run."""
        await self.tell(Told(Kind.EVENT, text), offset_s)

    async def model(self, text: str, told: Mapping[str, object], offset_s: float) -> None:
        """Record an exchange with a model: `text` says it in short, `told` in full."""
        await self.tell(Told(Kind.MODEL, text, {"model": told}), offset_s)

    async def tell(self, what: Told, offset_s: float) -> None:
        """Record a step of any kind."""
        async with self._turn:
            await self._tell(what, offset_s)

    async def tick(self, offset_s: float) -> None:
        """Seal what has waited long enough. To be called about once a second."""
        async with self._turn:
            await self._age(offset_s)

    async def end_output(self) -> None:
        """No more output comes: record what is left of it, and what its reader was waiting to tell."""
        async with self._turn:
            await self._end_output()

    async def close(self) -> None:
        """Record what is left and seal it."""
        async with self._turn:
            await self._end_output()
            await self._seal()
            if self._firsts:
                await self._sink(INDEX, Index(self.steps, tuple(self._firsts)).packed())

    async def _end_output(self) -> None:
        await self._flush(continued=False)
        reading, self._reading = self._reading, None
        for told in reading.close() if reading else ():
            await self._tell(told, self._begun_s)

    async def _age(self, offset_s: float) -> None:
        waiting = [line.begun_s for line in self._lines.values() if line.pending]
        if self._chunk:
            waiting.append(self._begun_s)
        if waiting and offset_s - min(waiting) >= MAX_AGE_S:
            await self._flush(continued=True)
            await self._seal()

    async def _flush(self, *, continued: bool) -> None:
        for line in self._lines.values():
            if line.pending or (line.open and not continued):
                await self._piece(line.stream, line.take(continued=continued))

    async def _piece(self, stream: str, piece: _Piece) -> None:
        if self._reading is None or stream != "stdout":
            await self._put(Kind.OUTPUT, stream, piece)
            return
        for found in self._reading.piece(piece):
            if isinstance(found, Told):
                await self._tell(found, piece.begun_s)
            else:
                await self._put(Kind.OUTPUT, stream, found)

    async def _tell(self, what: Told, offset_s: float) -> None:
        at = offset_s if what.offset_s is None else what.offset_s
        fields = _short(what.fields)
        for start in range(0, max(1, len(what.text)), MAX_LINE):
            end = start + MAX_LINE
            piece = _Piece(what.text[start:end], at, end < len(what.text))
            await self._put(what.kind, what.stream, piece, {} if start else fields)

    async def _put(
        self, kind: Kind, stream: str, piece: _Piece, fields: Mapping[str, Value] | None = None
    ) -> None:
        text, undecoded = clean(piece.text)
        number = self.steps + 1
        step = Step(number, piece.begun_s, stream, text, piece.continued, undecoded, kind, fields or {})
        told = step.line()
        if self._chunk and len(self._chunk) + len(told) > MAX_CHUNK:
            await self._seal()
        if not self._chunk:
            self._firsts.append(number)
            self._begun_s = piece.begun_s
        self._chunk += told
        self.steps = number
        self._seen(step)

    async def _seal(self) -> None:
        if self._chunk:
            packed = await asyncio.to_thread(gzip.compress, self._chunk, 6, mtime=0)
            await self._sink(chunk_name(self._firsts[-1]), packed)
            self.chunks += 1
            self._chunk.clear()


@dataclass(frozen=True, slots=True)
class _Piece:
    """A line, or what there is of it; undecoded bytes are surrogates in it."""

    text: str
    begun_s: float
    continued: bool


class _Line:
    """The unfinished line of one stream."""

    def __init__(self, stream: str) -> None:
        self.stream = stream
        self.pending = bytearray()
        self.begun_s = 0.0
        self.open = False  # a piece of this line is already a step
        self._decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")

    def feed(self, data: bytes, offset_s: float) -> Iterator[_Piece]:
        """Each line or piece that is complete now."""
        *whole, rest = data.split(b"\n")
        for part in whole:
            yield from self._append(part, offset_s)
            yield self.take(continued=False)
        yield from self._append(rest, offset_s)

    def _append(self, part: bytes, offset_s: float) -> list[_Piece]:
        """Add to the line; gives the pieces that make it longer than it may be."""
        pieces = []
        for start in range(0, len(part), MAX_LINE):
            if not self.pending:
                self.begun_s = offset_s
            self.pending += part[start : start + MAX_LINE]
            if len(self.pending) > MAX_LINE:
                over = bytes(self.pending[MAX_LINE:])
                del self.pending[MAX_LINE:]
                pieces.append(self.take(continued=True))
                self.pending += over
                self.begun_s = offset_s
        if not self.pending and not self.open:
            self.begun_s = offset_s
        return pieces

    def take(self, *, continued: bool) -> _Piece:
        """What is there; a character that is cut waits for its rest."""
        text = self._decoder.decode(bytes(self.pending), final=not continued)
        if not continued:
            self._decoder.reset()
        self.pending.clear()
        self.open = continued
        return _Piece(text, self.begun_s, continued)


class _Reading:
    """Gives whole lines to a reader, and holds their pieces until it has said what they are."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._held: list[_Piece] = []
        self._size = 0
        self._passing = False  # the line is too long to be looked into

    def piece(self, piece: _Piece) -> Iterable[_Piece | Told]:
        """What is settled with this piece."""
        self._held.append(piece)
        self._size += len(piece.text)
        if self._passing or self._size > MAX_READ:
            self._passing = piece.continued
            return self._release()
        if piece.continued:
            return ()
        told = self._reader.line("".join(held.text for held in self._held))
        held = self._release()
        return held if told is None else told

    def close(self) -> Sequence[Told]:
        return self._reader.close()

    def _release(self) -> list[_Piece]:
        held, self._held, self._size = self._held, [], 0
        return held


def _short(fields: Mapping[str, Value]) -> dict[str, Value]:
    """The fields that are known; the characters that are cut off their strings are counted in "cut"."""
    told: dict[str, Value] = {}
    cut = 0
    for name, value in fields.items():
        if isinstance(value, str):
            cut += max(0, len(value) - MAX_FIELD)
            told[name] = clean(value[:MAX_FIELD])[0]
        elif value is not None:
            told[name] = value
    return told | ({"cut": cut} if cut else {})


Load = Callable[[int], Awaitable[bytes]]
"""The compressed chunk whose first step has this number."""


@dataclass(frozen=True, slots=True)
class Page:
    """JSON lines, the number of steps that there are, and the step that follows these; 0 where none does."""

    lines: bytes
    total: int
    next_step: int


async def page(load: Load, index: Index, from_step: int, size: int, most: int = MAX_CHUNK) -> Page:
    """At most `size` steps and `most` bytes, at least one step where there is one."""
    found: list[bytes] = []
    held = 0
    async with aclosing(_lines(load, index.firsts, from_step)) as lines:
        async for line in lines:
            if len(found) == size or (found and held + len(line) > most):
                break
            found.append(line)
            held += len(line)
    following = from_step + len(found)
    return Page(b"".join(found), index.steps, following if following <= index.steps else 0)


async def indexed(load: Load, firsts: Sequence[int]) -> Index:
    """The index of chunks that are there, made from their first steps; reads the last of them."""
    steps = firsts[-1] - 1 + lines_of(await load(firsts[-1])).count(b"\n") if firsts else 0
    return Index(steps, tuple(firsts))


async def _lines(load: Load, firsts: Sequence[int], from_step: int) -> AsyncGenerator[bytes, None]:
    for first in reaching(firsts, from_step):
        for line in since(lines_of(await load(first)), first, from_step).splitlines(keepends=True):
            yield line


def reaching(firsts: Sequence[int], step: int) -> Sequence[int]:
    """Those chunks that may hold `step` or a later one."""
    return firsts[max(0, bisect_right(firsts, step) - 1) :]


def lines_of(chunk: bytes) -> bytes:
    """The JSON lines of a stored chunk."""
    return gzip.decompress(chunk)


def since(lines: bytes, first: int, step: int) -> bytes:
    """The lines from `step` on, of those that begin with step `first`."""
    if step <= first:
        return lines
    return b"".join(lines.splitlines(keepends=True)[step - first :])
