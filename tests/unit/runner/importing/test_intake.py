"""Runs made elsewhere become finished runs, once, and experiments that end."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from firetrial.plan.v1 import plan_pb2
from firetrial.runner.v1 import events_pb2, run_pb2
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_runner.importing.imported import Format, Imported
from firetrial_runner.importing.intake import MAX_CHUNK
from firetrial_runner.run import Outcome, Provenance, Run, RunState
from support import official_logs as official
from unit.runner.world import World

WHOLE = official.header("claude", "m/1", "t").encode()
WHOLE += official.lines([*official.CLAUDE_LINES, official.CLAUDE_RESULT]).encode()
KILLED = WHOLE[: -len(official.lines([official.CLAUDE_RESULT]).encode())]
TOLD = Imported("task-1", "claude", "m/1", 1, Format.FIREBENCH, "log.log")


async def chunks(data: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(data), 1000):
        yield data[start : start + 1000]


def slip(
    *agents: str, repeats: int = 1, runs: int = 1, experiment: str = "e-1", pool: str = ""
) -> plan_pb2.Slip:
    plan = plan_pb2.Plan(agents=agents or [TOLD.agent_id], repeats=repeats, pool=pool)
    return plan_pb2.Slip(experiment_id=experiment, expected_runs=runs, plan=plan)


async def take(
    world: World, data: bytes = WHOLE, told: Imported = TOLD, to: plan_pb2.Slip | None = None
) -> Run:
    return (await world.intake.take(told, to, chunks(data))).run


def spooled(world: World) -> list[Path]:
    return list(world.work_dir.glob("import-*"))


@pytest.fixture
async def world(world: World) -> World:
    await world.task()
    return world


async def test_a_run_is_finished_and_told(world: World) -> None:
    run = await take(world)
    assert (run.state, run.outcome, run.reason) == (RunState.CONCLUDED, None, "")
    assert (run.agent_id, run.model, run.experiment_id) == ("claude-m-1@elsewhere", "m/1", "")
    assert run.conclusion is not None
    assert (await world.objects.get(run.conclusion.uri)).decode() == official.CLAUDE_SAYS
    assert run.origin is not None
    assert (run.origin.provenance, run.origin.lacking) == (
        Provenance.ELSEWHERE,
        ("artifacts", "exit", "times"),
    )
    assert await world.objects.get(run.origin.source.uri) == WHOLE
    (fact,) = world.facts("run_finished")
    told = events_pb2.RunFinished.FromString(fact).run
    assert (told.provenance, list(told.lacking)) == (
        run_pb2.PROVENANCE_ELSEWHERE,
        ["artifacts", "exit", "times"],
    )
    assert told.usage.tokens == 9098
    assert told.usage.cost_usd == 0.0421
    assert not told.HasField("exit")
    assert not told.HasField("started_at")
    agent = await world.books.agents.get(run.agent_id)
    assert (agent.name, agent.command) == ("claude", ())
    assert world.work() == []
    assert spooled(world) == []


async def test_the_same_again_changes_nothing(world: World) -> None:
    first = await take(world)
    kept = await world.objects.keys("runs", "runs/")
    assert await take(world) == first
    assert await world.objects.keys("runs", "runs/") == kept
    assert len(await world.books.runs.ids()) == 1
    assert len({out.message_id for out in world.bus.published if ".run_finished." in out.subject}) == 1
    assert (await take(world, told=replace(TOLD, repeat=2))).id != first.id
    assert (await take(world, KILLED)).id != first.id


async def test_a_run_that_was_judged_meanwhile_is_not_told_again(world: World) -> None:
    run = await take(world)
    await world.books.change_run(
        run.id, lambda one: replace(one, state=RunState.ENDED, outcome=Outcome.SCORED)
    )
    assert (await take(world)).outcome is Outcome.SCORED
    assert len(world.facts("run_finished")) == 1


async def test_no_conclusion_is_the_agents_failure(world: World) -> None:
    run = await take(world, KILLED)
    assert (run.state, run.outcome) == (RunState.ENDED, Outcome.AGENT_FAILED)
    assert run.reason == "no conclusion: the stream ends before its result"
    told = events_pb2.RunFinished.FromString(world.facts("run_finished")[0]).run
    assert told.outcome == run_pb2.OUTCOME_AGENT_FAILED


async def test_an_experiment_is_made_grows_and_ends(world: World) -> None:
    first = await take(world, to=slip(repeats=2, runs=2))
    experiment = await world.books.experiments.get("e-1")
    assert (experiment.task_ids, experiment.expected_runs) == (("task-1",), 2)
    assert await world.experiments.counted(experiment) == ({"concluded": 1}, False)
    second = await take(world, KILLED, replace(TOLD, repeat=2), slip(repeats=2, runs=2))
    assert await world.experiments.run_ids(experiment) == [first.id, second.id]
    await world.books.change_run(
        first.id, lambda run: replace(run, state=RunState.ENDED, outcome=Outcome.SCORED)
    )
    assert await world.experiments.counted(experiment) == ({"scored": 1, "agent_failed": 1}, True)
    other = Imported("task-2", "me", "", 1, Format.CONCLUSION)
    await world.task("task-2")
    await take(world, b"It helps.", other, slip(TOLD.agent_id, other.agent_id, repeats=2, runs=3))
    grown = await world.books.experiments.get("e-1")
    assert (grown.task_ids, grown.expected_runs) == (("task-1", "task-2"), 3)
    assert len(await world.experiments.run_ids(grown)) == 3
    # An import of before that is done again leaves it so.
    assert await take(world, to=slip(repeats=2, runs=2)) == (await world.books.runs.get(first.id)).run
    assert await world.books.experiments.get("e-1") == grown


async def test_another_file_in_the_place_of_a_run_is_refused(world: World) -> None:
    await take(world, to=slip())
    with pytest.raises(FiretrialError) as caught:
        await take(world, KILLED, to=slip())
    assert [fault.field for fault in caught.value.faults] == ["header.repeat"]
    assert len(await world.books.runs.ids()) == 1


async def test_another_plan_is_refused(world: World) -> None:
    await take(world, to=slip())
    with pytest.raises(FiretrialError) as caught:
        await take(world, to=slip(pool="gpu"))
    assert [fault.field for fault in caught.value.faults] == ["slip.experiment_id"]


async def test_every_fault_is_told_at_once(world: World) -> None:
    bad = Imported("../x", "Bad Agent", "a model", 0, Format.FIREBENCH)
    with pytest.raises(FiretrialError) as caught:
        await take(world, told=bad)
    assert [fault.field for fault in caught.value.faults] == [
        "header.task_id",
        "header.agent",
        "header.model",
        "header.repeat",
    ]
    with pytest.raises(FiretrialError) as caught:
        await take(world, told=replace(TOLD, repeat=3), to=slip("nobody@1", runs=0))
    assert [fault.field for fault in caught.value.faults] == [
        "plan.agents[0]",
        "slip.plan.agents",
        "slip.plan.repeats",
        "slip.expected_runs",
    ]
    with pytest.raises(FiretrialError) as caught:
        await take(world, told=replace(TOLD, task_id="task-9"))
    assert caught.value.reason is Reason.NOT_FOUND
    assert await world.books.runs.ids() == await world.books.agents.ids() == []


async def test_two_agents_that_come_to_one_id_are_told_apart(world: World) -> None:
    await take(world)
    data = WHOLE.replace(b"m/1", b"m-1")
    with pytest.raises(FiretrialError) as caught:
        await take(world, data, replace(TOLD, model="m-1"))
    assert [fault.field for fault in caught.value.faults] == ["header.agent"]


async def test_an_agent_from_elsewhere_cannot_be_run(world: World) -> None:
    run = await take(world)
    with pytest.raises(FiretrialError) as caught:
        await world.experiments.submit("", ("task-1",), plan_pb2.Plan(agents=[run.agent_id], repeats=1))
    assert [fault.field for fault in caught.value.faults] == ["plan.agents[0]"]


async def test_a_chunk_that_is_too_large_is_refused(world: World) -> None:
    async def one() -> AsyncIterator[bytes]:
        yield b"x" * (MAX_CHUNK + 1)

    with pytest.raises(FiretrialError) as caught:
        await world.intake.take(TOLD, None, one())
    assert [fault.field for fault in caught.value.faults] == ["chunk"]
    assert spooled(world) == []


async def test_what_a_dead_runner_left_of_an_import_is_removed(world: World) -> None:
    dead = world.presence.lease[:-1] + "x"
    (world.work_dir / "runners" / dead).touch()
    left = world.work_dir / f"import-1.{dead}"
    left.mkdir()
    await world.reaper.sweep()
    assert not left.exists()
