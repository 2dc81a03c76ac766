"""What one run may ask of its runner at a time: connections and memory. No run takes another's share."""

from __future__ import annotations

import asyncio
import resource
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

_FILES = 1 << 20


@dataclass(frozen=True, slots=True)
class Flow:
    """Connections at a time, and new ones a second after the first `burst` of them."""

    at_once: int
    per_s: float
    burst: int


class Turnstile:
    """Lets connections in as far as the flow allows, and counts the others; `see` is told why each was not.

    One that is let in is to `leave`.
    """

    def __init__(
        self, flow: Flow, see: Callable[[str], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._flow, self._see, self._clock = flow, see, clock
        self._inside = 0
        self._room, self._since = float(flow.burst), clock()
        self._turned_away: Counter[str] = Counter()

    def enter(self) -> bool:
        why = "at_once" if self._inside >= self._flow.at_once else self._drawn()
        if why:
            self._turned_away[why] += 1
            self._see(why)
        else:
            self._inside += 1
        return not why

    def leave(self) -> None:
        self._inside -= 1

    @property
    def turned_away(self) -> int:
        return self._turned_away.total()

    @property
    def told(self) -> str:
        """In one line what was turned away, "" for nothing."""
        words = {
            "at_once": f"over {self._flow.at_once} at a time",
            "rate": f"over {self._flow.per_s:g} a second",
        }
        counts = ", ".join(f"{count} {words[why]}" for why, count in sorted(self._turned_away.items()))
        return f"{self.turned_away} connections were turned away: {counts}" if counts else ""

    def _drawn(self) -> str:
        """Take one from a bucket that fills at the flow's rate; "rate" where it is empty."""
        now = self._clock()
        self._room = min(float(self._flow.burst), self._room + (now - self._since) * self._flow.per_s)
        self._since = now
        if self._room < 1:
            return "rate"
        self._room -= 1
        return ""


class Room:
    """So many bytes for all that a run has in hand; who finds none waits, in the order of arrival."""

    def __init__(self, size: int) -> None:
        self._free = size
        self._turn = asyncio.Lock()
        self._given = asyncio.Event()

    async def take(self, size: int) -> None:
        """`size` is at most what the room has in all."""
        async with self._turn:
            while self._free < size:
                self._given.clear()
                await self._given.wait()
            self._free -= size

    def give(self, size: int) -> None:
        self._free += size
        self._given.set()


def open_files() -> int:
    """How many files this process may have open, once it has taken all that it is allowed."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = _FILES if hard == resource.RLIM_INFINITY else min(hard, _FILES)
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]
