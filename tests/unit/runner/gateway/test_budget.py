"""A run's budget: no order of reserving and settling passes a cap whose estimates hold."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firetrial_runner.allowance import ModelCaps
from firetrial_runner.gateway.budget import Budget, Hold, OverBudgetError
from firetrial_runner.gateway.exchange import Tokens

CALL = st.tuples(
    st.sampled_from(["a", "b"]),
    st.integers(1, 50),  # tokens set aside
    st.floats(0, 1),  # the share that it comes to
    st.booleans(),  # whether it comes to anything
    st.integers(0, 3),  # how long it takes
)


@given(
    calls=st.lists(CALL, max_size=30),
    cap_calls=st.integers(0, 10),
    cap_tokens=st.integers(1, 200),
    cap_usd=st.floats(0, 2),
)
def test_no_cap_is_passed(
    calls: list[tuple[str, int, float, bool, int]], cap_calls: int, cap_tokens: int, cap_usd: float
) -> None:
    spent = {"calls": 0, "tokens": 0, "usd": 0.0}
    budget = Budget(ModelCaps(cap_tokens, cap_usd, {"a": cap_calls}))

    async def call(model: str, tokens: int, share: float, paid: bool, steps: int) -> None:
        hold = Hold(model, tokens, tokens / 100)
        try:
            await budget.reserve(hold)
        except OverBudgetError:
            return
        for _ in range(steps):
            await asyncio.sleep(0)
        if not paid:
            budget.release(hold)
            return
        used = int(tokens * share)
        spent["calls"] += model == "a"
        spent["tokens"] += used
        spent["usd"] += used / 100
        budget.settle(hold, Tokens(used), used / 100)

    async def run() -> None:
        async with asyncio.timeout(10):
            await asyncio.gather(*(call(*each) for each in calls))

    asyncio.run(run())
    assert spent["calls"] <= cap_calls
    assert spent["tokens"] <= cap_tokens
    assert spent["usd"] <= cap_usd + 1e-6
    assert budget.tokens_left() == cap_tokens - spent["tokens"]


async def test_a_call_waits_for_one_under_way_that_may_leave_room() -> None:
    budget = Budget(ModelCaps(tokens=100))
    first = Hold("a", 80, 0)
    await budget.reserve(first)
    second = asyncio.create_task(budget.reserve(Hold("a", 60, 0)))
    await asyncio.sleep(0.01)
    assert not second.done()
    budget.settle(first, Tokens(30), 0)
    await second
    with pytest.raises(OverBudgetError, match=r"has used 30, and this call may use 80"):
        await budget.reserve(Hold("a", 80, 0))


async def test_one_that_gives_up_waiting_leaves_nothing_behind() -> None:
    budget = Budget(ModelCaps(calls={"*": 1}))
    first = Hold("a", 1, 0)
    await budget.reserve(first)
    second = asyncio.create_task(budget.reserve(Hold("a", 1, 0)))
    await asyncio.sleep(0.01)
    second.cancel()
    budget.release(first)
    await budget.reserve(Hold("a", 1, 0))
    await budget.reserve(Hold("b", 1, 0))


async def test_no_caps_cap_nothing() -> None:
    budget = Budget(ModelCaps())
    assert (budget.tokens_left(), budget.usd_left(), budget.caps_size) == (None, None, False)
    for _ in range(100):
        await budget.reserve(Hold("a", 10**9, 10**9))
