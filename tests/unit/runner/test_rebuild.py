"""The runner's state as it follows from the copies that were kept of it, and from what lies in the store."""

from __future__ import annotations

from dataclasses import replace

from firetrial.runner.v1 import events_pb2
from firetrial_kit.keeping import Installation, restore
from firetrial_kit.testing import InMemoryBus, InMemoryState
from firetrial_runner.rebuild import STEWARD, belongings
from firetrial_runner.records import Books
from firetrial_runner.run import Outcome, Run, RunState, judged
from unit.runner.world import World


async def lost(world: World) -> Installation:
    """Every lasting record is copied, and the state and the broker are new."""
    for key in sorted(world.state._entries):
        entry = await world.state.get(key)
        if entry and STEWARD.keeps(key, entry.value):
            await world.objects.put("runs", STEWARD.place(key), entry.value, "application/json")
    return Installation(InMemoryState(), world.objects, InMemoryBus(), world.clock)


async def runs(to: Installation, of: list[Run]) -> list[Run]:
    return [record.run for record in await Books(to.state).find_runs(run.id for run in of)]


async def test_ended_runs_stay_and_what_had_not_ended_goes_on(world: World) -> None:
    asked = await world.submit("conclude", repeats=3)
    await world.deliver()
    await world.books.change_run(asked[0].id, judged)
    before = [await world.run(run.id) for run in asked]
    assert [run.state for run in before] == [RunState.ENDED, RunState.CONCLUDED, RunState.CONCLUDED]
    to = await lost(world)
    # Of the last, nothing came to the store.
    await world.objects.delete(f"runs/runs/{asked[2].id}/result.json")
    done = await restore(STEWARD, to)
    after = await runs(to, asked)
    assert after[0] == before[0]
    assert (after[1].state, after[1].conclusion) == (RunState.CONCLUDED, before[1].conclusion)
    assert after[2].state is RunState.QUEUED
    assert isinstance(to.bus, InMemoryBus)
    told = [out.subject for out in to.bus.published]
    assert told == [
        f"ft.evt.runner.v1.run_finished.{asked[1].id}",
        f"ft.evt.runner.v1.run_requested.{asked[2].id}",
        "ft.work.run.default",
    ]
    slip = events_pb2.RunFinished.FromString(to.bus.published[0].data).slip
    assert (slip.experiment_id, slip.expected_runs, slip.plan.repeats) == (asked[0].experiment_id, 3, 3)
    assert len(done.remarks) == 1
    assert "2 runs had not ended" in done.remarks[0]
    assert await runs(to, asked) == after
    await restore(STEWARD, to)
    assert await runs(to, asked) == after


async def test_what_was_cancelled_stays_so(world: World) -> None:
    asked = await world.submit("conclude", repeats=2)
    id_ = asked[0].experiment_id
    await world.books.experiments.change(id_, lambda one: replace(one, cancel_requested=True))
    to = await lost(world)
    assert (await restore(STEWARD, to)).remarks == ()
    assert {run.outcome for run in await runs(to, asked)} == {Outcome.CANCELLED}
    assert isinstance(to.bus, InMemoryBus)
    assert to.bus.published == []


async def test_a_lost_attempt_is_followed_by_the_next(world: World) -> None:
    (first,) = await world.submit("vanish", max_attempts=2)
    await world.deliver()
    ended = await world.run(first.id)
    assert ended.superseded
    to = await lost(world)
    await restore(STEWARD, to)
    second = first.slot.run_id(2)
    found = await runs(to, [first])
    assert found == [ended]
    assert await Books(to.state).runs.find(second) is not None


async def test_what_is_an_experiments_alone(world: World) -> None:
    asked = await world.submit("conclude", repeats=2)
    to = Installation(world.state, world.objects, world.bus, world.clock)
    id_ = asked[0].experiment_id
    assert "cancel it first" in (await belongings(to, id_, ())).running
    await world.deliver()
    for run in asked:
        await world.books.change_run(run.id, judged)
    found = await belongings(to, id_, ())
    assert (found.running, found.protected) == ("", "")
    assert {*found.runs} == {run.id for run in asked}
    assert {uri.split("/")[2] for uri in found.objects} == {*found.runs}
    assert f"experiment.{id_}" == found.records[-1]
    shared = {"runs/tasks/task-1/task.json", f"runs/agents/{asked[0].agent_id}/bundle.tar"}
    assert {uri for uri, _ in found.others} == shared
    assert not (await belongings(to, "e-none", ())).records
