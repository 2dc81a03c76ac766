"""Sealed tests as the judge asks for them and hears of them: once, again, and never."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.json_format import MessageToJson, ParseDict

from firetrial.artifact.v1 import artifact_pb2
from firetrial.judge.v1 import events_pb2 as judge_events
from firetrial.parser.v1 import task_pb2
from firetrial.runner.v1 import events_pb2, run_pb2
from firetrial_kit import events
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.ids import sha256
from firetrial_kit.objects import GRANTS, ObjectRef
from firetrial_kit.testing import InMemoryObjects
from support import repositories
from support.repositories import BETTER
from unit.judge.world import World

RESULTS = json.dumps({"line": {"means": {"mae_mean": 10.0}}}).encode()


async def put(world: World, bucket: str, key: str, data: bytes) -> artifact_pb2.ArtifactRef:
    ref = await world.everything.put(bucket, key, data, "text/plain")
    return artifact_pb2.ArtifactRef(uri=ref.uri, sha256=ref.sha256, size=ref.size)


async def ready(world: World, *, steps: list[dict[str, Any]] | None = None, **spec: Any) -> run_pb2.Run:
    """A run that has concluded, on a task that scores apart; of one valid step where nothing else is said."""
    made = repositories.made(**spec)
    task = task_pb2.Task(id="line", kind=task_pb2.TASK_KIND_REPOSITORY)
    ParseDict(made.spec, task.repository)
    task.repository.source.CopyFrom(await put(world, "runs", "tasks/line/source.tar", made.source))
    secret = task_pb2.GroundTruth(task_id="line")
    ParseDict(made.test, secret.test)
    secret.test.files.CopyFrom(await put(world, "truth", "tasks/line/test.tar", made.sealed))
    assert made.score_sealed is not None
    secret.test.score_files.CopyFrom(await put(world, "truth", "tasks/line/score.tar", made.score_sealed))
    task.truth.CopyFrom(await put(world, "truth", "tasks/line/truth.json", MessageToJson(secret).encode()))
    await put(world, "runs", "tasks/line/task.json", MessageToJson(task).encode())
    known = sha256(BETTER.encode())
    await put(world, "runs", f"runs/r-1/targets/{known}", BETTER.encode())
    told = steps if steps is not None else [{"metric": 1.0}]
    lines = [
        json.dumps({"step": n, "state": "STATE_VALID", "files": {"model.py": known}, **step})
        for n, step in enumerate(told, 1)
    ]
    await put(world, "runs", "runs/r-1/steps.jsonl", "\n".join(lines).encode())
    return run_pb2.Run(id="r-1", experiment_id="e-1", task_id="line", attempt=1, pool="gpu")


async def hear(world: World) -> list[str]:
    return await world.bus.deliver(world.consumers[1])


async def end(world: World, attempt: int = 1, results: bytes | None = RESULTS, **told: Any) -> None:
    """The runner's word that an attempt at the test is over."""
    event = events_pb2.TestFinished(run_id="r-1", attempt=attempt, **told)
    if "infra_failure" not in told:
        event.exit.MergeFrom(run_pb2.Exit(termination=run_pb2.TERMINATION_EXITED, code=0))
        if results is not None:
            event.results.CopyFrom(await put(world, "runs", f"runs/r-1/test/{attempt}/results.json", results))
    fact = events.fact("runner", "r-1", event, clock=world.clock, attempt=attempt)
    await world.bus.publish(fact)


def asked(world: World) -> list[events_pb2.TestRequested]:
    work = [out for out in world.bus.published if out.subject == "ft.work.test.gpu"]
    return [events_pb2.TestRequested.FromString(out.data) for out in work]


def judged(world: World) -> list[judge_events.RunJudged]:
    return world.told("run_judged", judge_events.RunJudged)


def failed(world: World) -> list[judge_events.RunJudgeFailed]:
    return world.told("run_judge_failed", judge_events.RunJudgeFailed)


async def sealed(world: World) -> list[str]:
    return await world.everything.keys("sealed", "")


