"""When a watch that was cut off tries again, and when it gives up."""

from __future__ import annotations

import random
from collections.abc import Callable

from firetrial_client.errors import FiretrialError, Reason

_FIRST, _LONGEST = 0.2, 5.0


class Patience:
    """The life of one watch over any number of connections.

    Once it has heard from the service, the watch outlives `quiet` seconds without it. Before that, only
    NOT_FOUND is waited out, for `appear` seconds: what was submitted to one service takes a moment to reach
    the next. `timeout` bounds the whole; None is no bound. `clock` gives seconds.
    """

    def __init__(
        self, *, quiet: float, appear: float, timeout: float | None, clock: Callable[[], float]
    ) -> None:
        self._quiet = quiet
        self._clock = clock
        self._began = clock()
        self._appear = appear
        self._timeout = timeout
        self._heard = False
        self._lost_at: float | None = None
        self._pause = _FIRST

    def heard(self) -> None:
        """An answer came."""
        self._heard = True
        self._lost_at = None
        self._pause = _FIRST

    def left(self) -> float | None:
        """Seconds until the timeout; None without one."""
        return None if self._timeout is None else self._began + self._timeout - self._clock()

    def pause_after(self, error: FiretrialError) -> float:
        """Seconds to wait before the next try after `error`; raises where there is none to be."""
        left = self.left()
        if left is not None and left <= 0:
            raise FiretrialError(Reason.DEADLINE, "it did not end within the time-out") from error
        if error.reason == Reason.DEADLINE and self._heard:
            return 0.0  # a connection is kept for so long only; this one has done its time
        if not self._worth_waiting(error):
            raise error
        pause = max(self._pause * random.uniform(0.8, 1.2), error.retry_after or 0.0)  # noqa: S311 - spread only
        self._pause = min(self._pause * 2, _LONGEST)
        return pause if left is None else min(pause, left)

    def _worth_waiting(self, error: FiretrialError) -> bool:
        now = self._clock()
        if error.reason == Reason.NOT_FOUND:
            return not self._heard and now - self._began < self._appear
        if error.reason not in (Reason.UNAVAILABLE, Reason.CANCELLED):
            return False
        if self._lost_at is None:
            self._lost_at = now
        return self._heard and now - self._lost_at < self._quiet
