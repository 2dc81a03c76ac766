"""Tasks of leaves: by a model where there is one, and as a replication; over the RPCs."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from firetrial.parser.v1 import events_pb2, task_pb2
from firetrial.parser.v1 import parser_service_pb2 as pb
from firetrial_kit.cache import StoreTier
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.models import Endpoint
from firetrial_kit.testing import InMemoryObjects
from firetrial_parser.asking import KEPT, Asker, opened
from firetrial_parser.entailment import Ruled, Rulings, Verdict
from firetrial_parser.instruction import CALLS
from support.scripted_models import Reply, Request, ScriptedModels, answer
from unit.parser.leaks.paper import TEXT
from unit.parser.world import World, plan

GOOD = "How does the time in a furnace change how hard steel becomes?"
LEAKING = "Does steel grow harder with StepHeat?"
RATED = {
    "conceptual_decomposition": {"level": 1, "reason": "The question names it."},
    "confound_control": {"level": 2, "reason": "Cooling must be held fixed."},
    "analysis_complexity": {"level": 1, "reason": "Means are compared."},
}


class Script:
    """Answers for questions in turn, and one rating."""

    def __init__(self, *questions: str) -> None:
        self.questions = list(questions)
        self.seen: list[str] = []

    def __call__(self, request: Request) -> Reply:
        told = json.dumps(request.body)
        self.seen.append(told)
        if "conceptual_decomposition" in told:
            return answer(RATED)
        return answer({"question": self.questions.pop(0) if len(self.questions) > 1 else self.questions[0]})


class Judge:
    """Finds every premise with `word` to give all away."""

    def __init__(self, word: str) -> None:
        self.word = word

    async def entail(self, premise: str, hypotheses: Sequence[str], **_: bool) -> Rulings:
        verdict = Verdict.ENTAILED if self.word in premise else Verdict.NEUTRAL
        return Rulings((Ruled(0, hypotheses[0], verdict, premise),), "j", "")


@asynccontextmanager
async def model(script: Script, objects: InMemoryObjects | None = None) -> AsyncIterator[tuple[Asker, Any]]:
    with ScriptedModels(script) as server:
        endpoint = Endpoint(server.base_url, "scripted", patience=2.0)
        cache = StoreTier(objects or InMemoryObjects(), *KEPT)
        async with opened(endpoint, cache=cache) as asker:
            yield asker, server


async def task_of(world: World) -> task_pb2.Task:
    """The one task of the paper."""
    await world.submit(TEXT.encode(), "paper.md")
    await world.run()
    (task,) = (await world.servicer.ListTasks(pb.ListTasksRequest(), None)).tasks
    return task


async def test_the_model_s_question_and_rating_are_the_task_s() -> None:
    async with model(Script(GOOD)) as (asker, server):
        task = await task_of(World(asker=asker))
        assert len(server.requests) == 2
    assert task.question == GOOD
    assert GOOD in task.instruction
    assert f"{CALLS:,} calls" in task.instruction
    assert task.difficulty.rated_by == "scripted, prompt difficulty-v1"
    assert (task.difficulty.conceptual_decomposition, task.difficulty.confound_control) == (1, 2)
    assert {(usage.purpose, usage.calls) for usage in task.usage} == {("question", 1), ("difficulty", 1)}
    assert "Cooling" not in str(task), "a rating's reasons are of the secret part"


async def test_a_question_that_leaks_is_asked_for_again_with_the_leak_named() -> None:
    script = Script(LEAKING, GOOD)
    async with model(script) as (asker, _):
        task = await task_of(World(asker=asker))
    assert task.question == GOOD
    assert "tells how the finding was reached" in script.seen[1]
    assert "StepHeat" in script.seen[1]


async def test_a_model_that_only_leaks_is_done_without() -> None:
    async with model(Script(LEAKING)) as (asker, _):
        task = await task_of(World(asker=asker))
    assert task.question.startswith("What do experiments")
    assert "StepHeat" not in task.instruction
    assert task.state == task_pb2.TASK_STATE_PUBLISHED


async def test_what_the_judge_rejects_is_asked_for_again_too() -> None:
    script = Script("Why does it harden in a furnace? It hardens there.", GOOD)
    script.questions[0] = "Given that furnaces harden it, how much?"
    async with model(script) as (asker, _):
        task = await task_of(World(Judge("harden it"), asker))
    assert task.question == GOOD
    assert any("REJECTED" in seen and "Given that furnaces harden it" in seen for seen in script.seen)


async def test_the_same_paper_is_paid_for_once() -> None:
    objects, script = InMemoryObjects(), Script(GOOD)
    async with model(script, objects) as (asker, server):
        await task_of(World(asker=asker))
        paid = len(server.requests)
        task = await task_of(World(asker=asker))
        assert len(server.requests) == paid
    assert all(usage.calls == 0 and usage.cache_hits == 1 for usage in task.usage)


async def make(world: World, **fields: Any) -> pb.MakeTaskResponse:
    (paper,) = (await world.servicer.ListPapers(pb.ListPapersRequest(), None)).papers
    return await world.servicer.MakeTask(pb.MakeTaskRequest(paper_id=paper.id, **fields), None)


async def test_a_replication_gives_the_method_and_withholds_the_result() -> None:
    world = World()
    first = await task_of(world)
    answered = await make(world, variant=task_pb2.TASK_VARIANT_REPLICATION, plan=plan())
    task = answered.task
    assert task.id != first.id
    assert (first.variant, task.variant) == (
        task_pb2.TASK_VARIANT_REDISCOVERY,
        task_pb2.TASK_VARIANT_REPLICATION,
    )
    assert "StepHeat" in task.instruction
    assert "StepHeat" not in first.instruction
    assert "655" not in task.instruction
    assert task.state == task_pb2.TASK_STATE_PUBLISHED, task.leak_check
    fact = world.told("task_created", events_pb2.TaskCreated)[-1]
    assert (fact.task_id, fact.slip.experiment_id) == (task.id, answered.experiment_id)


async def test_a_leaf_can_be_chosen_and_making_it_again_is_the_same() -> None:
    world = World()
    await task_of(world)
    (paper,) = (await world.servicer.ListPapers(pb.ListPapersRequest(), None)).papers
    listed = await world.servicer.ListCandidates(pb.ListCandidatesRequest(paper_id=paper.id), None)
    best = listed.candidates[0]
    assert (best.rank, best.evidence) == (1, "Table 1")
    assert best.score == sum(reason.points for reason in best.reasons)
    assert best.difficulty.rated_by == "heuristic-v1"
    assert len(best.difficulty_reasons) == 3
    once, twice = [(await make(world, leaf_path=best.leaf_path)).task for _ in range(2)]
    assert once == twice
    with pytest.raises(FiretrialError, match="must be a leaf") as raised:
        await make(world, leaf_path="0.9.9")
    assert raised.value.reason is Reason.INVALID


async def test_a_paper_without_a_tree_gives_no_task() -> None:
    world = World()
    await world.submit(TEXT.encode(), "paper.md")
    with pytest.raises(FiretrialError, match="not been read") as raised:
        await make(world)
    assert raised.value.reason is Reason.NOT_FOUND


async def test_the_truth_names_the_paper_and_the_public_part_denies_it() -> None:
    world = World()
    text = TEXT.replace("# Slow", "arXiv:2401.01234v2\n\n# Slow")
    await world.submit(text.encode(), "paper.md")
    await world.run()
    (task,) = (await world.servicer.ListTasks(pb.ListTasksRequest(), None)).tasks
    stored = await world.everything.get(f"truth/tasks/{task.id}/truth.json")
    truth = json.loads(stored)
    assert truth["title"].startswith("Slow Cooling Wins")
    assert truth["statements"] == [truth["text"]]
    assert len(truth["difficulty_reasons"]) == 3
    assert "Slow Cooling" not in str(task)
