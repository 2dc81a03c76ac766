"""A run's trajectory for its page: all of it, or where it is too long its begin, its end and what is cited.

docs/trajectory.md describes steps and chunks. Pieces of a step are put together here.
"""

from __future__ import annotations

import asyncio
import json
import re
import zlib
from bisect import bisect_right
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

# Bytes of JSON lines that are read from the begin and from the end: half a million usual steps in all.
HEAD_BYTES = 64 * 1024 * 1024
TAIL_BYTES = 32 * 1024 * 1024
# Characters of one step that are kept; a longer one is cut and says how long it was.
MAX_TEXT = 64 * 1024
# A chunk is sealed at 1 MiB; one that holds more than this is none of the runner's.
_MAX_CHUNK = 8 * 1024 * 1024
_MAX_CITED_CHUNKS = 32
_AT_ONCE = 16
_NAME = re.compile(r"(\d+)\.jsonl\.gz\Z")

Load = Callable[[str], Awaitable[bytes]]


@dataclass(frozen=True, slots=True)
class Line:
    """Step `number`, or steps `number` to `last` that are one text of `size` characters.

    `note` is what else the step tells in a word: an exit code, a path, a tool.
    """

    number: int
    last: int
    offset_s: float
    kind: str
    stream: str
    text: str
    size: int
    failed: bool = False
    note: str = ""


@dataclass(frozen=True, slots=True)
class Gap:
    """Steps that are left out."""

    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Window:
    lines: tuple[Line, ...]
    gaps: tuple[Gap, ...] = ()


async def window(
    keys: Sequence[str], load: Load, cited: Iterable[int] = (), head: int = HEAD_BYTES, tail: int = TAIL_BYTES
) -> Window:
    """What the chunks under `keys` hold, or as much of it from both ends as `head` and `tail` bytes allow.

    A chunk goes in whole, so up to a chunk more is read. Raises what `load` raises.
    """
    chunks = sorted((int(named[1]), key) for key in keys if (named := _NAME.search(key)))
    firsts = [first for first, _ in chunks]
    texts: dict[int, bytes] = {}
    await _read(texts, load, chunks, range(len(chunks)), head)
    begin = len(texts)
    await _read(texts, load, chunks, range(len(chunks) - 1, begin - 1, -1), tail)
    middle = sorted({bisect_right(firsts, step) - 1 for step in cited} - {-1, *texts})
    await _read(texts, load, chunks, middle[:_MAX_CITED_CHUNKS], TAIL_BYTES)
    lines = await asyncio.to_thread(lambda: tuple(read(texts[place] for place in sorted(texts))))
    gaps = [Gap(firsts[a + 1], firsts[b] - 1) for a, b in pairwise(sorted(texts)) if b > a + 1]
    return Window(lines, tuple(gaps))


async def _read(
    texts: dict[int, bytes], load: Load, chunks: Sequence[tuple[int, str]], places: Sequence[int], size: int
) -> None:
    """Chunks in the order of `places`, until they hold `size` bytes."""
    for start in range(0, len(places), _AT_ONCE):
        some = places[start : start + _AT_ONCE]
        found = await asyncio.gather(*(load(chunks[place][1]) for place in some))
        for place, data in zip(some, found, strict=True):
            if size <= 0:
                return
            texts[place] = _unpacked(data)
            size -= len(texts[place])


def _unpacked(data: bytes) -> bytes:
    """Of a chunk that is no gzip, or holds more than it may, what there is."""
    try:
        return zlib.decompressobj(wbits=31).decompress(data, _MAX_CHUNK)
    except zlib.error:
        return b""


def read(chunks: Iterable[bytes]) -> Iterator[Line]:
    """Lines by number. What is no step is left out."""
    begun: dict[tuple[str, str], Line] = {}
    for chunk in chunks:
        for row in chunk.split(b"\n"):
            line, continued = _line(row)
            if line is None:
                continue
            place = (line.kind, line.stream)
            if before := begun.pop(place, None):
                line = _joined(before, line)
            if continued:
                begun[place] = line
            else:
                yield line
    yield from sorted(begun.values(), key=lambda line: line.number)


def _line(row: bytes) -> tuple[Line | None, bool]:
    try:
        told = json.loads(row)
        number, text, kind = int(told["step"]), str(told["text"]), str(told["kind"])
        line = Line(
            number, number, float(told.get("offset_s", 0)), kind, str(told.get("stream", "")),
            text[:MAX_TEXT], len(text), bool(told.get("failed") or told.get("exit_code")), _note(told),
        )  # fmt: skip
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None, False
    return line, told.get("continued") is True


def _note(told: dict[str, Any]) -> str:
    if "exit_code" in told:
        return f"exit {told['exit_code']}"
    return str(told.get("path") or told.get("tool") or "")[:200]


def _joined(before: Line, line: Line) -> Line:
    room = max(0, MAX_TEXT - len(before.text))
    return Line(
        before.number, line.last, before.offset_s, before.kind, before.stream, before.text + line.text[:room],
        before.size + line.size, before.failed or line.failed, before.note,
    )  # fmt: skip
