"""A run's trajectory as it is analysed: read chunk by chunk, and kept within bounds whatever the agent wrote.

A run may have 350,000 steps, and a gigabyte. What goes beyond the bounds is left out of the middle: the begin
shows what was planned, the end what came of it. What was left out is told, and rules that argue from absence
are no proof then.
"""

from __future__ import annotations

import zlib
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace

from firetrial_analyzer.taxonomy.steps import Reader, Step

# Characters, with what a step takes up besides its text. 350,000 lines of 30 characters are kept whole.
HEAD = 16 * 1024 * 1024
TAIL = 32 * 1024 * 1024
_STEP = 100
# Of one text; an agent may write a gigabyte without a newline.
LONGEST = 256 * 1024
# The runner seals a chunk at 1 MiB.
_MAX_CHUNK = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Trajectory:
    """The steps that were kept, in order, and in words what was left out; empty where that is nothing.

    `lost` is the part of `left_out` that could not be read at all.
    """

    steps: tuple[Step, ...] = ()
    left_out: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()

    @property
    def whole(self) -> bool:
        return not self.left_out


class Keeper:
    """Takes the chunks in order, and keeps `head` of the begin and `tail` of the end.

    `seen` is called with each step, also with those that are not kept.
    """

    def __init__(
        self, head: int = HEAD, tail: int = TAIL, seen: Callable[[Step], None] = lambda _: None
    ) -> None:
        self._reader = Reader()
        self._seen = seen
        self._head: list[Step] = []
        self._tail: deque[Step] = deque()
        self._head_room = head
        self._tail_room = tail
        self._dropped = 0
        self._gap = (0, 0)
        self._cut = 0
        self._cut_from = 0
        self._lost: list[str] = []

    def feed(self, name: str, chunk: bytes) -> None:
        """A chunk as it lies in the store: gzip, JSON lines. One that cannot be read is told as left out."""
        try:
            lines = unpacked(chunk).decode("utf-8", "replace").split("\n")
        except (zlib.error, ValueError) as error:
            self.lost(name, str(error))
            return
        for step in self._reader.feed(lines):
            self._keep(step)

    def lost(self, name: str, why: str) -> None:
        """A chunk could not be had."""
        self._lost.append(f"{name} could not be read: {why}")

    def close(self) -> Trajectory:
        """All that was kept."""
        for step in self._reader.close():
            self._keep(step)
        return Trajectory((*self._head, *self._tail), tuple(self._left_out()), tuple(self._lost))

    def _keep(self, step: Step) -> None:
        self._seen(step)
        if len(step.text) > LONGEST:
            self._cut += len(step.text) - LONGEST
            self._cut_from = self._cut_from or step.number
            step = replace(step, text=step.text[:LONGEST])
        if not self._tail and _size(step) <= self._head_room:
            self._head.append(step)
            self._head_room -= _size(step)
            return
        self._tail.append(step)
        self._tail_room -= _size(step)
        while self._tail_room < 0 and len(self._tail) > 1:
            self._drop(self._tail.popleft())

    def _drop(self, step: Step) -> None:
        self._tail_room += _size(step)
        self._gap = (self._gap[0] if self._dropped else step.number, step.last)
        self._dropped += 1

    def _left_out(self) -> list[str]:
        told = list(self._lost)
        if self._dropped:
            first, last = self._gap
            told.append(f"steps {first} to {last} were not read: they go beyond what is kept of one run")
        if self._cut:
            told.append(f"long lines, the first in step {self._cut_from}, were cut by {self._cut} characters")
        return told


def unpacked(chunk: bytes) -> bytes:
    """The lines of a chunk. Raises zlib.error, or ValueError for one that is far larger than chunks are."""
    if not chunk.startswith(b"\x1f\x8b"):
        return chunk
    inflate = zlib.decompressobj(wbits=31)
    lines = inflate.decompress(chunk, _MAX_CHUNK)
    if inflate.unconsumed_tail:
        raise ValueError(f"it holds more than {_MAX_CHUNK} bytes")
    return lines


def _size(step: Step) -> int:
    return len(step.text) + _STEP
