"""Caps: reserved before, settled after, over all judges of an experiment; and prices that are not known."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firetrial.judge.v1 import events_pb2, judge_service_pb2
from firetrial.plan.v1 import plan_pb2
from firetrial_judge.model_judge import clients, model_judges
from firetrial_judge.spending import TERMS, Purses
from firetrial_kit.asking import Price, Spent, Usage
from firetrial_kit.cache import StoreTier
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.models import Endpoint
from firetrial_kit.records import Records
from firetrial_kit.spending import Account, CappedPurse, OverCap, estimate
from firetrial_kit.testing import InMemoryState, ManualClock
from support.scripted_models import ScriptedModels
from unit.judge.world import World
from unit.judge.wrong import CONCLUSION, TRUTH, right

PRICE = Price(prompt=2.0, completion=8.0, cached=0.5)
# What the scripted model answers each time: 100 prompt tokens, 20 of them cached, and 10 more.
A_CALL = (80 * 2.0 + 20 * 0.5 + 10 * 8.0) / 1e6


def test_cached_tokens_cost_what_cached_tokens_cost() -> None:
    assert PRICE.of(Usage(1, 100, 10, 20)) == pytest.approx(A_CALL)
    assert PRICE.of(Usage()) == 0.0


def test_an_unknown_price_makes_a_sum_unknown_and_no_call_costs_nothing() -> None:
    known, unknown, free = Spent(1, cost_usd=0.5), Spent(1), Spent(cache_hits=3)
    assert (known + known).cost_usd == 1.0
    assert (known + free).cost_usd == 0.5
    assert (known + unknown).cost_usd is None
    assert (unknown + free).known_cost is None
    assert (free + free).known_cost == 0.0
    assert (known + free).cache_hits == 3


def test_a_hold_counts_until_it_is_settled_and_one_that_is_lost_counts_as_spent() -> None:
    account = Account().reserve("a", 0.6, cap=1.0, now=0)
    assert account
    assert account.reserve("b", 0.6, cap=1.0, now=1) is None
    settled = account.settle("a", 0.1)
    assert settled == Account(0.1)
    assert settled.settle("a", 0.1) == settled
    assert settled.reserve("b", 0.9, cap=1.0, now=1)
    with pytest.raises(OverCap):
        account.reserve("b", 0.6, cap=1.0, now=10_000)


@given(st.lists(st.tuples(st.floats(0.01, 0.5), st.floats(0.0, 1.0)), max_size=30))
def test_what_is_spent_never_passes_the_cap_where_estimates_hold(requests: list[tuple[float, float]]) -> None:
    account = Account()
    for number, (held, share) in enumerate(requests):
        try:
            reserved = account.reserve(str(number), held, cap=1.0, now=0)
        except OverCap:
            continue
        if reserved is not None:
            account = reserved if number % 3 else reserved.settle(str(number), held * share)
        assert account.spent + sum(hold.usd for hold in account.holds.values()) <= 1.0 + 1e-9


@dataclass
class Sleeps:
    """Counts naps; after each, something may happen."""

    naps: int = 0
    then: list[Account] = field(default_factory=list)

    async def sleep(self, _: float) -> None:
        self.naps += 1
        await asyncio.sleep(0)


async def test_who_has_to_wait_for_others_waits_and_is_told_in_the_end() -> None:
    records = Records(InMemoryState(), "budget", Account)
    sleeps, clock = Sleeps(), ManualClock()
    first = Purses(records, clock).of("e-1", 1.0)
    await first.reserve("held", 0.7)
    second = CappedPurse(1.0, Purses(records, clock)._kept("e-1"), clock, TERMS, sleeps.sleep)
    waiting = asyncio.create_task(second.reserve("other", 0.7))
    while sleeps.naps < 3:
        await asyncio.sleep(0)
    assert not waiting.done()
    await first.settle("held", 0.2)
    await waiting
    assert (await records.get("e-1")).spent == 0.2
    with pytest.raises(FiretrialError) as caught:
        await second.reserve("third", 0.5)
    assert (caught.value.reason, caught.value.retryable) == (Reason.EXHAUSTED, True)


def test_an_estimate_is_from_above() -> None:
    usage = estimate(3000)
    assert usage.prompt_tokens > 3000 / 3
    assert usage.completion_tokens > 1024


async def capped(
    stack: AsyncExitStack, cap: float, prices: dict[str, Price], runs: int = 1
) -> tuple[World, ScriptedModels]:
    """Runs of one experiment, judged with a cap by a model behind HTTP."""
    world = World()
    await world.task(truth=TRUTH)
    models = stack.enter_context(ScriptedModels(right))
    client = clients(lambda _: Endpoint(models.base_url, "m"), stack)
    world.start(model=model_judges(client, StoreTier(world.objects, "results", "judge-cache"), prices))
    config = plan_pb2.JudgeConfig(max_cost_usd=cap)
    for number in range(runs):
        await world.finish(await world.run(f"r-{number}", CONCLUSION + " " * number), config)
    await world.deliver()
    return world, models


async def test_a_judgement_says_what_it_cost() -> None:
    async with AsyncExitStack() as stack:
        world, models = await capped(stack, 10.0, {"m": PRICE}, runs=2)
        request = judge_service_pb2.GetJudgementRequest(run_id="r-0")
        usage = (await world.servicer.GetJudgement(request, None)).judgement.usage
        account = await Records(world.state, "budget", Account).get("e-1")
    assert (usage.calls, usage.cached_tokens) == (3, 60)
    assert usage.cost_usd == pytest.approx(3 * A_CALL)
    assert len(models.requests) == 5
    assert account.spent == pytest.approx(5 * A_CALL)
    assert account.holds == {}


async def test_at_the_cap_a_run_is_not_judged_and_nothing_more_is_asked() -> None:
    async with AsyncExitStack() as stack:
        world, models = await capped(stack, 1e-6, {"m": PRICE})
    (failed,) = world.told("run_judge_failed", events_pb2.RunJudgeFailed)
    assert "at most 0.0000 USD" in failed.reason
    assert "max_cost_usd" in failed.reason
    assert models.requests == []


async def test_the_runs_of_an_experiment_share_one_cap() -> None:
    async with AsyncExitStack() as stack:
        world, models = await capped(stack, 10.0, {"m": PRICE}, runs=12)
        assert len(world.told("run_judged", events_pb2.RunJudged)) == 12
        sizes = [sum(len(m["content"].encode()) for m in r.body["messages"]) for r in models.requests]
    cap = max(PRICE.of(estimate(size)) for size in sizes) + 5.5 * A_CALL
    async with AsyncExitStack() as stack:
        world, models = await capped(stack, cap, {"m": PRICE}, runs=12)
        account = await Records(world.state, "budget", Account).get("e-1")
        failed = world.told("run_judge_failed", events_pb2.RunJudgeFailed)
    assert 0 < len(failed) < 12
    assert 3 < len(models.requests) < len(sizes)
    assert account.spent == pytest.approx(A_CALL * len(models.requests))


async def test_a_cap_without_a_price_is_refused_with_the_cure() -> None:
    async with AsyncExitStack() as stack:
        world, models = await capped(stack, 10.0, {})
    (failed,) = world.told("run_judge_failed", events_pb2.RunJudgeFailed)
    assert "FIRETRIAL_JUDGE_PRICES" in failed.reason
    assert models.requests == []


async def test_two_texts_have_a_cap_of_their_own() -> None:
    async with AsyncExitStack() as stack:
        world, _ = await capped(stack, 10.0, {"m": PRICE}, runs=0)
        request = judge_service_pb2.ScoreTextRequest(
            conclusion=CONCLUSION, ground_truth=TRUTH, config=plan_pb2.JudgeConfig(max_cost_usd=1e-6)
        )
        with pytest.raises(FiretrialError, match="max_cost_usd"):
            await world.servicer.ScoreText(request, None)
        request.config.max_cost_usd = 1.0
        judgement = (await world.servicer.ScoreText(request, None)).judgement
        assert judgement.usage.cost_usd == pytest.approx(3 * A_CALL)
        assert await Records(world.state, "budget", Account).ids() == []
