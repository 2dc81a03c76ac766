"""The cap on what the attribution of an experiment costs."""

from __future__ import annotations

import asyncio

import pytest

from firetrial_analyzer.attributing.spending import Account, Accounts, estimate, usd
from firetrial_kit.asking import Price, Usage
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.records import Records
from firetrial_kit.testing import InMemoryState

PRICE = Price(2.0, 8.0, 0.5)


def test_cached_tokens_have_their_own_price() -> None:
    assert PRICE.of(Usage(1, 1_000_000, 500_000, 400_000)) == pytest.approx(0.6 * 2 + 0.4 * 0.5 + 0.5 * 8)


def test_an_unknown_price_is_not_zero_and_no_request_costs_nothing() -> None:
    assert usd(None, Usage(1, 10, 10)) is None
    assert usd(None, Usage()) == usd(PRICE, Usage()) == 0.0


async def test_requests_at_the_same_time_never_go_over_the_cap_together() -> None:
    records = Records(InMemoryState(), "budget", Account)
    one = PRICE.of(estimate(1000))
    meters = [Accounts(records, 3.5 * one, PRICE).meter("e-1") for _ in range(8)]
    results = await asyncio.gather(*(meter.reserve(1000) for meter in meters), return_exceptions=True)
    refused = [error for error in results if isinstance(error, FiretrialError)]
    assert len(refused) == 5
    assert {error.reason for error in refused} == {Reason.PRECONDITION}
    assert (await records.get("e-1")).usd == pytest.approx(3 * one)


async def test_what_a_request_did_not_cost_is_given_back() -> None:
    records = Records(InMemoryState(), "budget", Account)
    meter = Accounts(records, 1.0, PRICE).meter("e-1")
    first, second = await meter.reserve(4000), await meter.reserve(4000)
    assert first != second
    used = Usage(1, 900, 100)
    await meter.settle(first, used)
    await meter.settle(second, Usage())
    assert (await records.get("e-1")).usd == pytest.approx(PRICE.of(used))


async def test_experiments_do_not_pay_for_each_other() -> None:
    records = Records(InMemoryState(), "budget", Account)
    accounts = Accounts(records, PRICE.of(estimate(1000)), PRICE)
    await accounts.meter("e-1").reserve(1000)
    await accounts.meter("e-2").reserve(1000)
    with pytest.raises(FiretrialError, match="ATTRIBUTION_MAX_USD"):
        await accounts.meter("e-1").reserve(1000)
