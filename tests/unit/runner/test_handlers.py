"""The runner's handlers, at least once and in any order."""

from __future__ import annotations

import asyncio
import os

import pytest

from firetrial.judge.v1 import events_pb2 as judge_events
from firetrial.parser.v1 import events_pb2 as parser_events
from firetrial.plan.v1 import plan_pb2
from firetrial.runner.v1 import events_pb2, run_pb2
from firetrial_kit import events
from firetrial_kit.bus import Outgoing, Received
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.testing import ManualClock
from firetrial_runner import run as runs
from firetrial_runner.run import Outcome, RunState
from firetrial_runner.sandbox.fake import FakeSandbox, Inside
from firetrial_runner.sandbox.port import SandboxSpec, Termination
from firetrial_runner.wire import run_to_wire
from unit.runner.world import World, until


def finished(world: World) -> list[run_pb2.Run]:
    return [events_pb2.RunFinished.FromString(data).run for data in world.facts("run_finished")]


async def test_a_runner_without_slots_follows_events_and_takes_no_runs(world: World) -> None:
    with_slots, without = world.handlers.consumers("default", 2), world.handlers.consumers("default", 0)
    assert [consumer.name for consumer in with_slots[1:]] == [consumer.name for consumer in without]
    assert with_slots[0].name == "runner-default"


async def test_a_run_from_request_to_conclusion(world: World) -> None:
    (run,) = await world.submit("conclude")
    assert await world.deliver() == ["done"]
    run = await world.run(run.id)
    assert (run.state, run.outcome, run.reason) == (RunState.CONCLUDED, None, "")
    assert run.end is not None
    assert (run.end.termination, run.end.code) == (Termination.EXITED, 0)
    assert run.conclusion is not None
    assert (
        await world.objects.get(run.conclusion.uri, sha256=run.conclusion.sha256) == b"noise lowers accuracy"
    )
    assert run.artifacts is not None
    assert run.usage is not None
    assert (run.usage.steps, run.usage.cost_usd, run.usage.tokens) == (4, None, None)
    assert run.trajectory_chunks == 1
    told = finished(world)
    assert [(one.id, one.outcome) for one in told] == [(run.id, run_pb2.OUTCOME_UNSPECIFIED)]
    assert told[0].conclusion.uri == run.conclusion.uri
    assert len(world.facts("run_requested")) == len(world.facts("run_started")) == 1
    assert list(world.work_dir.glob("r-*")) == []
    (spec,) = world.sandbox.started
    assert spec.run_key == run.id


async def test_what_the_agent_is_given(world: World) -> None:
    seen: dict[str, str] = {}

    async def look(inside: Inside) -> int:
        seen["instruction"] = (inside.workspace / "instruction.txt").read_text()
        seen["model"] = inside.env["FIRETRIAL_MODEL"]
        seen["repeat"] = inside.env["FIRETRIAL_REPEAT"]
        return 0

    world = world.again(FakeSandbox({"look": look}))
    await world.submit("look", model="gpt-x")
    assert await world.deliver() == ["done"]
    assert seen == {"instruction": "instruction of task-1", "model": "gpt-x", "repeat": "1"}


@pytest.mark.parametrize(
    ("program", "seconds", "termination", "told"),
    [
        ("nothing", 0, Termination.EXITED, "exited with 3"),
        ("sleep", 0.3, Termination.TIMED_OUT, "ran for"),
        ("absent", 0, Termination.EXITED, "exited with 127"),
    ],
)
async def test_an_agents_own_failure_is_final(
    world: World, program: str, seconds: float, termination: Termination, told: str
) -> None:
    limits = plan_pb2.Limits()
    limits.wall_time.FromNanoseconds(int(seconds * 1e9))
    (run,) = await world.submit(program, limits=limits)
    assert await world.deliver() == ["done"]
    run = await world.run(run.id)
    assert (run.state, run.outcome) == (RunState.ENDED, Outcome.AGENT_FAILED)
    assert run.end is not None
    assert run.end.termination is termination
    assert told in run.reason
    assert "conclusion.md" in run.reason
    assert len(world.work()) == 1
    assert [one.outcome for one in finished(world)] == [run_pb2.OUTCOME_AGENT_FAILED]


async def test_a_conclusion_on_standard_output(world: World) -> None:
    (run,) = await world.submit("say")
    await world.deliver()
    ref = (await world.run(run.id)).conclusion
    assert ref is not None
    assert await world.objects.get(ref.uri) == b"more neighbours help"


