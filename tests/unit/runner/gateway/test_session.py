"""A run's part of the gateway."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from firetrial_runner.flood import Flow, Turnstile
from firetrial_runner.gateway.faults import EXPERIMENT, TENANT, Kind, Refusal
from firetrial_runner.gateway.session import Session, always


async def forget(text: str, told: dict[str, object]) -> None:
    """A trajectory that nobody reads."""


def session(holds: Callable[[], bool]) -> Session:
    return Session(forget, Turnstile(Flow(at_once=1, per_s=1, burst=1), lambda _: None), holds)


async def test_who_is_let_in() -> None:
    mine = session(always)
    mine.admit(mine.token)
    with pytest.raises(Refusal, match="run's own"):
        mine.admit("another")
    await mine.close(1)
    with pytest.raises(Refusal, match="lives as long as the run"):
        mine.admit(mine.token)


def test_a_tenants_empty_account_is_no_failure_of_the_agent() -> None:
    """Its own cap and its experiment's are; the tenant's money is ours, and no attempt will find any."""
    mine = session(always)
    mine.refused("m", Refusal(Kind.BUDGET, "the tenant may spend 1.0000 USD", TENANT))
    trouble = mine.trouble()
    assert (trouble.over_budget, trouble.lasting) == ("", True)
    assert trouble.down.startswith("the tenant may spend")
    mine.refused("m", Refusal(Kind.BUDGET, "the experiment may spend 1.0000 USD", EXPERIMENT))
    assert mine.trouble().over_budget.startswith("the experiment")


async def test_a_call_waits_until_the_run_is_the_runners_again() -> None:
    held = False
    mine = session(lambda: held)
    waiting = asyncio.create_task(mine.held())
    await asyncio.sleep(0.1)
    assert not waiting.done()
    held = True
    await waiting
    assert mine.waited_s >= 0.1, "which the run's time limit does not count"


async def test_a_call_of_a_lost_run_does_not_wait_for_ever() -> None:
    mine = session(lambda: False)
    waiting = asyncio.create_task(mine.held())
    await asyncio.sleep(0.01)
    await mine.close(1)
    with pytest.raises(Refusal, match="lives as long as the run"):
        await waiting
