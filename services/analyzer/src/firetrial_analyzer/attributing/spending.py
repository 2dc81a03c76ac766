"""What the attribution of one experiment may cost, kept by compare-and-set over all analyzers together.

A request is paid for in advance, at more than it can cost, and what it did not cost is given back once it is
over. What a request would have given back whose analyzer died counts as spent.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from firetrial_kit.asking import Price, Usage
from firetrial_kit.errors import Fault, FiretrialError, Reason
from firetrial_kit.ids import digest
from firetrial_kit.records import Records

# English has about four bytes a token; two leave room for numbers and code.
_BYTES_A_TOKEN = 2
_WRITTEN = 2048  # completion tokens at least; beyond, an answer is taken to be half as long as its question
_SETTING = "FIRETRIAL_ANALYZER_ATTRIBUTION_MAX_USD"


@dataclass(frozen=True, slots=True)
class Account:
    """USD spent on one experiment, with what was paid in advance; `requests` counts them."""

    usd: float = 0.0
    requests: int = 0


class Accounts:
    """The accounts of all experiments, none over `cap` USD."""

    def __init__(self, accounts: Records[Account], cap: float, price: Price) -> None:
        self._accounts = accounts
        self._cap = cap
        self._price = price

    def meter(self, experiment_id: str) -> CappedMeter:
        """What pays for one run of an experiment; runs of no experiment have one account together."""
        return CappedMeter(self._accounts, experiment_id or "none", self._cap, self._price)


@dataclass(slots=True)
class CappedMeter:
    """A `Meter` that asks the account before each request."""

    accounts: Records[Account]
    experiment: str
    cap: float
    price: Price
    _advances: dict[str, float] = field(default_factory=dict)

    async def reserve(self, prompt_bytes: int) -> str:
        """Pay in advance. Raises PRECONDITION where the cap leaves no room."""
        advance = self.price.of(estimate(prompt_bytes))

        def paid(account: Account) -> Account:
            if account.usd + advance > self.cap:
                raise _over(account.usd, advance, self.cap)
            return Account(account.usd + advance, account.requests + 1)

        await self.accounts.create(self.experiment, Account())
        after = await self.accounts.change(self.experiment, paid)
        name = digest(self.experiment, after.requests, len(self._advances), length=16)
        self._advances[name] = advance
        return name

    async def settle(self, request: str, usage: Usage) -> None:
        """Give back what it did not cost."""
        rest = self._advances.pop(request) - self.price.of(usage)
        await self.accounts.change(
            self.experiment, lambda account: Account(max(0.0, account.usd - rest), account.requests)
        )


def estimate(prompt_bytes: int) -> Usage:
    """What a request of so many bytes may use: an estimate from above, for a prompt that no cache helps."""
    tokens = prompt_bytes // _BYTES_A_TOKEN + 1
    return Usage(1, tokens, _WRITTEN + tokens // 2, 0)


def _over(spent: float, advance: float, cap: float) -> FiretrialError:
    return FiretrialError(
        Reason.PRECONDITION,
        f"the attribution has cost {spent:.4f} of at most {cap:.4f} USD, and the next request may cost "
        f"{advance:.4f}: raise {_SETTING}, or attribute by a cheaper model",
        faults=[Fault(_SETTING, f"{cap}", "must leave room for the next request")],
    )


def usd(price: Price | None, usage: Usage) -> float | None:
    """What answered requests cost; 0 where nothing was asked, None where the price is unknown."""
    if not usage.calls:
        return 0.0
    return None if price is None else price.of(usage)
