"""The plan's gate: what passes, what waits, what ends before anything starts, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from google.protobuf.message import Message

from firetrial.parser.v1 import events_pb2, proposal_pb2
from firetrial.plan.v1 import plan_pb2
from firetrial_kit import events
from firetrial_kit.errors import FiretrialError
from firetrial_runner.run import Outcome, RunState
from firetrial_runner.sandbox.port import Termination
from unit.runner.world import World

STANDARD, AGGRESSIVE = plan_pb2.Gate.MODE_STANDARD, plan_pb2.Gate.MODE_AGGRESSIVE
LOW, HIGH = proposal_pb2.Assessment.BUCKET_LOW, proposal_pb2.Assessment.BUCKET_HIGH


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


async def mark(world: World, id_: str, agent: str = "", task: str = "") -> None:
    """As the parser marks a proposal that was submitted."""
    told = {"id": id_, "agent_id": agent, "task_id": task}
    await world.objects.put("runs", f"proposals/{id_}.json", json.dumps(told).encode(), "application/json")


async def tell(world: World, fact: str, payload: Message, attempt: int = 1) -> str:
    """Tell the runner a fact of the parser; how it was settled."""
    consumer = world.consumer(f"runner-{fact}")
    await world.bus.publish(events.fact("parser", "q-1", payload, clock=world.clock, attempt=attempt))
    return (await world.bus.deliver(consumer))[-1]


async def assessed(world: World, bucket: int = LOW, confidence: int = 4, mode: int = STANDARD) -> str:
    event = events_pb2.ProposalAssessed(proposal_id="q-1")
    event.assessments.add(mode=mode, bucket=bucket, confidence=confidence, rationale="No baseline.")
    return await tell(world, "proposal_assessed", event)


def gated(agent: str, task: str = "", mode: int = STANDARD, min_confidence: int = 0) -> plan_pb2.Gate:
    gate = plan_pb2.Gate(mode=mode, min_confidence=min_confidence)  # type: ignore[arg-type]
    gate.proposals.add(agent_id=agent, task_id=task, proposal_id="q-1")
    return gate


async def submitted(world: World, mode: int = STANDARD, min_confidence: int = 0) -> str:
    """A gated run that was asked for; its id."""
    await mark(world, "q-1")
    gate = gated(await world.agent("conclude"), mode=mode, min_confidence=min_confidence)
    (run,) = await world.submit("conclude", gate=gate)
    return run.id


async def test_a_proposal_judged_high_lets_its_run_go(world: World) -> None:
    run_id = await submitted(world)
    assert await assessed(world, HIGH) == "done"
    assert await world.deliver() == ["done"]
    assert (await world.run(run_id)).state is RunState.CONCLUDED


async def test_one_judged_low_ends_its_run_before_anything_is_started(world: World) -> None:
    run_id = await submitted(world)
    await assessed(world)
    assert await world.deliver() == ["done"]
    run = await world.run(run_id)
    assert (run.state, run.outcome, run.superseded) == (RunState.ENDED, Outcome.AGENT_FAILED, False)
    assert run.reason == (
        "proposal judged low: No baseline. (standard mode, confidence 4 of 5, proposal q-1)"
    )
    assert run.end is not None
    assert run.end.termination is Termination.GATE
    assert (run.started_at, run.usage, run.trajectory_chunks) == (None, None, 0)
    assert world.sandbox.started == []
    (told,) = world.facts("run_finished")
    assert b"proposal judged low" in told
    assert world.facts("run_started") == []


async def test_the_end_is_told_once_however_often_the_work_comes(world: World) -> None:
    run_id = await submitted(world)
    await assessed(world)
    for _ in range(3):
        await world.dispatch.take(await world.books.runs.get(run_id))
    assert len(world.facts("run_finished")) == 1


async def test_a_run_waits_for_the_assessment_and_says_so(world: World) -> None:
    run_id = await submitted(world)
    assert await world.deliver() == ["later"]
    run = await world.run(run_id)
    assert (run.state, run.waiting_for) == (RunState.QUEUED, "its proposal q-1 to be assessed")
    await assessed(world, HIGH)
    await world.dispatch.take(await world.books.runs.get(run_id))
    run = await world.run(run_id)
    assert (run.state, run.waiting_for) == (RunState.CONCLUDED, "")


@pytest.mark.parametrize(("min_confidence", "stopped"), [(0, True), (4, True), (5, False)])
async def test_a_low_verdict_stops_from_the_confidence_on(
    world: World, min_confidence: int, stopped: bool
) -> None:
    run_id = await submitted(world, min_confidence=min_confidence)
    await assessed(world, confidence=4)
    await world.deliver()
    assert ((await world.run(run_id)).outcome is Outcome.AGENT_FAILED) == stopped


async def test_the_mode_of_the_plan_decides(world: World) -> None:
    run_id = await submitted(world, mode=AGGRESSIVE)
    event = events_pb2.ProposalAssessed(proposal_id="q-1")
    event.assessments.add(mode=STANDARD, bucket=HIGH, confidence=5)
    event.assessments.add(mode=AGGRESSIVE, bucket=LOW, confidence=1, rationale="No controls.")
    await tell(world, "proposal_assessed", event)
    await world.deliver()
    assert "aggressive mode, confidence 1" in (await world.run(run_id)).reason


async def test_that_nobody_could_assess_it_is_not_the_agents_failure(world: World) -> None:
    run_id = await submitted(world)
    event = events_pb2.ProposalAssessFailed(proposal_id="q-1", reason="the endpoint is down", attempt=1)
    await tell(world, "proposal_assess_failed", event)
    await world.deliver()
    run = await world.run(run_id)
    assert (run.outcome, run.superseded) == (Outcome.INFRA_FAILED, False)
    assert "could not be assessed: the endpoint is down; submit it again" in run.reason
    assert world.sandbox.started == []


async def test_facts_in_any_order_come_to_the_same(world: World) -> None:
    failed = events_pb2.ProposalAssessFailed(proposal_id="q-1", reason="down", attempt=1)
    again = events_pb2.ProposalSubmitted(proposal_id="q-1", attempt=2)
    await tell(world, "proposal_submitted", again, attempt=2)
    await tell(world, "proposal_assess_failed", failed)
    assert (await world.books.proposals.get("q-1")).failure == ""  # attempt 2 is under way
    await assessed(world, HIGH)
    later = events_pb2.ProposalAssessFailed(proposal_id="q-1", reason="down", attempt=3)
    await tell(world, "proposal_assess_failed", later, attempt=3)
    known = await world.books.proposals.get("q-1")
    assert (known.failure, known.opinions["standard"].high) == ("", True)
    assert (
        await tell(world, "proposal_submitted", events_pb2.ProposalSubmitted(proposal_id="q 1"), 9)
        == "failed"
    )


async def faults(world: World, gate: plan_pb2.Gate) -> list[tuple[str, str]]:
    with pytest.raises(FiretrialError) as caught:
        await world.submit("conclude", gate=gate)
    return [(fault.value, fault.cure) for fault in caught.value.faults]


async def test_a_plan_without_the_proposal_is_refused_with_the_cure(world: World) -> None:
    agent = await world.agent("conclude")
    ((_, cure),) = await faults(world, plan_pb2.Gate())
    assert f"firetrial proposals submit FILE --agent {agent} --task task-1" in cure
    ((value, cure),) = await faults(world, gated(agent))  # named, and never submitted
    assert (value, "proposals list" in cure) == ("q-1", True)
    assert await world.books.experiments.ids() == []


async def test_an_agent_may_not_pass_with_anothers_proposal(world: World) -> None:
    agent = await world.agent("conclude")
    await mark(world, "q-1", agent="other@1", task="task-2")
    told = await faults(world, gated(agent))
    assert [cure.split(",")[0] for _, cure in told] == [
        "is a proposal of other@1",
        "is a proposal for task-2",
    ]
    wrong = plan_pb2.Gate(min_confidence=9)
    wrong.proposals.add(agent_id="nobody@1", proposal_id="../q-1")
    assert {value for value, _ in await faults(world, wrong)} == {"9", "nobody@1", "1 proposals"}


async def test_the_probe_needs_no_proposal(world: World) -> None:
    agent = await world.agent("conclude")
    (run,) = await world.submit("conclude", gate=plan_pb2.Gate(), probe=agent)
    await world.deliver()
    assert (await world.run(run.id)).state is RunState.CONCLUDED


async def test_a_task_that_comes_by_event_fails_its_experiment_with_the_reason(world: World) -> None:
    plan = plan_pb2.Plan(agents=[await world.agent("conclude")], repeats=1, gate=plan_pb2.Gate())
    slip = plan_pb2.Slip(experiment_id="e-1", expected_runs=1, plan=plan)
    event = events_pb2.TaskCreated(task_id=await world.task(), slip=slip)
    await world.bus.publish(events.fact("parser", "task-1", event, clock=world.clock))
    assert await world.deliver("runner-task_created") == ["failed"]
    (told,) = world.facts("experiment_failed")
    assert b"must name a proposal" in told


async def test_turns_are_given_back_by_runs_that_did_not_pass(world: World) -> None:
    await mark(world, "q-1")
    gate = gated(await world.agent("conclude"))
    runs = await world.submit("conclude", gate=gate, repeats=3, at_once=1)
    await assessed(world)
    assert await world.deliver() == ["done"] * 3
    outcomes = [(await world.run(run.id)).outcome for run in runs]
    assert outcomes == [Outcome.AGENT_FAILED] * 3
