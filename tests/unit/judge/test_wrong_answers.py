"""A model that answers wrongly in twenty ways: the score is right, or there is none. It is never another."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AsyncExitStack

import pytest

from firetrial.judge.v1 import events_pb2, judge_service_pb2, judgement_pb2
from firetrial_judge.instructions import load_prompts
from firetrial_judge.judge import Judge
from firetrial_judge.model_judge import ModelJudge
from firetrial_kit.models import Endpoint, ModelClient
from support.scripted_models import Reply, Request, Script, ScriptedModels
from unit.judge.world import World
from unit.judge.wrong import (
    CONCLUSION,
    PRECISION,
    RECALL,
    RIGHT,
    TRUTH,
    WAYS,
    Wrong,
    right,
    right_value,
    wants_claims,
)

FORGIVEN = {"fences", "trailing_commas", "extra_ids", "swapped_order"}
OF_VERDICTS = {"missing_ids", "extra_ids", "swapped_order", "wrong_case"}  # claims carry no ids, no labels
EVERY_WAY = pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)


async def judged(script: Script) -> tuple[World, ScriptedModels]:
    """One run, judged by a model behind HTTP; its outcome lies in the world."""
    world = World()
    await world.task(truth=TRUTH)
    async with AsyncExitStack() as stack:
        models = stack.enter_context(ScriptedModels(script))

        def model(_: str) -> Judge:
            # Enough patience for one failure of the endpoint, not for one that stays.
            endpoint = Endpoint(models.base_url, "scripted", timeout=0.4, patience=1.2)
            client = ModelClient(endpoint)
            stack.push_async_callback(client.aclose)
            return ModelJudge(client, load_prompts())

        world.start(model=model)
        await world.finish(await world.run(conclusion=CONCLUSION))
        await world.deliver()
    return world, models


async def verdicts(world: World) -> dict[str, str]:
    found = await world.servicer.GetJudgement(judge_service_pb2.GetJudgementRequest(run_id="r-1"), None)
    claims = (*found.judgement.agent_claims, *found.judgement.truth_claims)
    return {c.id: judgement_pb2.Verdict.Name(c.verdict).removeprefix("VERDICT_") for c in claims}


def first_wrong(way: Wrong, of: Callable[[Request], bool]) -> Callable[[Request], Reply]:
    """Wrong at the first request of a kind, right from then on."""
    done: list[Request] = []

    def script(request: Request) -> Reply:
        if of(request) and not done:
            done.append(request)
            return way(request, right_value(request))
        return right(request)

    return script


def always_wrong(way: Wrong, of: Callable[[Request], bool]) -> Callable[[Request], Reply]:
    return lambda request: way(request, right_value(request)) if of(request) else right(request)


def wants_verdicts(request: Request) -> bool:
    return not wants_claims(request)


async def test_the_right_answers_give_the_right_score() -> None:
    world, models = await judged(right)
    (event,) = world.told("run_judged", events_pb2.RunJudged)
    assert (event.scores.precision, event.scores.recall) == (PRECISION, RECALL)
    assert await verdicts(world) == RIGHT
    assert len(models.requests) == 3


@EVERY_WAY
async def test_verdicts_wrong_once_are_right_in_the_end(way: Wrong) -> None:
    world, models = await judged(first_wrong(way, wants_verdicts))
    (event,) = world.told("run_judged", events_pb2.RunJudged)
    assert (event.scores.precision, event.scores.recall) == (PRECISION, RECALL)
    assert await verdicts(world) == RIGHT
    assert (len(models.requests) == 3) == (way.__name__ in FORGIVEN)


@pytest.mark.parametrize(
    "way", [way for way in WAYS if way.__name__ not in OF_VERDICTS], ids=lambda way: way.__name__
)
async def test_claims_wrong_once_are_right_in_the_end(way: Wrong) -> None:
    world, _ = await judged(first_wrong(way, wants_claims))
    assert await verdicts(world) == RIGHT


@EVERY_WAY
async def test_verdicts_wrong_for_ever_are_no_verdicts(way: Wrong) -> None:
    """Each claim has its right verdict or none, or the run is told as not judged (or as for later)."""
    world, _ = await judged(always_wrong(way, wants_verdicts))
    told = world.told("run_judged", events_pb2.RunJudged)
    if way.__name__ in FORGIVEN:
        assert (await verdicts(world), told[0].scores.precision) == (RIGHT, PRECISION)
    elif told:
        given = await verdicts(world)
        assert {id_: v for id_, v in given.items() if v not in ("UNSCORED", RIGHT[id_])} == {}
        assert "UNSCORED" in given.values()
        assert told[0].scores.unscored == list(given.values()).count("UNSCORED")
    else:
        failed = world.told("run_judge_failed", events_pb2.RunJudgeFailed)
        later = [result for _, _, result in world.bus.settlements] == ["later"]
        assert later != bool(failed)
        assert await world.everything.keys("results", "judgements/") == []
