"""What a tenant's runs spend together in a month, beside what their experiments may."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from firetrial_kit.records import Records
from firetrial_kit.testing import InMemoryState, ManualClock
from firetrial_runner.gateway.account import Account, Purse, Purses, month
from firetrial_runner.gateway.budget import OverBudgetError
from firetrial_runner.gateway.faults import TENANT
from firetrial_runner.gateway.wallet import Wallet

MOST = 2.0


class Runner:
    """One of several runners of one state."""

    def __init__(self, state: InMemoryState, clock: ManualClock) -> None:
        self.purses = Purses(Records(state, "account", Account), clock)
        self.refused: list[str] = []

    def wallet(self, run_id: str, experiment: str, cap: float | None = None) -> Wallet:
        def paying() -> Sequence[Purse]:
            own = [] if cap is None else [self.purses.of(experiment, cap, run_id)]
            account = month(experiment, self.purses.clock.now())
            return [*own, self.purses.of(account, MOST, run_id, TENANT)]

        return Wallet(paying, run_id, self.refused.append)


async def spend(wallet: Wallet, usd: float) -> bool:
    try:
        hold, _ = await wallet.reserve(usd, usd)
    except OverBudgetError as error:
        assert error.budget == TENANT  # noqa: PT017 - or it was paid
        return False
    await asyncio.sleep(0)
    await wallet.settle(hold, usd)
    return True


async def test_three_runners_reach_a_months_quota_exactly_and_never_pass_it() -> None:
    state, clock = InMemoryState(), ManualClock()
    runners = [Runner(state, clock) for _ in range(3)]
    wallets = [runners[n % 3].wallet(f"t-acme--r-{n}", f"t-acme--e-{n % 5}", 10.0) for n in range(15)]
    paid = await asyncio.gather(*(spend(wallets[n % 15], 0.05) for n in range(90)))
    accounts = Records(state, "account", Account)
    account = await accounts.get(month("t-acme--e-1", clock.now()))
    assert sum(paid) == 40
    assert account.spent == pytest.approx(MOST)
    assert not account.holds
    assert [whose for runner in runners for whose in runner.refused] == [TENANT] * 50
    spent = [(await accounts.get(f"t-acme--e-{n}")) for n in range(5)]
    assert sum(each.spent for each in spent) == pytest.approx(MOST)
    assert not any(each.holds for each in spent), (
        "what the tenant could not pay is not held by the experiment"
    )


async def test_another_tenant_and_another_month_have_accounts_of_their_own() -> None:
    state, clock = InMemoryState(), ManualClock()
    runner = Runner(state, clock)
    acme, umbra = runner.wallet("t-acme--r-1", "t-acme--e-1"), runner.wallet("t-umbra--r-1", "t-umbra--e-1")
    assert await spend(acme, MOST)
    assert not await spend(acme, 0.01)
    assert await spend(umbra, MOST)
    clock.advance(31 * 86_400)
    assert await spend(acme, MOST)


async def test_a_call_over_midnight_is_paid_by_the_month_in_which_it_was_made() -> None:
    state, clock = InMemoryState(), ManualClock()
    wallet = Runner(state, clock).wallet("t-acme--r-1", "t-acme--e-1")
    before = month("t-acme--e-1", clock.now())
    hold, _ = await wallet.reserve(0.5, 0.5)
    clock.advance(31 * 86_400)
    await wallet.settle(hold, 0.3)
    accounts = Records(state, "account", Account)
    assert (await accounts.get(before)).spent == pytest.approx(0.3)
    assert await accounts.find(month("t-acme--e-1", clock.now())) is None


async def test_the_least_of_what_is_left_is_given() -> None:
    state, clock = InMemoryState(), ManualClock()
    wallet = Runner(state, clock).wallet("t-acme--r-1", "t-acme--e-1", 0.7)
    hold, usd = await wallet.reserve(0.1, 5.0)
    assert usd == pytest.approx(0.7)
    await wallet.settle(hold, 0.0)
    assert await spend(Runner(state, clock).wallet("t-acme--r-2", "t-acme--e-2"), MOST - 0.2)
    hold, usd = await wallet.reserve(0.1, 5.0)
    assert usd == pytest.approx(0.2)
