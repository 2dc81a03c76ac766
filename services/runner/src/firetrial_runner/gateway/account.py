"""What the runs of one experiment, or of one tenant in a month, may spend together, wherever they run.

The account lies in the runner's state and is changed by compare-and-set. What a call may cost is set aside
before it is made, so that a runner that dies in it leaves the money as spent and not as free.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from firetrial_kit import tenants
from firetrial_kit.clock import Clock
from firetrial_kit.records import Records
from firetrial_runner.gateway.budget import OverBudgetError
from firetrial_runner.gateway.faults import EXPERIMENT

_HOLD_S = 1800.0
"""After so long a hold counts as spent: its runner died."""
_WAIT_S = 0.25
_PATIENCE = 2400
"""Waits of that length for others to settle: ten minutes, as long as a client waits for an answer."""


@dataclass(frozen=True, slots=True)
class Held:
    """USD set aside for a call under way, and when (seconds since 1970) they are taken for spent."""

    usd: float
    until: float


@dataclass(frozen=True, slots=True)
class Account:
    """What has been spent, and what calls under way may add."""

    spent: float = 0.0
    holds: Mapping[str, Held] = field(default_factory=dict)

    def reserve(self, hold: str, least: float, most: float, cap: float, now: float) -> Account | None:
        """With `most` set aside, or what is left if that is `least` or more; None to wait for others.

        Raises OverBudgetError where the cap leaves no room.
        """
        lost = {id_: held for id_, held in self.holds.items() if held.until <= now}
        spent = self.spent + sum(held.usd for held in lost.values())
        live = {id_: held for id_, held in self.holds.items() if id_ not in lost}
        usd = min(most, cap - spent)
        if usd < least:
            told = f"may spend {cap:.4f} USD, has spent {spent:.4f}, and this call may cost {least:.4f}"
            raise OverBudgetError(told)
        if spent + sum(held.usd for held in live.values()) + usd > cap + 1e-9:
            return None
        return Account(spent, {**live, hold: Held(usd, now + _HOLD_S)})

    def written_off(self, run_id: str) -> Account | None:
        """With what a run had set aside counted as spent: nobody will settle it. None for nothing."""
        lost = {id_: held for id_, held in self.holds.items() if id_.startswith(f"{run_id}.")}
        if not lost:
            return None
        rest = {id_: held for id_, held in self.holds.items() if id_ not in lost}
        return Account(self.spent + sum(held.usd for held in lost.values()), rest)

    def settle(self, hold: str, usd: float) -> Account:
        """With the hold gone and the cost added. A hold that was taken for spent is left so."""
        if hold not in self.holds:
            return self
        rest = {id_: held for id_, held in self.holds.items() if id_ != hold}
        return replace(self, spent=self.spent + usd, holds=rest)


class Purse:
    """One account, paying a run's calls up to `cap` USD; `whose` it is: EXPERIMENT or TENANT.

    Changes within this process wait for each other.
    """

    def __init__(
        self,
        accounts: Records[Account],
        account_id: str,
        cap: float,
        *,
        run_id: str,
        clock: Clock,
        lock: asyncio.Lock,
        whose: str = EXPERIMENT,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._accounts, self._id, self._cap, self._clock = accounts, account_id, cap, clock
        self._run_id, self._lock, self._sleep, self._whose = run_id, lock, sleep, whose

    async def reserve(self, least: float, most: float) -> tuple[str, float]:
        """(the hold's name, USD set aside: `least` to `most`). Raises OverBudgetError."""
        hold = f"{self._run_id}.{secrets.token_hex(8)}"
        return hold, await self.set_aside(hold, least, most)

    async def set_aside(self, hold: str, least: float, most: float) -> float:
        """The same under a name that is given; the USD."""
        try:
            return await self._set_aside(hold, least, most)
        except OverBudgetError as error:
            raise OverBudgetError(f"the {self._whose} {error}", self._whose) from None
        except asyncio.CancelledError:  # it may be set aside for all that
            await asyncio.shield(self.settle(hold, 0.0))
            raise

    async def _set_aside(self, hold: str, least: float, most: float) -> float:
        for _ in range(_PATIENCE):
            now = self._clock.now().timestamp()
            account = await self._change(lambda a, now=now: a.reserve(hold, least, most, self._cap, now))  # type: ignore[misc]
            if hold in account.holds:
                return account.holds[hold].usd
            await self._sleep(_WAIT_S)
        raise OverBudgetError(f"may spend {self._cap:.4f} USD, and they are set aside by other runs")

    async def settle(self, hold: str, usd: float) -> None:
        """The call has cost this; 0 where it came to nothing."""
        await self._change(lambda account: account.settle(hold, usd))

    async def _change(self, change: Callable[[Account], Account | None]) -> Account:
        async with self._lock:
            await self._accounts.create(self._id, Account())
            return await self._accounts.change(self._id, change)


@dataclass(frozen=True, slots=True)
class Purses:
    """The accounts that this runner's runs pay from."""

    accounts: Records[Account]
    clock: Clock
    _locks: dict[str, asyncio.Lock] = field(default_factory=dict)

    def of(self, account_id: str, cap: float, run_id: str, whose: str = EXPERIMENT) -> Purse:
        """An experiment's purse, by the experiment's id, or a tenant's, by `month`."""
        lock = self._locks.setdefault(account_id, asyncio.Lock())
        return Purse(self.accounts, account_id, cap, run_id=run_id, clock=self.clock, lock=lock, whose=whose)


def month(id_: str, now: datetime) -> str:
    """The account, in this calendar month by UTC, of the tenant whose resource has this id."""
    return tenants.beside(id_, f"month-{now:%Y-%m}")
