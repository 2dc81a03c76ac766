"""What a piece of work may cost models: reserved before each request, settled after it.

An account lies in a service's state and is changed by compare-and-set, so that all its processes together
keep to the cap. What a request will cost is estimated from above; a hold whose process died counts as spent.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace

from firetrial_kit.asking import Price, Usage
from firetrial_kit.clock import Clock
from firetrial_kit.errors import Fault, FiretrialError, Reason
from firetrial_kit.records import Records

_HOLD = 1800.0  # seconds after which a hold counts as spent: its process died, or the request lived too long
_WAIT = 0.25
_PATIENCE = 240  # waits of that length for other requests to settle, before the message comes back later
# English has about four bytes a token; two leave room for numbers and code.
_BYTES_A_TOKEN = 2
_WRITTEN = 1024  # completion tokens at least; beyond, an answer is taken to be as long as its question


@dataclass(frozen=True, slots=True)
class Terms:
    """How what is paid for is spoken of: "the judging", the field with its cap, and where prices are set."""

    work: str
    cap: str
    prices: str


@dataclass(frozen=True, slots=True)
class Hold:
    """USD set aside for a request under way, and when (seconds since 1970) it is taken for spent."""

    usd: float
    until: float


@dataclass(frozen=True, slots=True)
class Account:
    """What was spent, and what may be added by what is under way."""

    spent: float = 0.0
    holds: Mapping[str, Hold] = field(default_factory=dict)

    def reserve(self, hold: str, usd: float, cap: float, now: float) -> Account | None:
        """With `usd` set aside; None where that has to wait for others to settle.

        Raises OverCap where the cap leaves no room for it.
        """
        lost = {id_: h for id_, h in self.holds.items() if h.until <= now}
        spent = self.spent + sum(h.usd for h in lost.values())
        live = {id_: h for id_, h in self.holds.items() if id_ not in lost}
        if spent + usd > cap:
            raise OverCap(spent, usd, cap)
        if spent + sum(h.usd for h in live.values()) + usd > cap:
            return None
        return Account(spent, {**live, hold: Hold(usd, now + _HOLD)})

    def settle(self, hold: str, usd: float) -> Account:
        """With the hold released and the cost added. A hold taken for spent is left so."""
        if hold not in self.holds:
            return self
        rest = {id_: h for id_, h in self.holds.items() if id_ != hold}
        return replace(self, spent=self.spent + usd, holds=rest)


class OverCap(Exception):  # noqa: N818 - a state of the account; `told` makes an error of it
    """A cap is reached. In USD."""

    def __init__(self, spent: float, usd: float, cap: float) -> None:
        super().__init__(f"{usd:.4f} on top of {spent:.4f} of {cap:.4f} USD")
        self.spent = spent
        self.usd = usd
        self.cap = cap

    def told(self, terms: Terms) -> FiretrialError:
        """The error that callers understand."""
        return FiretrialError(
            Reason.PRECONDITION,
            f"{terms.work} has cost {self.spent:.4f} of at most {self.cap:.4f} USD, and the next request may "
            f"cost {self.usd:.4f}: raise {terms.cap}, or take a cheaper model",
            faults=[Fault(terms.cap, f"{self.cap}", "must leave room for the next request")],
        )


# Applies a pure change to the account, again whenever another was faster.
Change = Callable[[Callable[[Account], Account | None]], Awaitable[Account]]


class CappedPurse:
    """Pays up to `cap` USD out of one account."""

    def __init__(
        self,
        cap: float,
        change: Change,
        clock: Clock,
        terms: Terms,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._terms = terms
        self._cap = cap
        self._change = change
        self._clock = clock
        self._sleep = sleep

    def meter(self, model: str, price: Price | None) -> PaidMeter:
        """Raises PRECONDITION for a model whose price is unknown: a cap cannot be kept blindly."""
        if price is None:
            raise FiretrialError(
                Reason.PRECONDITION,
                f"the price of model {model!r} is unknown, so its cost cannot be capped: "
                f"add it to {self._terms.prices}, or leave {self._terms.cap} out",
                faults=[Fault(self._terms.cap, f"{self._cap}", f"needs the price of {model}")],
            )
        return PaidMeter(self, price)

    async def reserve(self, hold: str, usd: float) -> None:
        """Set aside, waiting for others where they may leave room. Raises PRECONDITION, or EXHAUSTED."""
        for _ in range(_PATIENCE):
            now = self._clock.now().timestamp()
            try:
                account = await self._change(lambda a, now=now: a.reserve(hold, usd, self._cap, now))  # type: ignore[misc]
            except OverCap as over:
                raise over.told(self._terms) from None
            if hold in account.holds:
                return
            await self._sleep(_WAIT)
        raise FiretrialError(
            Reason.EXHAUSTED,
            f"the budget of {self._terms.work} is set aside for requests under way",
            retry_after=30.0,
        )

    async def settle(self, hold: str, usd: float) -> None:
        """Write down what it cost."""
        await self._change(lambda account: account.settle(hold, usd))


class PaidMeter:
    """The purse as it pays for one model."""

    def __init__(self, purse: CappedPurse, price: Price) -> None:
        self._purse = purse
        self._price = price

    async def reserve(self, prompt_bytes: int) -> str:
        """Set aside what a request with so long a prompt costs at most; the hold's name."""
        hold = secrets.token_hex(8)
        await self._purse.reserve(hold, self._price.of(estimate(prompt_bytes)))
        return hold

    async def settle(self, hold: str, usage: Usage) -> None:
        """The request has cost this."""
        await self._purse.settle(hold, self._price.of(usage))


def estimate(prompt_bytes: int) -> Usage:
    """What a request of so many bytes may use: an estimate from above, for a prompt that no cache helps."""
    tokens = prompt_bytes // _BYTES_A_TOKEN + 1
    return Usage(1, tokens, _WRITTEN + tokens, 0)


class Purses:
    """The accounts, one a piece of work. Changes of one account wait for each other within this process."""

    def __init__(self, accounts: Records[Account], clock: Clock, terms: Terms) -> None:
        self._accounts = accounts
        self._clock = clock
        self._terms = terms
        self._locks: dict[str, asyncio.Lock] = {}

    def of(self, account_id: str, cap: float) -> CappedPurse:
        """The purse of an account; one for a single question where its id is empty."""
        change = self._kept(account_id) if account_id else _own()
        return CappedPurse(cap, change, self._clock, self._terms)

    def _kept(self, id_: str) -> Change:
        lock = self._locks.setdefault(id_, asyncio.Lock())

        async def change(apply: Callable[[Account], Account | None]) -> Account:
            async with lock:
                await self._accounts.create(id_, Account())
                return await self._accounts.change(id_, apply)

        return change


def _own() -> Change:
    held = Account()

    async def change(apply: Callable[[Account], Account | None]) -> Account:
        nonlocal held
        held = apply(held) or held
        return held

    return change
