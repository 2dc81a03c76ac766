"""The analyzer on the fakes: what it makes of messages, and what it makes of their faults."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from firetrial.analyzer.v1 import events_pb2
from firetrial.judge.v1 import events_pb2 as judge_events
from firetrial.judge.v1 import judgement_pb2
from firetrial.parser.v1 import events_pb2 as parser_events
from firetrial.runner.v1 import events_pb2 as runner_events
from firetrial.runner.v1 import run_pb2
from firetrial_analyzer.outcomes import Outcome
from firetrial_analyzer.render import Format
from firetrial_kit.bus import Outgoing
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.objects import ObjectRef
from firetrial_kit.testing import InMemoryBus, InMemoryObjects
from unit.analyzer.bench import AGENT, EXPERIMENT, TASK, Bench, run, slip

DOWN = FiretrialError(Reason.UNAVAILABLE, "the server is away")


@pytest.fixture
def bench() -> Bench:
    return Bench()


def told(message: Outgoing) -> events_pb2.ExperimentReported:
    return events_pb2.ExperimentReported.FromString(message.data)


async def test_the_last_run_brings_the_report(bench: Bench) -> None:
    await bench.put_task("How does noise change accuracy?")
    await bench.judged(run(1), expected=2)
    assert await bench.deliver("run_judged") == ["done"]
    assert not bench.facts("experiment_reported")
    assert (await bench.records.get(EXPERIMENT)).complete is False

    await bench.finished(run(2), expected=2)
    assert await bench.deliver("run_finished") == ["done"]
    (reported,) = bench.facts("experiment_reported")
    report = told(reported).report
    assert (report.complete, report.ended_runs, report.expected_runs) == (True, 2, 2)
    page = await bench.objects.get(report.html.uri, sha256=report.html.sha256)
    assert b"How does noise change accuracy?" in page
    assert b"2 of 2 runs" in page
    assert b"overgeneralized" in page
    for ref in (report.markdown, report.json):
        assert await bench.objects.get(ref.uri, sha256=ref.sha256)
    assert len(bench.facts("run_analyzed")) == 2


async def test_a_run_that_awaits_its_judge_is_left_alone(bench: Bench) -> None:
    await bench.finished(run(), run_pb2.OUTCOME_UNSPECIFIED)
    assert await bench.deliver("run_finished") == ["done"]
    assert await bench.records.ids() == []
    assert bench.objects.puts == 0


async def test_a_superseded_attempt_leaves_its_slot_open_and_is_listed(bench: Bench) -> None:
    await bench.finished(run(1, 1, superseded=True), run_pb2.OUTCOME_INFRA_FAILED)
    await bench.deliver("run_finished")
    assert not bench.facts("experiment_reported")
    await bench.judged(run(1, 2))
    await bench.deliver("run_judged")
    (reported,) = bench.facts("experiment_reported")
    assert told(reported).report.ended_runs == 1
    assert "Earlier attempts" in (await bench.reports.rendered(EXPERIMENT, Format.HTML)).decode()


async def test_a_superseded_attempt_that_comes_late_enters_the_report(bench: Bench) -> None:
    await bench.judged(run(1, 2))
    await bench.deliver("run_judged")
    await bench.finished(run(1, 1, superseded=True), run_pb2.OUTCOME_INFRA_FAILED)
    await bench.deliver("run_finished")
    first, second = bench.facts("experiment_reported")
    assert told(first).report.html.sha256 != told(second).report.html.sha256
    assert told(second).report.complete


async def test_a_failed_judge_ends_the_slot_uncounted(bench: Bench) -> None:
    event = judge_events.RunJudgeFailed(run=run(), slip=slip(1), reason="no ground truth")
    await bench.tell("judge", run().id, event)
    await bench.deliver("run_judge_failed")
    item = await bench.archive.analysis(run().id)
    assert (item.run.outcome, item.run.reason) == (Outcome.JUDGE_FAILED, "no ground truth")
    assert b"0 of 1 runs" in await bench.reports.rendered(EXPERIMENT, Format.HTML)


async def test_a_new_judgement_of_a_run_makes_a_new_report(bench: Bench) -> None:
    await bench.judged(run(), f1=0.5)
    await bench.judged(run(), f1=0.9, name="j-2")
    await bench.deliver("run_judged")
    assert b"90.0" in await bench.reports.rendered(EXPERIMENT, Format.HTML)
    assert len(bench.facts("experiment_reported")) == 2


async def test_what_was_tampered_with_is_a_finding_of_the_run(bench: Bench) -> None:
    told = "step 2: 'score.py' was handed in, which is no target file"
    await bench.judged(run(), sealed=judgement_pb2.SealedResult(step=1, findings=[told]))
    await bench.deliver("run_judged")
    item = await bench.archive.analysis(run().id)
    assert item.integrity
    assert ("tampering", told) in [(finding.name, finding.statement) for finding in item.integrity.findings]
    assert b"tampering" in await bench.reports.rendered(EXPERIMENT, Format.HTML)


class LaggingBus(InMemoryBus):
    """Takes a while to store a message, as a real one does."""

    async def publish(self, message: Outgoing) -> None:
        await asyncio.sleep(0.005)
        await super().publish(message)


async def test_runs_that_end_at_the_same_time_make_one_report_of_all(bench: Bench) -> None:
    bench.bus = LaggingBus()
    bench.start()
    for repeat in range(1, 9):
        await bench.judged(run(repeat), expected=8)
    stop = asyncio.Event()
    consuming = asyncio.create_task(bench.bus.consume(bench.consumer("run_judged"), stop))
    while not bench.facts("experiment_reported"):
        await asyncio.sleep(0.01)
    stop.set()
    await consuming
    report = told(bench.facts("experiment_reported")[-1]).report
    assert (report.ended_runs, report.complete) == (8, True)
    assert bench.objects.puts == 8 + 1 + 3, "the analyses, the plan, and the report's formats"


class OvertakenObjects(InMemoryObjects):
    """While the first report is put, another process is let through."""

    def __init__(self, sharing: InMemoryObjects, other: Callable[[], Awaitable[None]]) -> None:
        super().__init__(sharing=sharing)
        self._others = [other]

    async def put(self, bucket: str, key: str, data: bytes, media_type: str) -> ObjectRef:
        if "reports/" in key and self._others:
            await self._others.pop()()
        return await super().put(bucket, key, data, media_type)


async def test_a_report_that_was_overtaken_by_another_process_is_made_again(bench: Bench) -> None:
    other = Bench(bench.everything, bench.bus, bench.state)

    async def late_run_elsewhere() -> None:
        await other.finished(run(1, 1, superseded=True), run_pb2.OUTCOME_INFRA_FAILED)
        assert await other.deliver("run_finished") == ["done"]

    bench.objects = OvertakenObjects(bench.everything, late_run_elsewhere)
    bench.start()
    await bench.judged(run(1, 2))
    assert await bench.deliver("run_judged") == ["done"]
    record = await bench.records.get(EXPERIMENT)
    assert record.complete
    for ref in record.formats.values():
        assert await bench.archive.stored(ref)
    assert b"Earlier attempts" in await bench.objects.get(record.formats["html"].uri)


async def test_redelivery_is_a_no_op(bench: Bench) -> None:
    message = await bench.judged(run())
    await bench.deliver("run_judged")
    puts, published = bench.objects.puts, list(bench.bus.published)
    record = await bench.records.get(EXPERIMENT)

    bench.clock.advance(60)
    bench.bus.redeliver(bench.consumer("run_judged"), message)
    assert await bench.deliver("run_judged") == ["done"]
    assert bench.objects.puts == puts
    assert bench.bus.published == published
    assert await bench.records.get(EXPERIMENT) == record


async def test_a_run_that_is_in_is_announced_again_without_another_look_at_it(bench: Bench) -> None:
    message = await bench.judged(run())
    await bench.deliver("run_judged")
    del bench.everything.held["results/judgements/j-1.json"]
    bench.start()
    bench.bus.redeliver(bench.consumer("run_judged"), message)
    assert await bench.deliver("run_judged") == ["done"]
    assert not bench.facts("run_analysis_failed")


class Crash(BaseException):
    """The process is gone: nothing in it can catch this."""


class CrashingObjects(InMemoryObjects):
    """Stores one object and takes the process down."""

    async def put(self, bucket: str, key: str, data: bytes, media_type: str) -> ObjectRef:
        await super().put(bucket, key, data, media_type)
        raise Crash


class CrashingBus(InMemoryBus):
    """Takes the process down instead of telling that there is a report, until it is mended."""

    mended = False

    async def publish(self, message: Outgoing) -> None:
        if "experiment_reported" in message.subject and not self.mended:
            raise Crash
        await super().publish(message)


async def test_a_crash_between_artifact_and_ack_loses_nothing(bench: Bench) -> None:
    message = await bench.judged(run())
    bench.objects = CrashingObjects(sharing=bench.everything)
    bench.start()
    with pytest.raises(Crash):
        await bench.deliver("run_judged")
    assert await bench.everything.stat(f"results/analyses/{run().id}.json")
    assert not bench.facts("run_analyzed")

    bench.objects = InMemoryObjects(sharing=bench.everything)
    bench.start()
    bench.bus.redeliver(bench.consumer("run_judged"), message)
    assert await bench.deliver("run_judged") == ["done"]
    assert len(bench.facts("run_analyzed")) == len(bench.facts("experiment_reported")) == 1


async def test_a_crash_before_the_report_is_announced_loses_nothing(bench: Bench) -> None:
    bench.bus = bus = CrashingBus()
    bench.start()
    message = await bench.judged(run())
    with pytest.raises(Crash):
        await bench.deliver("run_judged")
    bus.mended = True
    bench.start()
    puts = bench.objects.puts
    bench.bus.redeliver(bench.consumer("run_judged"), message)
    assert await bench.deliver("run_judged") == ["done"]
    assert len(bench.facts("experiment_reported")) == 1
    assert bench.objects.puts == puts


@pytest.mark.parametrize("broken", ["bus", "objects"])
async def test_a_server_that_is_away_means_later(bench: Bench, broken: str) -> None:
    await bench.judged(run())
    getattr(bench, broken).fail_next = DOWN
    assert await bench.deliver("run_judged") == ["later"]
    await asyncio.sleep(0.6)
    assert await bench.deliver("run_judged") == ["done"]
    assert len(bench.facts("experiment_reported")) == 1


async def test_a_poison_message_ends_in_a_failed_analysis_and_the_run_still_counts(bench: Bench) -> None:
    await bench.judged(run(), f1=0.5)
    await bench.everything.put("results", "judgements/j-1.json", b"not what was signed", "application/json")
    assert await bench.deliver("run_judged") == ["failed"]
    (failed,) = bench.facts("run_analysis_failed")
    said = events_pb2.RunAnalysisFailed.FromString(failed.data)
    assert said.run_id == run().id
    assert "sha256" in said.reason
    item = await bench.archive.analysis(run().id)
    assert (item.run.outcome, item.run.f1, item.judgement) == (Outcome.SCORED, 0.5, None)
    assert "sha256" in item.run.reason
    assert told(bench.facts("experiment_reported")[0]).report.complete


async def test_the_judgement_of_another_run_is_not_taken_for_this_one(bench: Bench) -> None:
    ref = await bench.put_judgement("j-1", run(2), judgement_pb2.Scores())
    event = judge_events.RunJudged(run=run(1), slip=slip(1), judgement_id="j-1", judgement=ref)
    await bench.tell("judge", run(1).id, event)
    assert await bench.deliver("run_judged") == ["failed"]
    assert (await bench.archive.analysis(run(1).id)).judgement is None


async def test_figures_out_of_range_are_dropped_and_told(bench: Bench) -> None:
    await bench.judged(run(), f1=1.5)
    assert await bench.deliver("run_judged") == ["failed"]
    item = await bench.archive.analysis(run().id)
    assert item.run.f1 is None
    assert "a score from 0 to 1" in item.run.reason
    assert bench.facts("run_analysis_failed")
    assert b"undefined" in await bench.reports.rendered(EXPERIMENT, Format.HTML)


async def test_a_report_that_cannot_be_made_is_announced_as_failed(bench: Bench) -> None:
    """Two attempts with one number contradict each other, so that no report can be built."""
    await bench.finished(run(1, 1, superseded=True), run_pb2.OUTCOME_INFRA_FAILED)
    rival = run(1, 1)
    rival.id = "r-rival"
    await bench.finished(rival)
    assert await bench.deliver("run_finished") == ["done", "failed"]
    (reported,) = bench.facts("experiment_reported")
    report = told(reported).report
    assert not report.complete
    assert "one run per attempt of a slot" in report.failure


@pytest.mark.parametrize(
    "fact", ["run_finished", "run_judge_failed", "experiment_failed", "paper_parse_failed"]
)
async def test_garbage_is_dropped_and_never_loops(bench: Bench, fact: str) -> None:
    subject = bench.consumer(fact).subjects[0].replace("*", "x")
    await bench.bus.publish(Outgoing(subject, b"\xff\xff\xff", "garbage"))
    assert await bench.deliver(fact) == ["failed"]
    assert await bench.deliver(fact) == []
    assert await bench.records.ids() == []


@pytest.mark.parametrize("bad", ["../truth", "a b", "", "x" * 200, "a.*.>"])
async def test_an_id_that_cannot_be_a_key_is_refused(bench: Bench, bad: str) -> None:
    made = run()
    made.id = bad
    await bench.finished(made)
    assert await bench.deliver("run_finished") == ["failed"]
    assert bench.everything.held == {}


async def test_an_outcome_from_the_future_is_refused(bench: Bench) -> None:
    await bench.finished(run(), 99)  # type: ignore[arg-type]
    assert await bench.deliver("run_finished") == ["failed"]


async def test_a_run_outside_any_experiment_is_analysed_without_a_report(bench: Bench) -> None:
    made = run()
    made.experiment_id = ""
    await bench.finished(made)
    assert await bench.deliver("run_finished") == ["done"]
    assert (await bench.archive.analysis(made.id)).run.outcome is Outcome.AGENT_FAILED
    assert await bench.records.ids() == []


async def test_a_paper_that_cannot_be_parsed_ends_its_experiment(bench: Bench) -> None:
    event = parser_events.PaperParseFailed(paper_id="p", reason="it is encrypted", experiment_id=EXPERIMENT)
    await bench.tell("parser", "p", event)
    assert await bench.deliver("paper_parse_failed") == ["done"]
    report = told(bench.facts("experiment_reported")[0]).report
    assert report.failure == "the paper could not be parsed: it is encrypted"


async def test_a_paper_without_a_plan_has_no_experiment(bench: Bench) -> None:
    await bench.tell("parser", "p", parser_events.PaperParseFailed(paper_id="p"))
    assert await bench.deliver("paper_parse_failed") == ["done"]
    assert not bench.facts("experiment_reported")


async def test_an_experiment_that_came_to_nothing_says_why(bench: Bench) -> None:
    event = runner_events.ExperimentFailed(experiment_id=EXPERIMENT, reason="there is no agent 'x'")
    await bench.tell("runner", EXPERIMENT, event)
    await bench.deliver("experiment_failed")
    assert told(bench.facts("experiment_reported")[0]).report.failure == "there is no agent 'x'"
    with pytest.raises(FiretrialError, match="no agent 'x'") as error:
        await bench.reports.rendered(EXPERIMENT, Format.HTML)
    assert error.value.reason is Reason.PRECONDITION


class SlowObjects(InMemoryObjects):
    """Puts wait until `open` is set."""

    def __init__(self, sharing: InMemoryObjects) -> None:
        super().__init__(sharing=sharing)
        self.entered, self.open = asyncio.Event(), asyncio.Event()

    async def put(self, bucket: str, key: str, data: bytes, media_type: str) -> ObjectRef:
        self.entered.set()
        await self.open.wait()
        return await super().put(bucket, key, data, media_type)


async def test_draining_ends_what_is_in_hand_and_takes_nothing_more(bench: Bench) -> None:
    slow = bench.objects = SlowObjects(bench.everything)
    bench.start()
    consumer = bench.handlers.consumers(1)[1]
    await bench.judged(run(1), expected=2)
    await bench.judged(run(2), expected=2, name="j-2")
    stop = asyncio.Event()
    consuming = asyncio.create_task(bench.bus.consume(consumer, stop))
    await slow.entered.wait()
    stop.set()
    await asyncio.sleep(0.02)
    assert not consuming.done()
    slow.open.set()
    await consuming
    assert [result for _, _, result in bench.bus.settlements] == ["done"]
    assert len(bench.facts("run_analyzed")) == 1
    assert await bench.bus.deliver(consumer) == ["done"]
    assert len(bench.facts("experiment_reported")) == 1


async def test_an_unreadable_task_does_not_stop_the_report(bench: Bench) -> None:
    await bench.everything.put("runs", f"tasks/{TASK}/task.json", b"{", "application/json")
    await bench.judged(run())
    assert await bench.deliver("run_judged") == ["done"]
    page = (await bench.reports.rendered(EXPERIMENT, Format.HTML)).decode()
    assert TASK in page
    assert AGENT.partition("@")[0] in page
