"""The RPCs, called as the server calls them."""

from __future__ import annotations

import asyncio
import io
import json
import tarfile

import pytest

from firetrial.plan.v1 import plan_pb2
from firetrial.runner.v1 import run_pb2
from firetrial.runner.v1 import runner_service_pb2 as pb
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_runner import run as runs
from firetrial_runner.sandbox.fake import FakeSandbox, Inside
from unit.runner.world import World, until


async def refused(call: object) -> FiretrialError:
    with pytest.raises(FiretrialError) as caught:
        await call  # type: ignore[misc]
    return caught.value


async def test_agents(world: World) -> None:
    request = pb.SubmitAgentRequest(
        name="one",
        description="first",
        command=["run", "x"],
        files=[pb.AgentFile(path="a", content=b"A")],
        program="codex@0.171.0",
    )
    agent = (await world.servicer.SubmitAgent(request, None)).agent
    again = (await world.servicer.SubmitAgent(request, None)).agent
    assert agent == again
    assert (agent.name, list(agent.command), agent.program) == ("one", ["run", "x"], "codex@0.171.0")
    assert (await world.servicer.GetAgent(pb.GetAgentRequest(id=agent.id), None)).agent == agent
    listed = await world.servicer.ListAgents(pb.ListAgentsRequest(), None)
    assert list(listed.agents) == [agent]
    with tarfile.open(fileobj=io.BytesIO(await world.objects.get(agent.bundle.uri))) as tar:
        assert tar.getnames() == ["a"]


async def test_bad_agents(world: World) -> None:
    error = await refused(world.servicer.SubmitAgent(pb.SubmitAgentRequest(name="No"), None))
    assert (error.reason, [fault.field for fault in error.faults]) == (Reason.INVALID, ["name", "command"])
    error = await refused(world.servicer.GetAgent(pb.GetAgentRequest(id="no@1"), None))
    assert error.reason is Reason.NOT_FOUND


async def submit(world: World, program: str = "conclude", **fields: object) -> run_pb2.Experiment:
    plan = plan_pb2.Plan(agents=[await world.agent(program)], repeats=2)
    tasks = [await world.task("task-a"), await world.task("task-b")]
    request = pb.SubmitExperimentRequest(task_ids=tasks, plan=plan)
    request.MergeFrom(pb.SubmitExperimentRequest(**fields))  # type: ignore[arg-type]
    return (await world.servicer.SubmitExperiment(request, None)).experiment


async def test_an_experiment(world: World) -> None:
    experiment = await submit(world)
    assert (experiment.expected_runs, dict(experiment.counts), experiment.ended) == (4, {"queued": 4}, False)
    assert await submit(world) == experiment, "the same again is the same"
    assert len(world.work()) == 4
    assert await world.deliver() == ["done"] * 4
    got = (await world.servicer.GetExperiment(pb.GetExperimentRequest(id=experiment.id), None)).experiment
    assert dict(got.counts) == {"concluded": 4}
    listed = await world.servicer.ListExperiments(pb.ListExperimentsRequest(), None)
    assert list(listed.experiments) == [got]


async def test_a_request_id_names_one_experiment(world: World) -> None:
    first = await submit(world, request_id="mine")
    assert await submit(world, request_id="mine") == first
    error = await refused(submit(world, request_id="mine", plan=plan_pb2.Plan(model="other")))
    assert error.faults[0].field == "request_id"


