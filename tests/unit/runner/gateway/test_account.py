"""What the runs of one experiment spend together."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from firetrial_kit.records import Records
from firetrial_kit.testing import InMemoryState, ManualClock
from firetrial_runner.gateway.account import Account, Held, Purse, Purses
from firetrial_runner.gateway.budget import OverBudgetError


def purses(state: InMemoryState, clock: ManualClock) -> Purses:
    """As one runner has them."""
    return Purses(Records(state, "account", Account), clock)


async def spend(purse: Purse, usd: float, actual: float) -> bool:
    try:
        hold, _ = await purse.reserve(usd, usd)
    except OverBudgetError:
        return False
    await asyncio.sleep(0)
    await purse.settle(hold, actual)
    return True


async def test_runners_of_one_experiment_never_pass_its_cap_together() -> None:
    state, clock = InMemoryState(), ManualClock()
    runners = [purses(state, clock).of("e-1", 1.0, f"r-{n}") for n in range(4)]
    paid = await asyncio.gather(*(spend(runners[n % 4], 0.05, 0.05) for n in range(60)))
    account = await Records(state, "account", Account).get("e-1")
    assert sum(paid) == 20
    assert account.spent == pytest.approx(1.0)
    assert not account.holds


async def test_what_is_left_is_given_where_it_is_enough() -> None:
    purse = purses(InMemoryState(), ManualClock()).of("e-1", 1.0, "r-1")
    hold, usd = await purse.reserve(0.1, 5.0)
    assert usd == 1.0
    await purse.settle(hold, 0.95)
    with pytest.raises(OverBudgetError, match=r"may spend 1\.0000 USD, has spent 0\.9500"):
        await purse.reserve(0.1, 5.0)
    _, usd = await purse.reserve(0.04, 5.0)
    assert usd == pytest.approx(0.05)


async def test_what_a_dead_runner_had_set_aside_is_spent() -> None:
    state, clock = InMemoryState(), ManualClock()
    await purses(state, clock).of("e-1", 1.0, "r-1").reserve(0.7, 0.7)
    after = purses(state, clock).of("e-1", 1.0, "r-2")
    clock.advance(1799)
    waiting = asyncio.create_task(after.reserve(0.7, 0.7))
    await asyncio.sleep(0.05)
    assert not waiting.done(), "it may still come to less"
    clock.advance(2)
    with pytest.raises(OverBudgetError, match=r"has spent 0\.7000"):
        await waiting
    hold, _ = await after.reserve(0.2, 0.2)
    await after.settle(hold, 0.2)
    account = await Records(state, "account", Account).get("e-1")
    assert account.spent == pytest.approx(0.9)


def test_what_a_run_had_set_aside_is_written_off_with_it() -> None:
    account = Account(0.5, {"r-1.a": Held(0.2, 9e9), "r-1.b": Held(0.1, 9e9), "r-11.c": Held(0.4, 9e9)})
    after = account.written_off("r-1")
    assert after is not None
    assert after.spent == pytest.approx(0.8)
    assert list(after.holds) == ["r-11.c"]
    assert after.settle("r-1.a", 0.2) == after, "what its runner says of it afterwards counts no more"
    assert after.written_off("r-1") is None


class Slow(InMemoryState):
    """Answers late that it has changed something."""

    async def update(self, key: str, value: bytes, revision: int) -> int:
        revision = await super().update(key, value, revision)
        await asyncio.sleep(0.02)
        return revision


async def test_a_call_that_is_cancelled_sets_nothing_aside() -> None:
    state = Slow()
    reserving = asyncio.create_task(purses(state, ManualClock()).of("e-1", 1.0, "r-1").reserve(0.7, 0.7))
    await asyncio.sleep(0.01)
    assert (await Records(state, "account", Account).get("e-1")).holds
    reserving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reserving
    assert await Records(state, "account", Account).get("e-1") == Account()


def test_settling_twice_is_settling_once() -> None:
    account = Account(0.5, {"h": Held(0.2, timedelta(days=1).total_seconds())})
    once = account.settle("h", 0.1)
    assert once.settle("h", 0.1) == once == Account(0.6, {})
