"""What a run may spend on models: reserved before each call, settled from what it came to.

What a call will come to is estimated from above, so the sum passes no cap unless the estimate of a call
under way was too low. A call that would fit once others under way have come to less waits for them.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from firetrial_runner.allowance import ModelCaps
from firetrial_runner.gateway.exchange import Tokens
from firetrial_runner.gateway.faults import RUN

EVERY = "*"
"""Speaks for each model that is not named."""


class OverBudgetError(Exception):
    """A cap leaves no room for the call; `budget` is whose."""

    def __init__(self, message: str, budget: str = RUN) -> None:
        super().__init__(message)
        self.budget = budget


@dataclass(frozen=True, slots=True)
class Hold:
    """What is set aside for one call: `usd` is 0 where nothing caps it and the price is unknown."""

    model: str
    tokens: int
    usd: float


class Budget:
    """One run's; used from one event loop."""

    def __init__(self, caps: ModelCaps) -> None:
        self._caps = caps
        self._calls: Counter[str] = Counter()
        self._tokens = 0
        self._usd = 0.0
        self._holds: list[Hold] = []
        self._settled = asyncio.Event()

    @property
    def caps_usd(self) -> bool:
        return self._caps.cost_usd is not None

    @property
    def caps_size(self) -> bool:
        """Whether the length of an answer matters."""
        return self.caps_usd or bool(self._caps.tokens)

    def tokens_left(self) -> int | None:
        """Tokens that settled calls have left over; None where nothing caps them."""
        return self._caps.tokens - self._tokens if self._caps.tokens else None

    def usd_left(self) -> float | None:
        return None if self._caps.cost_usd is None else self._caps.cost_usd - self._usd

    async def reserve(self, hold: Hold) -> None:
        """Set aside. Raises OverBudgetError where there is no room, whatever becomes of calls under way."""
        while True:
            if over := next(self._over(hold, []), None):
                raise OverBudgetError(over)
            if next(self._over(hold, self._holds), None) is None:
                self._holds.append(hold)
                return
            self._settled.clear()
            await self._settled.wait()

    def settle(self, hold: Hold, tokens: Tokens, usd: float) -> None:
        """The call has come to this."""
        self._calls[hold.model] += 1
        self._tokens += tokens.total
        self._usd += usd
        self.release(hold)

    def release(self, hold: Hold) -> None:
        """The call has come to nothing."""
        self._holds.remove(hold)
        self._settled.set()

    def _over(self, hold: Hold, others: list[Hold]) -> Iterator[str]:
        """What the call would pass, beside calls that are settled and `others`."""
        cap = self._caps.calls.get(hold.model, self._caps.calls.get(EVERY))
        calls = self._calls[hold.model] + sum(other.model == hold.model for other in others)
        if cap is not None and calls + 1 > cap:
            yield f"the run may make {cap} calls of {hold.model}, and has made them"
        tokens = self._tokens + sum(other.tokens for other in others)
        if self._caps.tokens and tokens + hold.tokens > self._caps.tokens:
            yield (
                f"the run may use {self._caps.tokens} tokens, has used {tokens}, "
                f"and this call may use {hold.tokens}"
            )
        usd = self._usd + sum(other.usd for other in others)
        if self._caps.cost_usd is not None and usd + hold.usd > self._caps.cost_usd + 1e-9:
            yield (
                f"the run may spend {self._caps.cost_usd:.4f} USD, has spent {usd:.4f}, "
                f"and this call may cost {hold.usd:.4f}"
            )