async def test_bad_experiments(world: World) -> None:
    plan = plan_pb2.Plan(agents=["x@1"], repeats=0)
    request = pb.SubmitExperimentRequest(task_ids=["a/b"], plan=plan)
    error = await refused(world.servicer.SubmitExperiment(request, None))
    assert error.reason is Reason.INVALID
    assert [fault.field for fault in error.faults] == ["task_ids[0]", "plan.agents[0]", "plan.repeats"]
    plan = plan_pb2.Plan(agents=[await world.agent("conclude")], repeats=1)
    request = pb.SubmitExperimentRequest(task_ids=[await world.task(), "task-9"], plan=plan)
    error = await refused(world.servicer.SubmitExperiment(request, None))
    assert (error.reason, error.faults[0].field) == (Reason.NOT_FOUND, "task_ids[1]")
    assert await world.books.experiments.ids() == []
    for call in (
        world.servicer.GetExperiment(pb.GetExperimentRequest(id="e-9"), None),
        world.servicer.CancelExperiment(pb.CancelExperimentRequest(id="e-9"), None),
        world.servicer.GetRun(pb.GetRunRequest(id="r-9"), None),
        world.servicer.CancelRun(pb.CancelRunRequest(id="r-9"), None),
        world.servicer.ListRuns(pb.ListRunsRequest(experiment_id="e-9"), None),
    ):
        assert (await refused(call)).reason is Reason.NOT_FOUND


async def test_runs_are_listed_in_order_page_by_page(world: World) -> None:
    experiment = await submit(world)
    request = pb.ListRunsRequest(experiment_id=experiment.id, page_size=3)
    first = await world.servicer.ListRuns(request, None)
    request.page_token = first.next_page_token
    second = await world.servicer.ListRuns(request, None)
    listed = [*first.runs, *second.runs]
    assert [(run.task_id, run.repeat) for run in listed] == [
        ("task-a", 1),
        ("task-a", 2),
        ("task-b", 1),
        ("task-b", 2),
    ]
    assert second.next_page_token == ""
    everything = await world.servicer.ListRuns(pb.ListRunsRequest(), None)
    assert len(everything.runs) == 4
    got = (await world.servicer.GetRun(pb.GetRunRequest(id=listed[0].id), None)).run
    assert got == listed[0]


async def test_further_attempts_follow_their_first(world: World) -> None:
    experiment = await submit(world, "vanish")
    await world.deliver()
    listed = await world.servicer.ListRuns(pb.ListRunsRequest(experiment_id=experiment.id), None)
    assert [(run.task_id, run.repeat, run.attempt) for run in listed.runs][:4] == [
        ("task-a", 1, 1),
        ("task-a", 1, 2),
        ("task-a", 1, 3),
        ("task-a", 2, 1),
    ]
    request = pb.GetExperimentRequest(id=experiment.id)
    got = (await world.servicer.GetExperiment(request, None)).experiment
    assert (dict(got.counts), got.ended) == ({"infra_failed": 4}, True)


async def test_watching_ends_with_the_last_run(world: World) -> None:
    experiment = await submit(world, "nothing")
    seen: dict[str, list[int]] = {}

    async def watch() -> None:
        async for change in world.servicer.WatchRuns(pb.WatchRunsRequest(experiment_id=experiment.id), None):
            seen.setdefault(change.run.id, []).append(change.run.state)

    watching = asyncio.create_task(watch())

    async def all_seen() -> bool:
        return len(seen) == 4

    await until(all_seen)
    await world.deliver()
    await asyncio.wait_for(watching, 5)
    assert {states[-1] for states in seen.values()} == {run_pb2.RUN_STATE_ENDED}
    assert all(states == sorted(states) for states in seen.values())
    await asyncio.wait_for(watch(), 5)


async def test_watching_what_never_came_to_runs(world: World) -> None:
    plan = plan_pb2.Plan(agents=["x@1"], repeats=1)
    await world.experiments.fail(
        plan_pb2.Slip(experiment_id="e-1", expected_runs=1, plan=plan), "no agent x@1"
    )

    async def watch(experiment: str) -> None:
        async for _ in world.servicer.WatchRuns(pb.WatchRunsRequest(experiment_id=experiment), None):
            pass

    error = await refused(asyncio.wait_for(watch("e-1"), 5))
    assert error.reason is Reason.PRECONDITION
    assert "no agent x@1" in error.message
    assert (await refused(watch("e-2"))).reason is Reason.NOT_FOUND


