"""How long a runner stays: while there is work, and not beyond the end of its job."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

import structlog

from firetrial_kit.clock import Clock

MARGIN_S = 10.0
"""Seconds at the end of a job's time, after the drain, in which runs are given back and folders removed."""
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
    _began: float = field(init=False)
    _idle_since: float = field(init=False)
    _in_hand: int = 0
    _too_late: bool = False

    def __post_init__(self) -> None:
        self._began = self._idle_since = self.clock.monotonic()

    def lasts(self, wall_s: float) -> bool:
        """Whether a run of so many seconds (0: the default) can come to its end here.

        After one that cannot, what is in hand is finished and the runner leaves: the next has all its time.
        """
        if not self.wall_s or self._left() >= (wall_s or self.default_s):
            return True
        self._too_late = True
        return False

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
        """Return when it is time to leave: idle for long enough, at the end of the time, or on SIGUSR1.

        By that signal schedulers announce the end of a job's time (Slurm: --signal=B:USR1@seconds).
        """
        told = asyncio.Event()
        if self.idle_s or self.wall_s:
            asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, told.set)
        while not (why := "SIGUSR1" if told.is_set() else self.why_leave()):
            with suppress(TimeoutError):
                async with asyncio.timeout(_LOOK_S):
                    await told.wait()
        self.log.info("leaving", why=why, in_hand=self._in_hand, taken=self.taken)

    def why_leave(self) -> str:
        """Why it is time to leave; "" while it is not."""
        idle_s = 0.0 if self._in_hand else self.clock.monotonic() - self._idle_since
        if self.wall_s and self._left() <= 0:
            return "its time is over"
        if self._too_late and not self._in_hand:
            return "a run waits that needs more time than is left"
        return f"idle for {idle_s:.0f} s" if self.idle_s and idle_s >= self.idle_s else ""

    def _left(self) -> float:
        """Seconds in which a run may go on."""
        used = self.clock.monotonic() - self._began
        return self.wall_s - self.drain_s - MARGIN_S - used
