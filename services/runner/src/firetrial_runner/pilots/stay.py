"""How long a runner stays: while there is work, and not beyond the end of its job."""

from __future__ import annotations

import asyncio
import math
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import structlog

from firetrial_kit.clock import Clock

MARGIN_S = 10.0
"""Seconds at the end of a job's time, after the drain, in which runs are given back and folders removed."""
NOTICE_S = 120.0
"""Seconds, at least, from SIGUSR1 to the end of a job's time. Slurm may send it a minute before that."""
_LOOK_S = 0.25


@dataclass(slots=True)
class Stay:
    """A runner's time.

    `idle_s` is how long it stays without work, `wall_s` how long at all, from its start; 0 is without end.
    What is in hand then has `drain_s` seconds more. A run that asks for no time has `default_s`.
    """

    clock: Clock
    log: structlog.typing.FilteringBoundLogger
    idle_s: float = 0.0
    wall_s: float = 0.0
    drain_s: float = 0.0
    default_s: float = 0.0
    taken: int = 0
    # When it leaves, with whatever it has in hand; and why it takes nothing any more.
    _end: float = field(init=False)
    _no_more: str = ""
    _idle_since: float = field(init=False)
    _in_hand: int = 0

    def __post_init__(self) -> None:
        self._idle_since, self._end = self.clock.monotonic(), math.inf
        if self.wall_s:
            self._end_within(self.wall_s)

    def lasts(self, wall_s: float) -> bool:
        """Whether a run of so many seconds (0: the default) can come to its end here.

        After one that cannot, nothing is taken any more: the next runner has all its time. One for which all
        of it would be too little is no reason to leave: there are others.
        """
        asks_s = wall_s or self.default_s
        if self.clock.monotonic() + asks_s <= self._end:
            return not self._no_more
        if asks_s <= self._usable_s:
            self._no_more = self._no_more or "a run waits that needs more time than is left"
        return False

    def lacks(self, wall_s: float) -> tuple[str, bool]:
        """(what a run that does not last here waits for, whether a runner like this one could be it)."""
        asks_s = wall_s or self.default_s
        if asks_s <= self._usable_s:
            return "a runner that has as much time as it may take", True
        told = f"it may take {asks_s:g} s, and those that looked have {self._usable_s:g} s for a run"
        cure = f"start pilots with --wall-time {math.ceil(asks_s + self.drain_s + MARGIN_S)}s or more"
        return f"a runner that stays longer: {told}; {cure}, or cancel it and ask for less time", False

    def told(self) -> None:
        """The end of the job's time is near: nothing is taken any more, and what is in hand may still end."""
        self._no_more = "the scheduler says that the end is near"
        self._end_within(NOTICE_S)

    @contextmanager
    def busy(self) -> Iterator[None]:
        """Something is in hand while inside."""
        self._in_hand += 1
        self.taken += 1
        try:
            yield
        finally:
            self._in_hand -= 1
            self._idle_since = self.clock.monotonic()

    async def watch(self) -> None:
        """Return when it is time to leave. One that does not stay for ever heeds SIGUSR1 (see `told`)."""
        if self.idle_s or self.wall_s:
            asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, self.told)
        while not (why := self.why_leave()):  # noqa: ASYNC110 -- it is time that goes by
            await asyncio.sleep(_LOOK_S)
        self.log.info("leaving", why=why, in_hand=self._in_hand, taken=self.taken)

    def why_leave(self) -> str:
        """Why it is time to leave; "" while it is not."""
        now = self.clock.monotonic()
        if now >= self._end:
            return "its time is over"
        if self._in_hand:
            return ""
        idle_s = now - self._idle_since
        return self._no_more or (f"idle for {idle_s:.0f} s" if self.idle_s and idle_s >= self.idle_s else "")

    @property
    def _usable_s(self) -> float:
        """The most that a run may take, from the start on."""
        return self.wall_s - self.drain_s - MARGIN_S if self.wall_s else math.inf

    def _end_within(self, seconds: float) -> None:
        self._end = min(self._end, self.clock.monotonic() + seconds - self.drain_s - MARGIN_S)