async def test_cancelling_an_experiment(world: World) -> None:
    experiment = await submit(world)
    request = pb.CancelExperimentRequest(id=experiment.id)
    cancelled = (await world.servicer.CancelExperiment(request, None)).experiment
    assert (dict(cancelled.counts), cancelled.ended) == ({"cancelled": 4}, True)
    assert cancelled.cancel_requested
    assert await world.deliver() == ["done"] * 4
    assert world.sandbox.started == []
    # A task that comes late to a cancelled experiment is cancelled too.
    slip = plan_pb2.Slip(experiment_id=experiment.id, expected_runs=6, plan=experiment.plan)
    await world.experiments.extend(await world.task("task-c"), slip)
    kept = await world.books.experiments.get(experiment.id)
    assert (await world.experiments.counted(kept))[0] == {"cancelled": 6}


async def steps(world: World, run_id: str, *, follow: bool = False, from_step: int = 0) -> list[int]:
    request = pb.StreamTrajectoryRequest(run_id=run_id, follow=follow, from_step=from_step)
    pieces = [piece.lines async for piece in world.servicer.StreamTrajectory(request, None)]
    assert all(piece.endswith(b"\n") for piece in pieces)
    return [json.loads(line)["step"] for piece in pieces for line in piece.splitlines()]


async def test_trajectories_and_files(world: World) -> None:
    (run,) = await world.submit("conclude")
    assert await steps(world, run.id) == []
    await world.deliver()
    assert await steps(world, run.id) == [1, 2, 3, 4]
    assert await steps(world, run.id, follow=True, from_step=3) == [3, 4]
    assert await steps(world, run.id, follow=True, from_step=9) == []

    async def content(file: pb.RunFile.ValueType) -> bytes:
        request = pb.GetRunFileRequest(run_id=run.id, file=file)
        return b"".join([piece.chunk async for piece in world.servicer.GetRunFile(request, None)])

    assert await content(pb.RUN_FILE_CONCLUSION) == b"noise lowers accuracy"
    with tarfile.open(fileobj=io.BytesIO(await content(pb.RUN_FILE_ARTIFACTS))) as tar:
        assert tar.getnames() == ["conclusion.md", "table.csv"]
    assert (await refused(content(pb.RUN_FILE_UNSPECIFIED))).reason is Reason.INVALID
    assert (await refused(steps(world, run.id, from_step=-1))).reason is Reason.INVALID
    assert (await refused(steps(world, "r-9"))).reason is Reason.NOT_FOUND


async def test_a_file_that_the_run_did_not_leave(world: World) -> None:
    (run,) = await world.submit("nothing")
    await world.deliver()
    request = pb.GetRunFileRequest(run_id=run.id, file=pb.RUN_FILE_CONCLUSION)
    error = await refused(anext(world.servicer.GetRunFile(request, None)))
    assert error.reason is Reason.NOT_FOUND
    assert "no conclusion" in error.message


async def test_following_a_run_from_before_its_start_to_its_end(world: World) -> None:
    async def slowly(inside: Inside) -> int:
        await inside.write(b"first\n")
        await inside.sleep(0.3)
        await inside.write(b"second\n")
        return 0

    world = world.again(FakeSandbox({"slowly": slowly}))
    (run,) = await world.submit("slowly")
    following = asyncio.create_task(steps(world, run.id, follow=True))
    await asyncio.sleep(0.05)
    await world.deliver()
    assert await asyncio.wait_for(following, 5) == [1, 2, 3, 4, 5]


async def test_the_judges_first_word_counts(world: World) -> None:
    (run,) = await world.submit("conclude")
    await world.deliver()
    now = world.clock.now()
    scored = await world.books.change_run(run.id, runs.judged)
    later = await world.books.change_run(run.id, lambda current: runs.not_judged(current, now, "late"))
    assert later == scored