async def test_infrastructure_failure_is_tried_again_up_to_the_limit(world: World) -> None:
    (first,) = await world.submit("vanish", max_attempts=2)
    assert await world.deliver() == ["done", "done"]
    experiment = await world.books.experiments.get(first.experiment_id)
    runs = [record.run for record in await world.experiments.runs(experiment)]
    assert [(run.attempt, run.outcome, run.superseded) for run in runs] == [
        (1, Outcome.INFRA_FAILED, True),
        (2, Outcome.INFRA_FAILED, False),
    ]
    assert [(one.attempt, one.superseded) for one in finished(world)] == [(1, True), (2, False)]
    assert await world.experiments.counted(experiment) == ({"infra_failed": 1}, True)


async def test_a_sandbox_that_cannot_start_is_infrastructure(world: World) -> None:
    class Broken(FakeSandbox):
        async def start(self, spec: object) -> object:  # type: ignore[override]
            raise FiretrialError(Reason.UNAVAILABLE, "no space for a sandbox")

    world = world.again(Broken({}))
    (run,) = await world.submit("conclude", max_attempts=1)
    assert await world.deliver() == ["done"]
    run = await world.run(run.id)
    assert (run.outcome, run.superseded) == (Outcome.INFRA_FAILED, False)
    assert "no space for a sandbox" in run.reason


async def test_redelivery_is_a_no_op(world: World) -> None:
    (run,) = await world.submit("conclude")
    await world.deliver()
    before = await world.run(run.id), list(world.bus.published)
    work = next(out for out in world.bus.published if out.subject.startswith("ft.work."))
    world.bus.redeliver(world.consumer("runner-default"), work)
    assert await world.deliver() == ["done"]
    assert (await world.run(run.id), world.bus.published) == before
    assert len(world.sandbox.started) == 1


