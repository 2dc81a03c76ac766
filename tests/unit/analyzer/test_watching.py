"""Whoever watches an experiment hears every service, and nothing of another experiment."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from firetrial.analyzer.v1 import analyzer_service_pb2 as pb
from firetrial.analyzer.v1 import events_pb2 as analyzer_events
from firetrial.judge.v1 import events_pb2 as judge_events
from firetrial.parser.v1 import events_pb2 as parser_events
from firetrial.runner.v1 import events_pb2 as runner_events
from firetrial.runner.v1 import run_pb2
from firetrial_analyzer.watching_rpcs import experiment_of
from firetrial_kit.bus import Outgoing
from firetrial_kit.errors import FiretrialError
from unit.analyzer.bench import EXPERIMENT, Bench, run


@pytest.fixture
def bench() -> Bench:
    return Bench()


def watch(bench: Bench, experiment: str = EXPERIMENT) -> AsyncIterator[pb.WatchExperimentResponse]:
    return aiter(bench.servicer.WatchExperiment(pb.WatchExperimentRequest(experiment_id=experiment), None))


async def later(answers: AsyncIterator[pb.WatchExperimentResponse]) -> pb.WatchExperimentResponse:
    async with asyncio.timeout(5):
        return await anext(answers)


async def test_every_stage_is_heard_as_it_happens(bench: Bench) -> None:
    answers = watch(bench)
    first = await later(answers)
    assert (first.fact, first.ended_runs, first.complete) == ("", 0, False)
    parsed = parser_events.PaperParsed(paper_id="p", experiment_id=EXPERIMENT)
    await bench.tell("parser", "p", parsed)
    created = parser_events.TaskCreated(task_id="t")
    created.slip.experiment_id = EXPERIMENT
    await bench.tell("parser", "t", created)
    other = runner_events.RunStarted()
    other.run.experiment_id = "e-other"
    await bench.tell("runner", "r-x", other)
    judged = judge_events.RunJudged()
    judged.run.experiment_id = EXPERIMENT
    judged.scores.f1 = 0.5
    await bench.tell("judge", "r-1", judged)
    heard = [await later(answers) for _ in range(3)]
    assert [(one.service, one.fact, one.key) for one in heard] == [
        ("parser", "paper_parsed", "p"), ("parser", "task_created", "t"), ("judge", "run_judged", "r-1"),
    ]  # fmt: skip
    assert heard[2].detail == "F1 0.50"
    assert heard[0].told_at.seconds == int(bench.clock.now().timestamp())


async def test_it_ends_with_the_report(bench: Bench) -> None:
    answers = watch(bench)
    await later(answers)
    await bench.finished(run(1), expected=1)
    await bench.deliver("run_finished")
    async with asyncio.timeout(5):
        heard = [answer async for answer in answers]
    assert [answer.fact for answer in heard] == ["run_finished", "run_analyzed", "experiment_reported"]
    assert [answer.complete for answer in heard] == [False, False, True]
    assert (heard[-1].ended_runs, heard[-1].expected_runs) == (1, 1)
    assert heard[0].detail == "AGENT_FAILED"


async def test_one_that_is_over_is_told_at_once(bench: Bench) -> None:
    await bench.finished(run(1), expected=1)
    await bench.deliver("run_finished")
    heard = [answer async for answer in watch(bench)]
    assert [(answer.complete, answer.ended_runs) for answer in heard] == [(True, 1)]


async def test_what_is_no_event_is_passed_over(bench: Bench) -> None:
    answers = watch(bench)
    await later(answers)
    await bench.bus.publish(
        Outgoing("ft.evt.judge.v1.run_judged.x", b"\xff", "1", {"ce-type": "firetrial.judge.v1.RunJudged"})
    )
    await bench.bus.publish(Outgoing("ft.evt.x.v1.new_fact.y", b"", "2", {"ce-type": "firetrial.x.v1.New"}))
    failed = runner_events.ExperimentFailed(experiment_id=EXPERIMENT, reason="no such agent")
    await bench.tell("runner", EXPERIMENT, failed)
    assert (await later(answers)).detail == "no such agent"


async def test_an_id_that_nothing_can_have_is_refused(bench: Bench) -> None:
    with pytest.raises(FiretrialError):
        await later(watch(bench, "e 1"))


def test_each_event_of_the_catalogue_names_its_experiment() -> None:
    """A fact that named none could never be watched; what comes before or beside one has none."""
    beside = {"JudgeCalibrated", "TestRequested", "TestFinished"}
    before = ("Proposal", "Screening", "PaperScreened", "PaperReviewed")
    silent = []
    for events in (parser_events, runner_events, judge_events, analyzer_events):
        for name in events.DESCRIPTOR.message_types_by_name:
            event = getattr(events, name)()
            for field in ("slip", "run", "report"):
                if field in event.DESCRIPTOR.fields_by_name:
                    getattr(event, field).experiment_id = "e-9"
            if "experiment_id" in event.DESCRIPTOR.fields_by_name:
                event.experiment_id = "e-9"
            silent += [] if experiment_of(event) == "e-9" else [name]
    assert [name for name in silent if name not in beside and not name.startswith(before)] == []
    assert experiment_of(run_pb2.Run(experiment_id="e-1")) == "e-1"
