"""Work of cancelled runs in a pool that nobody serves is settled by a runner of another; other work stays."""

from __future__ import annotations

import pytest

from firetrial.plan.v1 import plan_pb2
from firetrial.runner.v1 import events_pb2, run_pb2
from firetrial_kit import events
from firetrial_runner import run as runs
from firetrial_runner.run import Outcome
from unit.runner.test_unattended import come
from unit.runner.world import World

OF_GPO = "runner-gpo"


def settled(world: World) -> list[str]:
    return [result for name, _, result in world.bus.settlements if name == OF_GPO]


async def cancelled(world: World, repeats: int = 3) -> None:
    asked = await world.submit("conclude", repeats=repeats, pool="gpo")
    await world.experiments.cancel(asked[0].experiment_id)
    assert {(await world.run(run.id)).outcome for run in asked} == {Outcome.CANCELLED}


async def test_work_of_cancelled_runs_is_taken_away(world: World) -> None:
    await cancelled(world)
    told = len(world.facts("run_finished"))
    await world.reaper.sweep()
    assert settled(world) == ["done"] * 3
    assert len(world.facts("run_finished")) == told
    assert not world.sandbox.started


async def test_a_cancellation_that_was_cut_off_before_it_was_told_is_told(world: World) -> None:
    (run,) = await world.submit("conclude", pool="gpo")
    now = world.clock.now()
    await world.books.change_run(run.id, lambda run: runs.cancelled(run, now))
    assert world.facts("run_finished") == []
    await world.reaper.sweep()
    assert len(world.facts("run_finished")) == 1


@pytest.mark.parametrize("slots", [1, 0])
async def test_a_pool_with_a_runner_is_left_to_it(world: World, slots: int) -> None:
    await cancelled(world)
    await come(world, "one", pool="gpo", slots=slots)
    await world.reaper.sweep()
    assert settled(world) == ([] if slots else ["done"] * 3)


async def test_a_pool_with_runs_that_wait_is_left_alone_until_they_are_over(world: World) -> None:
    waiting = await world.submit("conclude", pool="gpo")
    await cancelled(world)
    await world.reaper.sweep()
    assert settled(world) == []
    await world.experiments.cancel(waiting[0].experiment_id)
    await world.reaper.sweep()
    assert settled(world) == ["done"] * 4


async def test_work_from_outside_that_no_runner_has_seen_stays_and_is_no_failure(world: World) -> None:
    event = events_pb2.RunRequested(run=run_pb2.Run(id="o-1", task_id="t-1", agent_id="a-1"))
    event.slip.plan.CopyFrom(plan_pb2.Plan())
    await world.bus.publish(events.work("runner", "gpo", "o-1", event, clock=world.clock))
    for _ in range(2):
        await cancelled(world, repeats=1)
        await world.reaper.sweep()
    assert settled(world).count("later") >= 1
    assert "failed" not in settled(world)
    assert "o-1" in [one.message.message_id[:3] for one in world.bus._durables[OF_GPO].waiting]
    assert await world.books.runs.find("o-1") is None
    assert not world.bus.dead


async def test_what_is_there_no_more_is_not_looked_for_each_minute(world: World) -> None:
    await cancelled(world)
    for _ in range(2):
        await world.reaper.sweep()
    assert world.reaper._forsaken == {}
