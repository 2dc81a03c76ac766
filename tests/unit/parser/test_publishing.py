"""A task that gives something away is blocked, told of, and published once when somebody overrules it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from firetrial.parser.v1 import events_pb2, leak_pb2, paper_pb2, task_pb2
from firetrial.parser.v1 import parser_service_pb2 as pb
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.objects import GRANTS
from firetrial_kit.testing import InMemoryObjects
from firetrial_parser.entailment import Ruled, Rulings, Verdict
from unit.parser.world import World, plan

GIVEN = "24 samples of one steel"  # words of the study's own scope


class Judge:
    """Finds a sentence with `words` to entail the first finding; `down` as long as it does not answer."""

    def __init__(self, words: str = GIVEN) -> None:
        self.words = words
        self.down = False
        self.premises: list[str] = []

    async def entail(
        self, premise: str, hypotheses: Sequence[str], *, atomic: bool = True, searching: bool = False
    ) -> Rulings:
        assert atomic
        assert searching
        self.premises.append(premise)
        if self.down:
            raise FiretrialError(Reason.UNAVAILABLE, "the judge does not answer")
        found = next((line for line in premise.split("\n\n") if self.words and self.words in line), "")
        verdict = Verdict.ENTAILED if found else Verdict.NEUTRAL
        return Rulings((Ruled(0, hypotheses[0], verdict, found),), "judge-1", "for tests")


@pytest.fixture
def judge() -> Judge:
    return Judge()


@pytest.fixture
def world(judge: Judge) -> World:
    return World(judge)


def created(world: World) -> list[events_pb2.TaskCreated]:
    return world.told("task_created", events_pb2.TaskCreated)


async def blocked(world: World, **header: Any) -> task_pb2.Task:
    """The one task of the study, which is blocked."""
    await world.submit(**header)
    await world.run()
    (task,) = (await world.servicer.ListTasks(pb.ListTasksRequest(), None)).tasks
    assert task.state == task_pb2.TASK_STATE_BLOCKED
    return task


async def overrule(
    world: World, task: str, by: str = "Ada", reason: str = "known"
) -> pb.OverruleLeakResponse:
    return await world.servicer.OverruleLeak(pb.OverruleLeakRequest(task_id=task, by=by, reason=reason), None)


async def test_it_is_told_with_its_sentence_and_announced_to_nobody(world: World) -> None:
    task = await blocked(world, plan=plan())
    assert created(world) == []
    (leak,) = task.leak_check.leaks
    assert (leak.kind, leak.sentence) == (leak_pb2.LEAK_KIND_FINDING, "Data: 24 samples of one steel.")
    assert task.leak_check.depth == leak_pb2.LeakCheck.DEPTH_ENTAILMENT
    assert (task.leak_check.judge_config_hash, task.leak_check.claims) == ("judge-1", 1)
    paper = (await world.servicer.ListPapers(pb.ListPapersRequest(), None)).papers[0]
    assert (paper.state, list(paper.task_ids)) == (paper_pb2.PAPER_STATE_READY, [task.id])


async def test_nobody_who_runs_agents_can_read_it(world: World) -> None:
    task = await blocked(world)
    runner = InMemoryObjects(GRANTS["runner"], sharing=world.everything)
    assert [key for key in await runner.keys("runs", "tasks/") if task.id in key] == []
    await overrule(world, task.id)
    stored = await runner.get(f"runs/tasks/{task.id}/task.json")
    assert b"leak" not in stored
    assert b"Ada" not in stored


async def test_overruled_it_begins_what_waited_for_it_exactly_once(world: World) -> None:
    task = await blocked(world, plan=plan())
    answer = await overrule(world, task.id)
    (fact,) = created(world)
    assert fact.task_id == task.id
    assert [fact.slip.experiment_id] == list(answer.experiment_ids)
    assert fact.slip.expected_runs == 4
    assert answer.task.state == task_pb2.TASK_STATE_PUBLISHED
    told = answer.task.leak_check.overruling
    assert (told.by, told.reason) == ("Ada", "known")
    assert told.HasField("at")
    assert len(answer.task.leak_check.leaks) == 1, "what was found stays with the task"
    await overrule(world, task.id)
    assert await world.again(world.parsed, "paper_parsed") == ["done"]
    assert (
        len({message.message_id for message in world.bus.published if "task_created" in message.subject}) == 1
    )


async def test_the_experiment_is_the_one_that_was_promised(world: World) -> None:
    promised = (await world.submit(plan=plan())).experiment_id
    await world.run()
    (task,) = (await world.servicer.ListTasks(pb.ListTasksRequest(), None)).tasks
    assert list((await overrule(world, task.id)).experiment_ids) == [promised]


async def test_one_of_several_has_an_experiment_of_its_own(world: World, judge: Judge) -> None:
    judge.words = "Vickers"
    promised = (await world.submit(plan=plan(max_tasks=2))).experiment_id

    seen = 0
    ask = judge.entail

    async def first_only(premise: str, hypotheses: Sequence[str], **more: bool) -> Rulings:
        nonlocal seen
        seen += 1
        judge.words = "Vickers" if seen == 1 else ""
        return await ask(premise, hypotheses, **more)

    judge.entail = first_only  # type: ignore[method-assign]
    await world.run()
    (free,) = created(world)
    assert (free.slip.experiment_id, free.slip.expected_runs) == (promised, 4)
    tasks = (await world.servicer.ListTasks(pb.ListTasksRequest(), None)).tasks
    (held,) = (task for task in tasks if task.state == task_pb2.TASK_STATE_BLOCKED)
    (own,) = (await overrule(world, held.id)).experiment_ids
    assert own != promised
    assert await world.again(world.parsed, "paper_parsed") == ["done"]
    slips = {(fact.slip.experiment_id, fact.slip.expected_runs) for fact in created(world)}
    assert slips == {(promised, 4), (own, 4)}


async def test_without_a_plan_it_is_announced_for_keeping(world: World) -> None:
    task = await blocked(world)
    assert list((await overrule(world, task.id)).experiment_ids) == []
    (fact,) = created(world)
    assert not fact.HasField("slip")


async def test_a_plan_that_comes_later_waits_too_or_goes_on(world: World) -> None:
    task = await blocked(world)
    await world.submit(plan=plan())
    await world.run()
    assert created(world) == []
    assert len((await overrule(world, task.id)).experiment_ids) == 1
    await world.submit(plan=plan(repeats=3))
    await world.run()
    assert [fact.slip.expected_runs for fact in created(world)] == [4, 6]


async def test_redelivery_before_the_overruling_changes_nothing(world: World) -> None:
    task = await blocked(world, plan=plan())
    assert await world.again(world.parsed, "paper_parsed") == ["done"]
    assert created(world) == []
    assert len((await overrule(world, task.id)).experiment_ids) == 1


async def test_a_crash_between_the_record_and_the_event_is_made_good(world: World) -> None:
    task = await blocked(world, plan=plan())
    tasks = world.servicer._tasking.tasks
    await tasks.overrule(task.id, "Ada", "known")  # and then the process died
    assert created(world) == []
    await overrule(world, task.id)
    assert len(created(world)) == 1


async def test_who_overrules_says_so(world: World) -> None:
    task = await blocked(world)
    with pytest.raises(FiretrialError) as raised:
        await overrule(world, task.id, by=" ", reason="")
    assert [fault.field for fault in raised.value.faults] == ["by", "reason"]
    await overrule(world, task.id)
    with pytest.raises(FiretrialError, match="Ada overruled it already: known") as again:
        await overrule(world, task.id, by="Bob", reason="mine")
    assert again.value.reason is Reason.ALREADY_EXISTS


async def test_nothing_blocks_a_task_that_is_clean(world: World, judge: Judge) -> None:
    judge.words = ""
    await world.submit()
    await world.run()
    (task,) = (await world.servicer.ListTasks(pb.ListTasksRequest(), None)).tasks
    assert task.state == task_pb2.TASK_STATE_PUBLISHED
    with pytest.raises(FiretrialError, match="nothing blocks") as raised:
        await overrule(world, task.id)
    assert raised.value.reason is Reason.PRECONDITION
    assert len(created(world)) == 1


async def test_without_the_judge_there_is_no_task_until_it_answers(world: World, judge: Judge) -> None:
    judge.down, judge.words = True, ""
    await world.submit(plan=plan())
    assert "later" in (await world.run())[-1]
    assert created(world) == []
    judge.down = False
    assert await world.again(world.parsed, "paper_parsed") == ["done"]
    assert len(created(world)) == 1


async def test_a_judge_that_never_answers_fails_the_paper_and_says_so(world: World, judge: Judge) -> None:
    judge.down = True
    await world.submit(plan=plan())
    world.parsed = replace(world.parsed, max_deliver=1)
    await world.run()
    (paper,) = (await world.servicer.ListPapers(pb.ListPapersRequest(), None)).papers
    assert paper.state == paper_pb2.PAPER_STATE_FAILED
    assert "the judge does not answer" in paper.failure
    assert created(world) == []


class TestOutside:
    """Tasks that were made elsewhere."""

    HEADER = pb.TaskHeader(
        slug="t", question="How?", instruction=f"Use {GIVEN}.", ground_truth="It hardens.", origin="client"
    )

    async def test_what_it_gives_away_is_listed_and_blocks_nothing(self, world: World) -> None:
        task = (await world.submit_task(self.HEADER)).task
        assert task.state == task_pb2.TASK_STATE_PUBLISHED
        assert [leak.sentence for leak in task.leak_check.leaks] == [f"Use {GIVEN}."]
        assert len(created(world)) == 1

    async def test_where_the_judge_is_down_words_are_looked_at(self, world: World, judge: Judge) -> None:
        judge.down = True
        check = (await world.submit_task(self.HEADER)).task.leak_check
        assert (check.depth, list(check.leaks)) == (leak_pb2.LeakCheck.DEPTH_WORDS, [])

    async def test_without_a_truth_nothing_is_checked(self, world: World, judge: Judge) -> None:
        header = pb.TaskHeader(slug="t", question="How?", instruction="Do.")
        assert not (await world.submit_task(header)).task.HasField("leak_check")
        assert judge.premises == []


async def test_without_a_judge_a_task_says_that_words_alone_were_looked_at() -> None:
    world = World()
    await world.submit()
    await world.run()
    (task,) = (await world.servicer.ListTasks(pb.ListTasksRequest(), None)).tasks
    assert task.leak_check.depth == leak_pb2.LeakCheck.DEPTH_WORDS
    assert task.state == task_pb2.TASK_STATE_PUBLISHED
