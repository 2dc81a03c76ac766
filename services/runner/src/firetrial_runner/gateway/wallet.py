"""The purses that pay for a run's calls together: its experiment's, and its tenant's of the month."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence

from firetrial_runner.gateway.account import Purse
from firetrial_runner.gateway.budget import OverBudgetError


class Wallet:
    """Sets the same sum aside in each of the purses that `purses` gives for a call, or in none.

    They are asked for anew for each call, because another month is another account. `over` is told whose had
    no room.
    """

    def __init__(
        self, purses: Callable[[], Sequence[Purse]], run_id: str, over: Callable[[str], None] = lambda _: None
    ) -> None:
        self._purses, self._run_id, self._over = purses, run_id, over
        self._held: dict[str, Sequence[Purse]] = {}

    async def reserve(self, least: float, most: float) -> tuple[str, float]:
        """(the hold's name, USD set aside: `least` to `most`). Raises OverBudgetError."""
        hold, paying = f"{self._run_id}.{secrets.token_hex(8)}", self._purses()
        usd = most
        for place, purse in enumerate(paying):
            try:
                usd = await purse.set_aside(hold, least, usd)
            except BaseException as error:
                await self._settle(paying[:place], hold, 0.0)
                if isinstance(error, OverBudgetError):
                    self._over(error.budget)
                raise
        self._held[hold] = paying
        return hold, usd

    async def settle(self, hold: str, usd: float) -> None:
        """The call has cost this; 0 where it came to nothing."""
        await self._settle(self._held.pop(hold, ()), hold, usd)

    async def _settle(self, paying: Sequence[Purse], hold: str, usd: float) -> None:
        for purse in paying:
            await purse.settle(hold, usd)
