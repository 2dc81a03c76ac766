from __future__ import annotations

import asyncio
from collections.abc import Mapping

import pytest

from firetrial_kit import tenants
from firetrial_kit.asking import Price, Usage
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.monthly import Months
from firetrial_kit.records import Records
from firetrial_kit.spending import Account, Purses, Terms
from firetrial_kit.testing import InMemoryState, ManualClock
from firetrial_kit.tokens import Quotas

PRICES: Mapping[str, Price] = {"judge-1": Price(10.0, 0.0, 0.0)}
QUOTAS = {"acme": Quotas(usd_per_month=0.01), "umbra": Quotas(runs_per_day=3)}
BYTES = 200  # some 100 tokens, for 0.001 USD


def months(clock: ManualClock, refusals: list[int] | None = None) -> Months:
    accounts = Records(InMemoryState(), "tenant_month", Account)
    purses = Purses(accounts, clock, Terms("the tenant's month", "quotas.usd_per_month", "PRICES"))
    told = refusals if refusals is not None else []
    return Months(purses, lambda name: QUOTAS.get(name, Quotas()), PRICES, clock, lambda: told.append(1))


async def ask(kept: Months, tenant: str, model: str = "judge-1") -> bool:
    """Whether one request was paid for, at 0.001 USD."""
    with tenants.acting(tenant):
        meter = kept.meter(model)
        if meter is None:
            return True
        try:
            hold = await meter.reserve(BYTES)
        except FiretrialError as error:
            if error.reason is not Reason.PRECONDITION:
                raise
            return False
        await asyncio.sleep(0)
        await meter.settle(hold, Usage(1, 100))
        return True


async def test_fifty_at_once_never_pass_a_months_quota() -> None:
    refusals: list[int] = []
    kept = months(ManualClock(), refusals)
    paid = await asyncio.gather(*(ask(kept, "acme") for _ in range(50)))
    assert 8 <= sum(paid) <= 10  # each sets aside a little more than it costs
    assert len(refusals) == 50 - sum(paid)


async def test_a_month_is_a_tenants_own_and_ends() -> None:
    clock = ManualClock()
    kept = months(clock)
    while await ask(kept, "acme"):
        pass
    assert await ask(kept, "umbra")
    assert await ask(kept, tenants.LOCAL)
    clock.advance(32 * 24 * 3600)
    assert await ask(kept, "acme")


async def test_it_is_said_which_quota_leaves_no_room() -> None:
    with tenants.acting("acme"):
        meter = months(ManualClock()).meter("judge-1")
        assert meter is not None
        with pytest.raises(FiretrialError) as caught:
            await meter.reserve(1_000_000)
    assert [fault.field for fault in caught.value.faults] == ["quotas.usd_per_month"]


async def test_a_model_without_a_price_is_refused_where_there_is_a_quota() -> None:
    kept = months(ManualClock())
    assert await ask(kept, "umbra", "who-knows")
    with pytest.raises(FiretrialError, match="who-knows"):
        await ask(kept, "acme", "who-knows")
