"""What a run says of a pool that nobody takes runs of, or makes sealed tests of."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from firetrial.artifact.v1 import artifact_pb2
from firetrial.judge.v1 import events_pb2 as judge_events
from firetrial.plan.v1 import plan_pb2
from firetrial.runner.v1 import events_pb2, run_pb2
from firetrial_kit import events
from firetrial_kit.attendance import Attendant
from firetrial_runner.run import Outcome, Run, RunState, Sealed
from firetrial_runner.unattended import nobody
from unit.runner.world import World


async def come(world: World, name: str, **more: object) -> None:
    """A runner says that it is there."""
    now = world.clock.now()
    me = Attendant(name, "host", "0", "default", 2, now, now)
    await world.books.attendants.create(name, replace(me, **more))  # type: ignore[arg-type]


async def test_a_run_says_that_nobody_is_there_until_somebody_is(world: World) -> None:
    (run,) = await world.submit("conclude")
    await come(world, "front", slots=0)
    await come(world, "leaving", draining=True)
    await come(world, "gone", seen_at=world.clock.now() - timedelta(minutes=1))
    await come(world, "elsewhere", pool="gpu")
    await world.reaper.sweep()
    assert (await world.run(run.id)).waiting_for == nobody("default")
    await come(world, "one")
    await world.reaper.sweep()
    assert (await world.run(run.id)).waiting_for == ""


async def test_what_waits_for_something_else_says_that(world: World) -> None:
    (run,) = await world.submit("conclude")
    await world.books.change_run(run.id, lambda run: replace(run, waiting_for="1 GPU"))
    await world.reaper.sweep()
    assert (await world.run(run.id)).waiting_for == "1 GPU"


async def test_a_runner_that_comes_takes_it(world: World) -> None:
    (run,) = await world.submit("conclude")
    await world.reaper.sweep()
    assert await world.deliver() == ["done"]
    found = await world.run(run.id)
    assert (found.state, found.waiting_for) == (RunState.CONCLUDED, "")


UNTESTED = "a runner: none that makes sealed tests of pool tests is there"


async def to_be_tested(world: World, pool: str = "tests") -> Run:
    """A run that has concluded, and whose test was asked for."""
    (run,) = await world.submit("conclude")
    await world.deliver()
    await ask(world, run.id, pool)
    return run


async def ask(world: World, run_id: str, pool: str, attempt: int = 1) -> None:
    told = judge_events.SealedTestRequested(run_id=run_id, pool=pool, attempt=attempt)
    await world.bus.publish(events.fact("judge", run_id, told, clock=world.clock, attempt=attempt))
    assert await world.deliver("runner-test_requested") == ["done"]


async def test_a_concluded_run_says_that_nobody_tests_it_until_somebody_is_there(world: World) -> None:
    run = await to_be_tested(world)
    await come(world, "takes runs alone", pool="tests", takes=("run",))
    await come(world, "leaving", pool="tests", takes=("run", "test"), draining=True)
    await come(world, "elsewhere", takes=("test",))
    await world.reaper.sweep()
    found = await world.run(run.id)
    assert (found.state, found.waiting_for) == (RunState.CONCLUDED, UNTESTED)
    await come(world, "one", pool="tests", slots=0, takes=("test",))
    await world.reaper.sweep()
    assert (await world.run(run.id)).waiting_for == ""


async def test_a_runner_of_a_version_that_does_not_tell_is_held_to_test(world: World) -> None:
    run = await to_be_tested(world)
    await come(world, "old", pool="tests")
    await world.reaper.sweep()
    assert (await world.run(run.id)).waiting_for == ""


async def test_a_run_that_is_judged_waits_for_nothing(world: World) -> None:
    run = await to_be_tested(world)
    await world.reaper.sweep()
    judged = judge_events.RunJudged(run=run_pb2.Run(id=run.id))
    await world.bus.publish(events.fact("judge", run.id, judged, clock=world.clock))
    await world.deliver("runner-run_judged")
    await ask(world, run.id, "tests", attempt=2)
    await world.reaper.sweep()
    found = await world.run(run.id)
    assert (found.outcome, found.waiting_for) == (Outcome.SCORED, "")


async def test_what_an_earlier_attempt_asked_for_late_does_not_count(world: World) -> None:
    run = await to_be_tested(world)
    await ask(world, run.id, "tests", attempt=3)
    await ask(world, run.id, "other", attempt=2)
    assert (await world.run(run.id)).sealed == Sealed("tests", 3)


async def test_a_test_for_which_runners_lack_something_says_what(world: World) -> None:
    run = await to_be_tested(world, "default")
    await come(world, "one", takes=("test",))
    ref = artifact_pb2.ArtifactRef(uri="sealed/r/files.tar")
    limits = plan_pb2.Limits(gpus=64)
    wanted = events_pb2.TestRequested(
        run_id=run.id, files=ref, command=["x"], results_file="r.json", attempt=1, limits=limits
    )
    await world.bus.publish(events.work("judge", "default", run.id, wanted, clock=world.clock))
    assert await world.deliver("runner-test-default") == ["later"]
    await world.reaper.sweep()
    found = await world.run(run.id)
    assert found.waiting_for == "64 GPUs to be free, for its sealed test"