async def test_the_best_step_is_asked_to_be_tested_and_judged_by_it() -> None:
    world = World()
    run = await ready(world, steps=[{"metric": 1.0}, {"metric": 2.0, "of_a_later_version": {"x": 1}}])
    await world.finish(run)
    assert await world.deliver() == ["done"]
    (wanted,) = asked(world)
    assert (wanted.run_id, wanted.attempt, wanted.results_file) == ("r-1", 1, "results.json")
    assert wanted.limits.wall_time.seconds == 30
    assert len(await sealed(world)) == 2
    assert judged(world) == []
    await end(world)
    assert await hear(world) == ["done"]
    (event,) = judged(world)
    assert (event.scores.score, event.scores.measure) == (0.75, "normalized_improvement")
    assert await sealed(world) == []


async def test_whatever_comes_twice_is_done_once() -> None:
    world = World()
    run = await ready(world)
    await world.finish(run)
    await world.deliver()
    world.bus.redeliver(world.consumer, world.bus.published[0])
    assert await world.deliver() == ["done"]
    assert len(asked(world)) == 1
    await end(world)
    told = world.bus.published[-1]
    await hear(world)
    world.bus.redeliver(world.consumers[1], told)
    assert await hear(world) == ["done"]
    world.bus.redeliver(world.consumer, world.bus.published[0])
    assert await world.deliver() == ["done"]
    assert (len(asked(world)), len(judged(world)), failed(world)) == (1, 1, [])
    assert await sealed(world) == []


async def test_a_judge_that_dies_before_it_has_told_tells_when_it_is_back() -> None:
    world = World()
    await world.finish(await ready(world))
    await world.deliver()
    await end(world)
    down = FiretrialError(Reason.UNAVAILABLE, "no broker")
    world.bus.fail_next = down
    assert await hear(world) == ["later"]
    assert judged(world) == []
    world.start()
    world.bus.redeliver(world.consumers[1], world.bus.published[-1])
    await hear(world)
    assert len(judged(world)) == 1
    assert await sealed(world) == []


async def test_infrastructure_that_fails_is_tried_again_and_is_never_a_0() -> None:
    world = World()
    await world.finish(await ready(world))
    await world.deliver()
    for attempt in (1, 2, 3):
        assert [wanted.attempt for wanted in asked(world)] == list(range(1, attempt + 1))
        await end(world, attempt, infra_failure="the sandbox was lost")
        await hear(world)
    assert judged(world) == []
    (event,) = failed(world)
    assert event.reason == "its test was lost 3 times, at last: the sandbox was lost"
    assert await sealed(world) == []
    await end(world, 2)
    await hear(world)
    assert judged(world) == []


async def test_what_an_earlier_attempt_says_late_does_not_count() -> None:
    world = World()
    await world.finish(await ready(world))
    await world.deliver()
    await end(world, 1, infra_failure="lost")
    await hear(world)
    late = events_pb2.TestFinished(run_id="r-1", attempt=1)
    await world.bus.publish(events.fact("runner", "r-1", late, clock=world.clock, attempt=9))
    await hear(world)
    assert (judged(world), failed(world), len(asked(world))) == ([], [], 2)


@pytest.mark.parametrize(
    ("exit_", "results", "why"),
    [
        (run_pb2.Exit(termination=run_pb2.TERMINATION_EXITED, code=1), RESULTS, "it exited with 1"),
        (run_pb2.Exit(termination=run_pb2.TERMINATION_TIMED_OUT), RESULTS, "timed out"),
        (run_pb2.Exit(termination=run_pb2.TERMINATION_EXITED, signal=9), RESULTS, "signal 9"),
        (run_pb2.Exit(termination=run_pb2.TERMINATION_EXITED, code=0), b"{}", "told no metric"),
        (run_pb2.Exit(termination=run_pb2.TERMINATION_EXITED, code=0), None, "no results"),
    ],
)
async def test_a_test_that_the_agents_code_broke_is_a_0(
    exit_: run_pb2.Exit, results: bytes | None, why: str
) -> None:
    world = World()
    await world.finish(await ready(world))
    await world.deliver()
    event = events_pb2.TestFinished(run_id="r-1", attempt=1, exit=exit_)
    if results is not None:
        event.results.CopyFrom(await put(world, "runs", "runs/r-1/test/1/results.json", results))
    await world.bus.publish(events.fact("runner", "r-1", event, clock=world.clock))
    await hear(world)
    (told,) = judged(world)
    assert told.scores.score == 0.0
    kept = json.loads(await world.everything.get(told.judgement.uri))
    assert why in kept["sealed"]["no_credit"]