@pytest.mark.parametrize("where", ["result stored", "state changed"])
async def test_crash_between_artifact_and_ack(
    world: World, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next runner finishes what was stored, and does not run the agent again."""
    (run,) = await world.submit("conclude")
    update, publish = world.state.update, world.bus.publish

    async def die_at_update(key: str, value: bytes, revision: int) -> int:
        if any(uri.endswith("result.json") for uri in world.objects.held):
            raise asyncio.CancelledError
        return await update(key, value, revision)

    async def die_at_publish(message: Outgoing) -> None:
        if ".run_finished." in message.subject:
            raise asyncio.CancelledError
        await publish(message)

    with monkeypatch.context() as patch:
        if where == "result stored":
            patch.setattr(world.state, "update", die_at_update)
        else:
            patch.setattr(world.bus, "publish", die_at_publish)
        with pytest.raises(asyncio.CancelledError):
            await world.deliver()
    assert finished(world) == []

    survivor = world.again()
    world.clock.advance(40)
    assert await survivor.deliver() == ["done"]
    run = await survivor.run(run.id)
    assert (run.state, run.conclusion is not None) == (RunState.CONCLUDED, True)
    assert [one.id for one in finished(survivor)] == [run.id]
    assert survivor.sandbox.started == []


async def kill(task: asyncio.Task[list[str]]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_a_run_whose_runner_died_is_lost_and_tried_again(world: World) -> None:
    (run,) = await world.submit("sleep")
    task = asyncio.create_task(world.deliver())

    async def running() -> bool:
        return (await world.run(run.id)).state is RunState.RUNNING and bool(world.sandbox.started)

    await until(running)
    work = next(out for out in world.bus.published if out.subject.startswith("ft.work."))
    survivor = world.again()
    survivor.bus.redeliver(survivor.consumer("runner-default"), work)
    assert await asyncio.wait_for(survivor.deliver(), 5) == ["later"], "its lease is good"
    world.clock.advance(31)
    await survivor.reaper.sweep()
    world.clock.advance(10)
    await survivor.reaper.sweep()
    lost = await survivor.run(run.id)
    assert (lost.outcome, lost.superseded) == (Outcome.INFRA_FAILED, True)
    assert [one.superseded for one in finished(survivor)] == [True]
    assert len(survivor.work()) == 2
    # The first one comes back to life: it has lost its lease and says nothing.
    await kill(task)
    assert (await survivor.run(run.id)) == lost


async def test_a_runner_known_to_be_dead_is_not_waited_for(world: World) -> None:
    """Its lease is good for long yet; but nobody holds its lock."""
    (run,) = await world.submit("sleep")
    dead, now = world.presence.lease, world.clock.now()
    await world.books.change_run(run.id, lambda run: runs.claimed(run, dead, now, 1000))
    workspace = world.work_dir / f"{run.id}.{dead}" / "workspace"
    workspace.mkdir(parents=True)
    await world.sandbox.start(SandboxSpec(run.id, dead, ("sleep",), workspace))
    os.close(world.presence._handle)
    survivor = world.again(world.sandbox)
    await survivor.reaper.sweep()
    lost = await survivor.run(run.id)
    assert (lost.outcome, lost.reason) == (Outcome.INFRA_FAILED, "its runner died")
    assert await world.sandbox.leftovers() == []
    assert list(world.work_dir.glob("r-*")) == []
    assert survivor.presence.dead() == []


async def test_garbage_is_dropped(world: World) -> None:
    consumer = world.consumer("runner-default")
    world.bus.redeliver(consumer, Outgoing("ft.work.run.default", b"\xff\xff", "m1"))
    world.bus.redeliver(consumer, Outgoing("ft.work.run.default", b"", "m2"))
    assert await world.deliver() == ["failed", "failed"]
    assert world.bus.published == []


async def test_poison_work_ends_as_infra_failed(world: World) -> None:
    """A task that is not there is not there at the next attempt either."""
    (run,) = await world.submit("conclude")
    del world.objects.held["runs/tasks/task-1/task.json"]
    assert await world.deliver() == ["done"]
    run = await world.run(run.id)
    assert (run.outcome, run.superseded) == (Outcome.INFRA_FAILED, False)
    assert "there is no object" in run.reason
    assert [one.outcome for one in finished(world)] == [run_pb2.OUTCOME_INFRA_FAILED]


async def test_work_that_is_given_up(world: World) -> None:
    """After the last delivery; not while someone is at it."""
    (run,) = await world.submit("sleep")
    work = next(out for out in world.bus.published if out.subject.startswith("ft.work."))
    message = Received(work.subject, work.data, work.headers, 11)
    error = FiretrialError(Reason.INTERNAL, "given up after 10 deliveries")
    task = asyncio.create_task(world.deliver())

    async def running() -> bool:
        return bool(world.sandbox.started)

    await until(running)
    with pytest.raises(FiretrialError) as refused:
        await world.handlers.work_failed(message, error)
    assert refused.value.retryable
    await kill(task)
    for _ in range(2):
        await world.handlers.work_failed(message, error)
    assert (await world.run(run.id)).outcome is Outcome.INFRA_FAILED
    assert len(finished(world)) == 1


async def test_sigterm_drains(world: World) -> None:
    """What can end in time ends; what cannot is given back, its sandbox dead and its lease let go."""
    (run,) = await world.submit("sleep")
    stop = asyncio.Event()
    consuming = asyncio.create_task(world.bus.consume(world.consumer("runner-default"), stop))

    async def running() -> bool:
        return bool(await world.sandbox.leftovers())

    await until(running)
    stop.set()
    await asyncio.sleep(0.05)
    assert not consuming.done(), "it waits for what is in hand"
    consuming.cancel()
    await asyncio.gather(consuming, return_exceptions=True)
    assert await world.sandbox.leftovers() == []
    assert list(world.work_dir.glob("r-*")) == []
    left = await world.run(run.id)
    assert left.lease is not None
    assert left.lease.expires_at <= world.clock.now()
    assert finished(world) == []
    # The next runner sees at once that it is lost, and makes another attempt.
    world.clock.advance(1)
    survivor = world.again(FakeSandbox({"sleep": conclude}))
    assert await survivor.deliver() == ["done", "done"]
    experiment = await survivor.books.experiments.get(run.experiment_id)
    states = [(r.run.attempt, r.run.state) for r in await survivor.experiments.runs(experiment)]
    assert states == [(1, RunState.ENDED), (2, RunState.CONCLUDED)]


async def conclude(inside: Inside) -> int:
    (inside.workspace / "conclusion.txt").write_text("done")
    return 0


async def test_a_store_that_is_away_for_a_moment(world: World) -> None:
    (run,) = await world.submit("conclude")

    async def stumble(inside: Inside) -> int:
        world.objects.fail_next = FiretrialError(Reason.UNAVAILABLE, "away")
        return await conclude(inside)

    again = world.again(FakeSandbox({"conclude": stumble}))
    assert await again.deliver() == ["done"]
    assert (await again.run(run.id)).state is RunState.CONCLUDED


async def test_cancel_while_queued(world: World) -> None:
    (run,) = await world.submit("conclude")
    record = await world.dispatch.cancel(run.id)
    assert (record.run.state, record.run.outcome) == (RunState.ENDED, Outcome.CANCELLED)
    assert [one.outcome for one in finished(world)] == [run_pb2.OUTCOME_CANCELLED]
    assert await world.deliver() == ["done"]
    assert world.sandbox.started == []


async def test_cancel_while_running(world: World) -> None:
    (run,) = await world.submit("sleep")
    task = asyncio.create_task(world.deliver())

    async def running() -> bool:
        return bool(world.sandbox.started)

    await until(running)
    record = await world.dispatch.cancel(run.id)
    assert (record.run.state, record.run.cancel_requested) == (RunState.RUNNING, True)
    assert await asyncio.wait_for(task, 2) == ["done"]
    ended = await world.run(run.id)
    assert (ended.outcome, ended.conclusion) == (Outcome.CANCELLED, None)
    assert await world.dispatch.cancel(run.id) == await world.books.runs.get(run.id)


async def test_judged_and_not_judged(world: World) -> None:
    runs = await world.submit("conclude", repeats=2)
    assert await world.deliver() == ["done", "done"]
    first, second = [await world.run(run.id) for run in runs]
    for payload in (
        judge_events.RunJudged(run=run_to_wire(first)),
        judge_events.RunJudgeFailed(run=run_to_wire(second), reason="no ground truth"),
    ):
        await world.bus.publish(events.fact("judge", payload.run.id, payload, clock=ManualClock()))
    assert await world.deliver("runner-run_judged") == ["done"]
    assert await world.deliver("runner-run_judge_failed") == ["done"]
    first, second = await world.run(first.id), await world.run(second.id)
    assert (first.state, first.outcome) == (RunState.ENDED, Outcome.SCORED)
    assert (second.outcome, second.reason) == (Outcome.JUDGE_FAILED, "no ground truth")
    # Work that comes again after the judge has spoken must not be told as a run without a judgement.
    before = len(world.facts("run_finished"))
    world.bus.published = [out for out in world.bus.published if ".run_finished." not in out.subject]
    for out in [out for out in world.bus.published if out.subject.startswith("ft.work.")]:
        world.bus.redeliver(world.consumer("runner-default"), out)
    await world.deliver()
    assert (before, world.facts("run_finished")) == (2, [])


async def created(world: World, task: str, agents: list[str], repeats: int = 1) -> None:
    plan = plan_pb2.Plan(agents=agents, repeats=repeats)
    slip = plan_pb2.Slip(experiment_id="e-1", expected_runs=2 * len(agents) * repeats, plan=plan)
    payload = parser_events.TaskCreated(task_id=task, slip=slip)
    await world.bus.publish(events.fact("parser", task, payload, clock=world.clock))


async def test_tasks_gather_in_their_experiment(world: World) -> None:
    agent = await world.agent("conclude")
    for task in ("task-a", "task-b"):
        await world.task(task)
        await created(world, task, [agent], repeats=2)
    assert await world.deliver("runner-task_created") == ["done", "done"]
    experiment = await world.books.experiments.get("e-1")
    assert (experiment.task_ids, experiment.expected_runs) == (("task-a", "task-b"), 4)
    assert await world.deliver() == ["done"] * 4
    assert await world.experiments.counted(experiment) == ({"concluded": 4}, False)
    slips = {
        events_pb2.RunFinished.FromString(data).slip.expected_runs for data in world.facts("run_finished")
    }
    assert slips == {4}


async def test_a_task_that_is_only_to_be_kept(world: World) -> None:
    payload = parser_events.TaskCreated(task_id="task-1")
    await world.bus.publish(events.fact("parser", "task-1", payload, clock=world.clock))
    assert await world.deliver("runner-task_created") == ["done"]
    assert await world.books.experiments.ids() == []


async def test_an_unknown_agent_fails_the_experiment(world: World) -> None:
    await world.agent("conclude")
    await created(world, "task-1", ["nobody@0"])
    assert await world.deliver("runner-task_created") == ["failed"]
    (data,) = world.facts("experiment_failed")
    event = events_pb2.ExperimentFailed.FromString(data)
    assert event.experiment_id == "e-1"
    assert "nobody@0" in event.reason
    assert "conclude@" in event.reason, "it tells which agents there are"
    experiment = await world.books.experiments.get("e-1")
    assert experiment.failure == event.reason


async def test_a_run_from_an_outside_scheduler(world: World) -> None:
    agent = await world.agent("conclude")
    run = run_pb2.Run(id="mine-1", task_id=await world.task(), agent_id=agent, repeat=1, attempt=1)
    run.state = run_pb2.RUN_STATE_QUEUED
    payload = events_pb2.RunRequested(run=run)
    await world.bus.publish(events.work("runner", "default", "mine-1", payload, clock=world.clock))
    assert await world.deliver() == ["done"]
    assert (await world.run("mine-1")).state is RunState.CONCLUDED


async def test_a_bad_run_from_outside_goes_back(world: World) -> None:
    run = run_pb2.Run(id="mine-2", task_id="no such/task", repeat=0, attempt=1)
    payload = events_pb2.RunRequested(run=run)
    await world.bus.publish(events.work("runner", "default", "mine-2", payload, clock=world.clock))
    assert await world.deliver() == ["failed"]
    (told,) = finished(world)
    assert (told.id, told.outcome) == ("mine-2", run_pb2.OUTCOME_INFRA_FAILED)
    assert "run.task_id" in told.reason
    assert "run.repeat" in told.reason
    assert await world.books.runs.ids() == []
