"""The judge's consumer on the kit's fakes: what is announced, kept and read, and what failures do."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from firetrial.judge.v1 import events_pb2, judge_service_pb2, judgement_pb2
from firetrial.plan.v1 import plan_pb2
from firetrial.runner.v1 import run_pb2
from firetrial_judge.offline import load
from firetrial_kit import events
from firetrial_kit.bus import Outgoing
from firetrial_kit.errors import FiretrialError, Reason
from unit.judge.world import CONCLUSION, TRUTH, World


def judged(world: World) -> list[events_pb2.RunJudged]:
    return world.told("run_judged", events_pb2.RunJudged)


def not_judged(world: World) -> list[events_pb2.RunJudgeFailed]:
    return world.told("run_judge_failed", events_pb2.RunJudgeFailed)


async def test_a_finished_run_is_judged_kept_and_announced() -> None:
    world = World()
    await world.task()
    await world.finish(await world.run())
    assert await world.deliver() == ["done"]
    (event,) = judged(world)
    assert (event.run.id, event.slip.experiment_id) == ("r-1", "e-1")
    assert (event.scores.precision, event.scores.recall, event.scores.f1) == (0.5, 0.5, 0.5)
    assert event.judgement.uri == f"results/judgements/{event.judgement_id}.json"
    given = await world.servicer.GetJudgement(judge_service_pb2.GetJudgementRequest(run_id="r-1"), None)
    kept = given.judgement
    assert kept.id == event.judgement_id
    assert kept.scores == event.scores
    assert [(c.id, c.verdict) for c in kept.agent_claims] == [
        ("a1", judgement_pb2.VERDICT_ENTAILED),
        ("a2", judgement_pb2.VERDICT_NEUTRAL),
    ]
    assert [c.id for c in kept.truth_claims] == ["t1", "t2"]
    assert kept.agent_claims[0].evidence == "Accuracy falls as label noise increases."
    assert CONCLUSION[kept.agent_claims[1].start : kept.agent_claims[1].end].startswith("Training")
    assert (kept.usage.calls, kept.usage.prompt_tokens) == (4, 60)
    assert not kept.usage.HasField("cost_usd")
    assert kept.judged_at.ToDatetime().year == 2026


@pytest.mark.parametrize(
    "outcome", [run_pb2.OUTCOME_AGENT_FAILED, run_pb2.OUTCOME_INFRA_FAILED, run_pb2.OUTCOME_CANCELLED]
)
async def test_a_run_whose_outcome_is_settled_is_left_alone(outcome: run_pb2.Outcome.ValueType) -> None:
    world = World()
    run = await world.run()
    run.outcome = outcome
    await world.finish(run)
    assert await world.deliver() == ["done"]
    assert len(world.bus.published) == 1
    assert world.objects.puts == 0


async def test_redelivery_is_a_no_op_that_announces_again() -> None:
    world = World()
    await world.task()
    await world.finish(await world.run())
    await world.deliver()
    published, puts, asked = len(world.bus.published), world.objects.puts, len(world.judge.rulings)
    world.bus.redeliver(world.consumer, world.bus.published[0])
    assert await world.deliver() == ["done"]
    assert (len(world.bus.published), world.objects.puts) == (published, puts)
    assert len(world.judge.rulings) == asked


async def test_a_crash_between_artifact_and_ack_judges_once_and_still_announces() -> None:
    world = World()
    await world.task()
    await world.finish(await world.run())
    message = world.bus.published[0]
    world.bus.fail_next = FiretrialError(Reason.UNAVAILABLE, "the broker is gone")
    assert await world.deliver() == ["later"]
    assert judged(world) == []
    asked = len(world.judge.rulings)
    (key,) = await world.everything.keys("results", "judgements/")
    before = world.everything.held[f"results/{key}"]
    world.clock.advance(60)
    world.start()
    world.bus.redeliver(world.consumer, message)
    assert await world.deliver() == ["done"]
    (event,) = judged(world)
    assert event.judgement.uri == f"results/{key}"
    assert world.everything.held[f"results/{key}"] == before
    assert len(world.judge.rulings) == asked


async def test_a_judgement_that_another_process_put_there_too_is_found() -> None:
    world = World()
    await world.task()
    await world.finish(await world.run())
    await world.deliver()
    (event,) = judged(world)
    others = await world.archive.judgement((await world.judgements.get(event.judgement_id)).ref)
    others.judged_at.FromSeconds(1)
    ref = await world.archive.put(others)
    world.bus.redeliver(world.consumer, world.bus.published[0])
    assert await world.deliver() == ["done"]
    assert (await world.judgements.get(event.judgement_id)).ref == ref


async def test_a_conclusion_that_is_said_to_lie_among_the_truths_is_not_read() -> None:
    world = World()
    await world.task()
    run = await world.run()
    truth = (await world.archive.task(run.task_id)).truth
    run.conclusion.CopyFrom(truth)
    await world.finish(run)
    assert await world.deliver() == ["failed"]
    assert judged(world) == []
    (told,) = not_judged(world)
    assert "must be an object of the bucket runs" in told.reason


async def test_a_crash_before_the_artifact_leaves_nothing_half_done() -> None:
    world = World()
    await world.task()
    await world.finish(await world.run())
    world.judge.error = FiretrialError(Reason.UNAVAILABLE, "the model is gone", retry_after=5)
    assert await world.deliver() == ["later"]
    assert await world.everything.keys("results", "judgements/") == []
    assert await world.judgements.ids() == []
    assert judged(world) == []
    assert not_judged(world) == []


async def no_task(world: World) -> run_pb2.Run:
    return await world.run()


async def no_truth(world: World) -> run_pb2.Run:
    await world.task(truth=None)
    return await world.run()


async def empty_truth(world: World) -> run_pb2.Run:
    await world.task(truth="# Files\n- see results.csv\n")
    return await world.run()


async def no_conclusion(world: World) -> run_pb2.Run:
    await world.task()
    run = await world.run()
    run.ClearField("conclusion")
    return run


async def changed_conclusion(world: World) -> run_pb2.Run:
    await world.task()
    run = await world.run()
    run.conclusion.sha256 = "0" * 64
    return run


async def torn_task(world: World) -> run_pb2.Run:
    await world.task()
    await world.everything.put("runs", "tasks/noise-1/task.json", b'{"id": ', "application/json")
    return await world.run()


async def mute_judge(world: World) -> run_pb2.Run:
    await world.task()
    world.judge.mute = True
    return await world.run()


@pytest.mark.parametrize(
    ("prepare", "reason"),
    [
        (no_task, "there is no object 'runs/tasks/noise-1/task.json'"),
        (no_truth, "no ground truth"),
        (empty_truth, "holds no finding"),
        (no_conclusion, "left no conclusion"),
        (changed_conclusion, "sha256"),
        (torn_task, "no firetrial.parser.v1.Task"),
        (mute_judge, "no usable verdict"),
    ],
)
async def test_a_poison_message_ends_in_run_judge_failed(
    prepare: Callable[[World], Awaitable[run_pb2.Run]], reason: str
) -> None:
    world = World()
    run = await prepare(world)
    await world.finish(run)
    assert await world.deliver() == ["failed"]
    (event,) = not_judged(world)
    assert (event.run.id, event.slip.expected_runs) == ("r-1", 3)
    assert reason in event.reason
    assert judged(world) == []
    record = await world.runs.get("r-1")
    assert record.reason == event.reason
    with pytest.raises(FiretrialError, match="was not judged") as caught:
        await world.servicer.GetJudgement(judge_service_pb2.GetJudgementRequest(run_id="r-1"), None)
    assert caught.value.reason is Reason.PRECONDITION
    world.bus.redeliver(world.consumer, world.bus.published[0])
    assert await world.deliver() == ["failed"]
    assert len(not_judged(world)) == 1


async def test_the_ground_truth_is_in_no_event() -> None:
    world = World()
    await world.task(truth="The hidden optimum of the secret parameter increases accuracy.")
    await world.finish(await world.run())
    await world.deliver()
    assert judged(world)
    assert not any(b"hidden optimum" in message.data for message in world.bus.published)


@pytest.mark.parametrize("data", [b"\xff\xff\xff", b""])
async def test_bytes_that_name_no_run_are_dropped(data: bytes) -> None:
    world = World()
    subject = events.subject("runner", "run_finished", "r-1")
    await world.bus.publish(Outgoing(subject, data, "m-1"))
    assert await world.deliver() == ["failed"]
    assert len(world.bus.published) == 1


async def test_a_failure_that_cannot_be_announced_comes_back() -> None:
    world = World()
    await world.finish(await world.run())
    world.bus.fail_next = FiretrialError(Reason.UNAVAILABLE, "the broker is gone")
    assert await world.deliver() == ["later"]
    world.bus.redeliver(world.consumer, world.bus.published[0])
    assert await world.deliver() == ["failed"]
    assert len(not_judged(world)) == 1


async def test_draining_ends_what_is_in_hand_and_cancelling_gives_it_back() -> None:
    world = World()
    await world.task()
    going, gate = asyncio.Event(), asyncio.Event()
    ruled = world.judge.rule

    async def slowly(*arguments: object) -> object:
        going.set()
        await gate.wait()
        return await ruled(*arguments)  # type: ignore[arg-type]

    world.judge.rule = slowly  # type: ignore[method-assign,assignment]
    await world.finish(await world.run())
    stop = asyncio.Event()
    first = asyncio.create_task(world.bus.consume(world.consumer, stop))
    await going.wait()
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    assert judged(world) == []
    going.clear()
    second = asyncio.create_task(world.bus.consume(world.consumer, stop))
    await going.wait()
    stop.set()
    await asyncio.sleep(0.02)
    assert not second.done()
    gate.set()
    await second
    assert len(judged(world)) == 1


async def test_a_ground_truth_is_extracted_once_for_all_runs() -> None:
    world = World()
    await world.task()
    for number in range(3):
        await world.finish(await world.run(f"r-{number}", f"Accuracy rises by {number} points with k."))
    assert await world.deliver() == ["done"] * 3
    assert world.judge.extractions.count(TRUTH) == 1
    assert len(judged(world)) == 3


async def test_a_plan_that_asks_for_a_model_fails_where_there_is_none() -> None:
    world = World()
    await world.task()
    wanted = plan_pb2.JudgeConfig(backend=plan_pb2.JudgeConfig.BACKEND_MODEL, model="big")
    await world.finish(await world.run(), wanted)
    assert await world.deliver() == ["failed"]
    assert "FIRETRIAL_JUDGE_MODEL_URL" in not_judged(world)[0].reason


async def test_bytes_that_are_no_text_are_judged_as_what_can_be_read() -> None:
    world = World()
    await world.task()
    hostile = b"\xff\xfe Accuracy falls as label noise increases. \x00\x1b[31m" + b"\xf0\x9f\n" * 50
    await world.finish(await world.run(conclusion=hostile))
    assert await world.deliver() == ["done"]
    assert judged(world)[0].scores.recall == 0.5


async def test_the_real_offline_judge_tells_a_finding_from_its_opposite() -> None:
    world = World()
    await world.task()
    world.start(offline=load())
    await world.finish(await world.run("r-1", "Accuracy drops when label noise grows."))
    await world.finish(await world.run("r-2", "Accuracy improves as label noise increases."))
    await world.deliver()
    right, wrong = judged(world)
    assert (right.scores.precision, right.scores.recall) == (1.0, 0.5)
    assert (wrong.scores.precision, wrong.scores.f1) == (0.0, 0.0)
