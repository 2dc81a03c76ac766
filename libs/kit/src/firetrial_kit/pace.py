"""How many requests an endpoint is given at once: as many as it takes, found out by asking.

Additive increase, multiplicative decrease, as TCP does it (RFC 5681): the limit doubles per round until the
first refusal, then grows by one per round and halves at each refusal of a rate limit. What the server asks
to wait, all wait.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

_START = 8
_LONGEST_HOLD = 60.0  # seconds; a server that asks for hours is given up by its caller, not waited for here


@dataclass(frozen=True, slots=True)
class Turn:
    """A request that may be sent: when its turn came, and how many seconds it had waited for it."""

    began: float
    waited: float


class Pace:
    """Lets at most `most` requests through at once, fewer where the endpoint limits the rate.

    Use it from one event loop. Each `enter` is followed by one `leave`.
    """

    def __init__(
        self,
        most: int,
        *,
        clock: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._most = most
        self._clock = clock
        self._sleep = sleep
        self._limit = float(min(_START, most))
        self._doubling = True
        self._in_flight = 0
        self._held_until = float("-inf")
        self._cut_at = float("-inf")
        self._waiting: deque[asyncio.Future[None]] = deque()

    @property
    def limit(self) -> int:
        """Requests that may be under way now."""
        return int(self._limit)

    async def enter(self) -> Turn:
        """Wait until a request may be sent."""
        asked = self._clock()
        while True:
            hold = self._held_until - self._clock()
            if hold > 0:
                await self._sleep(hold)
            elif self._in_flight < self.limit:
                break
            else:
                await self._next()
        self._in_flight += 1
        now = self._clock()
        return Turn(now, now - asked)

    def leave(self) -> None:
        """The request is over, however it ended."""
        self._in_flight -= 1
        self._wake()

    def answered(self) -> None:
        """It was answered: there may be room for more."""
        grown = self._limit + (1.0 if self._doubling else 1.0 / self._limit)
        self._limit = min(float(self._most), grown)

    def refused(self, turn: Turn, retry_after: float | None) -> None:
        """It was refused for its rate. Requests sent before the last cut say nothing new."""
        now = self._clock()
        self._held_until = max(self._held_until, now + min(retry_after or 0.0, _LONGEST_HOLD))
        if turn.began >= self._cut_at:
            self._cut_at = now
            self._doubling = False
            self._limit = max(1.0, self._limit / 2)

    async def _next(self) -> None:
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._wake()  # it was this one's turn: the next in line takes it
            raise

    def _wake(self) -> None:
        free = self.limit - self._in_flight
        while free > 0 and self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                free -= 1