@pytest.mark.parametrize(
    "steps", [[], [{"state": "STATE_FAILED"}], [{"state": "STATE_VOID", "findings": ["x"]}]]
)
async def test_without_a_valid_step_the_run_is_judged_at_once(steps: list[dict[str, Any]]) -> None:
    world = World()
    await world.finish(await ready(world, steps=steps))
    assert await world.deliver() == ["done"]
    (event,) = judged(world)
    assert (event.scores.score, asked(world), await sealed(world)) == (0.0, [], [])


async def test_a_task_without_a_known_baseline_or_test_is_not_judged() -> None:
    world = World()
    await world.finish(await ready(world, baseline_test=None))
    assert await world.deliver() == ["failed"]
    (event,) = failed(world)
    assert "its baseline in the test is not known" in event.reason


async def test_what_the_test_runs_over_holds_no_label_with_the_agents_code() -> None:
    world = World()
    await world.finish(await ready(world))
    await world.deliver()
    (wanted,) = asked(world)
    first = await world.everything.get(wanted.files.uri)
    second = await world.everything.get(wanted.score_files.uri)
    assert b"[-20.0, -40.0, -60.0]" not in first
    assert b"[-20.0, -40.0, -60.0]" in second
    assert b"1.5 * x" in first
    assert b"1.5 * x" not in second
    with pytest.raises(FiretrialError) as fault:
        await InMemoryObjects(sharing=world.everything).get("sealed/none")
    assert fault.value.reason is Reason.NOT_FOUND


class Overtaken(InMemoryObjects):
    """A store in which another judge is done with the run while this one lays it out."""

    def __init__(self, world: World) -> None:
        super().__init__(GRANTS["judge"], sharing=world.everything)
        self.world = world
        self.waits = True

    async def put_file(self, bucket: str, key: str, path: Path, media_type: str) -> ObjectRef:
        if self.waits and key.endswith("files.tar"):
            self.waits = False
            slow, self.world.objects = self.world.consumer, self
            self.world.start()
            self.world.bus.redeliver(self.world.consumer, self.world.bus.published[0])
            await self.world.deliver()
            await end(self.world)
            await hear(self.world)
            self.world.consumer = slow
        return await super().put_file(bucket, key, path, media_type)


async def test_a_judge_that_is_overtaken_leaves_nothing_behind_and_asks_for_nothing() -> None:
    world = World()
    world.objects = Overtaken(world)
    world.start()
    await world.finish(await ready(world))
    assert await world.deliver() == ["done"]
    assert (len(judged(world)), len(asked(world)), await sealed(world)) == (1, 1, [])


async def test_a_run_that_is_given_up_leaves_nothing_sealed_and_is_not_judged_later() -> None:
    world = World()
    await world.finish(await ready(world))
    world.bus.fail_next = FiretrialError(Reason.TOO_LARGE, "the message is too large")
    assert await world.deliver() == ["failed"]
    assert (len(failed(world)), await sealed(world)) == (1, [])
    await end(world)
    assert await hear(world) == ["done"]
    assert judged(world) == []


async def test_a_broken_part_of_the_test_leaves_no_whole_part_sealed() -> None:
    world = World()
    run = await ready(world)
    secret = await world.archive.secret(await world.archive.task("line"))
    secret.test.score_files.CopyFrom(await put(world, "truth", "tasks/line/score.tar", b"no tar" * 1000))
    task = await world.archive.task("line")
    task.truth.CopyFrom(await put(world, "truth", "tasks/line/truth.json", MessageToJson(secret).encode()))
    await put(world, "runs", "tasks/line/task.json", MessageToJson(task).encode())
    await world.finish(run)
    assert await world.deliver() == ["failed"]
    assert (len(failed(world)), await sealed(world)) == (1, [])


