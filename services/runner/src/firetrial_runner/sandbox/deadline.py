"""The time limit of a command, whose clock can be stopped for a while."""

import asyncio
from collections.abc import Callable


class Deadline:
    """Calls `reached` after `seconds`, not counting what passes between `pause` and `resume`.

    No more than `seconds` are left uncounted in all, so that the command ends after twice its time at the
    latest. Pauses nest. Needs a running event loop.
    """

    def __init__(self, seconds: float, reached: Callable[[], None]) -> None:
        self._left = self._spare = seconds
        self._reached = reached
        self._pauses = 0
        self._loop = asyncio.get_running_loop()
        self._since = self._loop.time()
        self._timer = self._loop.call_later(seconds, reached)

    def pause(self) -> None:
        self._count()
        self._pauses += 1
        self._arm()

    def resume(self) -> None:
        self._count()
        self._pauses -= 1
        self._arm()

    def cancel(self) -> None:
        """It will not be reached any more."""
        self._timer.cancel()

    def _count(self) -> None:
        now = self._loop.time()
        passed, self._since = now - self._since, now
        if self._pauses:
            free = min(passed, self._spare)
            self._spare -= free
            passed -= free
        self._left -= passed

    def _arm(self) -> None:
        if self._timer.cancelled() or self._timer.when() <= self._loop.time():
            return  # over, or about to be
        self._timer.cancel()
        left = self._left + (self._spare if self._pauses else 0.0)
        self._timer = self._loop.call_later(max(0.0, left), self._reached)
