"""What a service may ask models for on behalf of a tenant in a month: the tenant's quota of USD.

Each service keeps accounts of its own, in its own state, over all its processes together. What agents ask is
in none of them: the runner keeps theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Self

from firetrial_kit import tenants
from firetrial_kit.asking import Meter, Price, Usage
from firetrial_kit.clock import Clock
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.records import Records
from firetrial_kit.service import Parts
from firetrial_kit.spending import Account, Purses, Terms
from firetrial_kit.tokens import Quotas


@dataclass(frozen=True, slots=True)
class Months:
    """The accounts of all tenants. `refused` is told of each request that one had no room for."""

    purses: Purses
    quotas: Callable[[str], Quotas]
    prices: Mapping[str, Price]
    clock: Clock
    refused: Callable[[], None] = lambda: None

    @classmethod
    def of(cls, parts: Parts, prices: Mapping[str, Price]) -> Self:
        """Those of one service."""
        terms = Terms(
            "the tenant's month", "quotas.usd_per_month", f"FIRETRIAL_{parts.service.upper()}_PRICES"
        )
        purses = Purses(Records(parts.state, "tenant_month", Account), parts.clock, terms)
        refused = parts.metrics.models.over_budget(parts.service, "tenant")
        return cls(purses, parts.gate.quotas, prices, parts.clock, lambda: refused("tenant"))

    def meter(self, model: str) -> Meter | None:
        """What pays for the work in hand; None where its tenant has no such quota.

        Raises PRECONDITION for a model whose price is unknown.
        """
        tenant = tenants.current() or tenants.LOCAL
        most = self.quotas(tenant).usd_per_month
        if most is None:
            return None
        account = f"{tenants.tag(tenant)}{self.clock.now():%Y-%m}"
        return _Counted(self.purses.of(account, most).meter(model, self.prices.get(model)), self.refused)


@dataclass(frozen=True, slots=True)
class _Counted:
    meter: Meter
    refused: Callable[[], None]

    async def reserve(self, prompt_bytes: int) -> str:
        try:
            return await self.meter.reserve(prompt_bytes)
        except FiretrialError as error:
            if error.reason is Reason.PRECONDITION:
                self.refused()
            raise

    async def settle(self, request: str, usage: Usage) -> None:
        await self.meter.settle(request, usage)