async def test_a_lost_test_that_was_not_asked_for_again_is_when_the_loss_is_heard_again() -> None:
    world = World()
    await world.finish(await ready(world))
    await world.deliver()
    await end(world, 1, infra_failure="lost")
    lost = world.bus.published[-1]
    world.bus.fail_next = FiretrialError(Reason.UNAVAILABLE, "no broker")
    assert await hear(world) == ["later"]
    assert [wanted.attempt for wanted in asked(world)] == [1]
    world.bus.redeliver(world.consumers[1], lost)
    await hear(world)
    assert [wanted.attempt for wanted in asked(world)] == [1, 2]


async def test_each_attempt_that_waits_for_a_runner_is_told() -> None:
    world = World()
    await world.finish(await ready(world))
    await world.deliver()
    await end(world, 1, infra_failure="lost")
    await hear(world)
    told = world.told("test_requested", judge_events.SealedTestRequested)
    assert [(one.run_id, one.pool, one.attempt) for one in told] == [("r-1", "gpu", 1), ("r-1", "gpu", 2)]


async def test_a_test_that_nobody_makes_ends_in_its_time_as_no_score() -> None:
    world = World()
    await world.finish(await ready(world))
    await world.deliver()
    world.clock.advance(167 * 3600)
    await world.sealing.expire()
    assert failed(world) == []
    await end(world, 1, infra_failure="lost")
    await hear(world)
    world.clock.advance(167 * 3600)
    await world.sealing.expire()
    assert failed(world) == [], "the time of each attempt begins anew"
    world.clock.advance(2 * 3600)
    await world.sealing.expire()
    (event,) = failed(world)
    assert event.reason == "no runner of pool gpu made its sealed test in 168 hours"
    assert (judged(world), await sealed(world)) == ([], [])
    await end(world, 2)
    await hear(world)
    await world.sealing.expire()
    assert (judged(world), len(failed(world))) == ([], 1)


async def test_the_time_of_a_test_of_an_older_judge_begins_when_it_is_seen() -> None:
    world = World()
    await world.finish(await ready(world))
    await world.deliver()
    await world.sealing.records.change("r-1", lambda record: replace(record, asked_at=None))
    world.clock.advance(1000 * 3600)
    await world.sealing.expire()
    assert failed(world) == []
    world.clock.advance(169 * 3600)
    await world.sealing.expire()
    assert len(failed(world)) == 1


async def test_a_judge_that_dies_before_it_has_cleared_away_judges_by_the_same_once() -> None:
    world = World()
    await world.finish(await ready(world))
    await world.deliver()
    await end(world)
    heard = world.bus.published[-1]
    await hear(world)
    before = {uri: held for uri, held in world.everything.held.items() if uri.startswith("results/")}
    await world.sealing.records.change("r-1", lambda record: replace(record, over=False))
    world.clock.advance(60)
    world.bus.redeliver(world.consumers[1], heard)
    assert await hear(world) == ["done"]
    assert {u: h for u, h in world.everything.held.items() if u.startswith("results/")} == before
    (told,) = judged(world)
    assert (
        await world.archive.judgement((await world.judgements.get(told.judgement_id)).ref)
    ).run_id == "r-1"


async def test_results_that_are_said_to_lie_among_the_truths_are_not_read() -> None:
    world = World()
    await world.finish(await ready(world))
    await world.deliver()
    event = events_pb2.TestFinished(run_id="r-1", attempt=1)
    event.exit.MergeFrom(run_pb2.Exit(termination=run_pb2.TERMINATION_EXITED, code=0))
    event.results.CopyFrom(await put(world, "truth", "tasks/line/results.json", RESULTS))
    await world.bus.publish(events.fact("runner", "r-1", event, clock=world.clock))
    assert await hear(world) == ["failed"]
    assert "must be an object of the bucket runs" in failed(world)[0].reason
