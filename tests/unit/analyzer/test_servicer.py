from __future__ import annotations

import asyncio
import json

import pytest

from firetrial.analyzer.v1 import analysis_pb2
from firetrial.analyzer.v1 import analyzer_service_pb2 as pb
from firetrial.runner.v1 import run_pb2
from firetrial_kit.errors import FiretrialError, Reason
from unit.analyzer.bench import EXPERIMENT, Bench, run


@pytest.fixture
async def bench() -> Bench:
    """One of two runs has ended."""
    bench = Bench()
    await bench.judged(run(1), expected=2)
    await bench.deliver("run_judged")
    return bench


async def rendered(bench: Bench, form: pb.Format.ValueType) -> bytes:
    request = pb.RenderReportRequest(experiment_id=EXPERIMENT, format=form)
    return b"".join([part.chunk async for part in bench.servicer.RenderReport(request, None)])


async def end(bench: Bench) -> None:
    await bench.finished(run(2), run_pb2.OUTCOME_CANCELLED, expected=2)
    await bench.deliver("run_finished")


async def test_a_report_can_be_asked_for_at_any_time(bench: Bench) -> None:
    answer = await bench.servicer.GetReport(pb.GetReportRequest(experiment_id=EXPERIMENT), None)
    assert (answer.report.ended_runs, answer.report.expected_runs, answer.report.complete) == (1, 2, False)
    assert not answer.report.HasField("html")
    await end(bench)
    answer = await bench.servicer.GetReport(pb.GetReportRequest(experiment_id=EXPERIMENT), None)
    assert answer.report.complete
    assert answer.report.html.uri == f"results/reports/{EXPERIMENT}/report.html"
    assert answer.report.html.size > 0


async def test_an_unknown_experiment_is_not_found(bench: Bench) -> None:
    with pytest.raises(FiretrialError) as error:
        await bench.servicer.GetReport(pb.GetReportRequest(experiment_id="e-none"), None)
    assert error.value.reason is Reason.NOT_FOUND


@pytest.mark.parametrize("bad", ["", "a.b", "*", "../x"])
async def test_an_impossible_id_is_refused(bench: Bench, bad: str) -> None:
    with pytest.raises(FiretrialError) as error:
        await bench.servicer.GetReport(pb.GetReportRequest(experiment_id=bad), None)
    assert [fault.field for fault in error.value.faults] == ["experiment_id"]


async def test_reports_are_listed_in_pages(bench: Bench) -> None:
    made = run(7)
    made.experiment_id = "e-2"
    await bench.finished(made)
    await bench.deliver("run_finished")
    first = await bench.servicer.ListReports(pb.ListReportsRequest(page_size=1), None)
    second = await bench.servicer.ListReports(
        pb.ListReportsRequest(page_size=1, page_token=first.next_page_token), None
    )
    assert [report.experiment_id for page in (first, second) for report in page.reports] == ["e-1", "e-2"]
    assert second.next_page_token == ""


async def test_watching_tells_each_change_and_ends_with_the_last(bench: Bench) -> None:
    async def watch() -> list[analysis_pb2.Report]:
        answers = bench.servicer.WatchReport(pb.WatchReportRequest(experiment_id=EXPERIMENT), None)
        return [answer.report async for answer in answers]

    watching = asyncio.create_task(watch())
    await asyncio.sleep(0.01)
    await end(bench)
    seen = await asyncio.wait_for(watching, 5)
    assert (seen[0].ended_runs, seen[0].complete) == (1, False)
    assert (seen[-1].ended_runs, seen[-1].complete) == (2, True)


async def test_watching_waits_for_an_experiment_that_is_not_there_yet() -> None:
    bench = Bench()

    async def watch() -> list[int]:
        answers = bench.servicer.WatchReport(pb.WatchReportRequest(experiment_id=EXPERIMENT), None)
        return [answer.report.ended_runs async for answer in answers]

    watching = asyncio.create_task(watch())
    await asyncio.sleep(0.01)
    assert not watching.done()
    await bench.finished(run(1))
    await bench.deliver("run_finished")
    assert (await asyncio.wait_for(watching, 5))[-1] == 1


async def test_watching_ends_with_a_failure() -> None:
    bench = Bench()
    await bench.reports.give_up(EXPERIMENT, "no agent")
    watch = bench.servicer.WatchReport(pb.WatchReportRequest(experiment_id=EXPERIMENT), None)
    assert [answer.report.failure async for answer in watch] == ["no agent"]


@pytest.mark.parametrize(
    ("form", "start"),
    [
        (pb.FORMAT_HTML, b"<!doctype html>"),
        (pb.FORMAT_MARKDOWN, b"# "),
        (pb.FORMAT_JSON, b"{"),
        (pb.FORMAT_CSV, b"experiment,task"),
        (pb.FORMAT_PARQUET, b"PAR1"),
        (pb.FORMAT_LATEX, b"% Needs"),
    ],
)
async def test_every_format_is_made_of_what_has_ended(
    bench: Bench, form: pb.Format.ValueType, start: bytes
) -> None:
    assert (await rendered(bench, form)).startswith(start)


async def test_a_complete_report_is_served_as_stored(bench: Bench) -> None:
    await end(bench)
    record = await bench.records.get(EXPERIMENT)
    data = await rendered(bench, pb.FORMAT_HTML)
    assert data == await bench.objects.get(record.formats["html"].uri)


async def test_a_stored_report_that_was_tampered_with_is_made_again(bench: Bench) -> None:
    await end(bench)
    before = await rendered(bench, pb.FORMAT_MARKDOWN)
    uri = (await bench.records.get(EXPERIMENT)).formats["md"].uri
    await bench.everything.put("results", uri.partition("/")[2], b"forged", "text/markdown")
    assert await rendered(bench, pb.FORMAT_MARKDOWN) == before


async def test_what_is_no_format_is_refused(bench: Bench) -> None:
    with pytest.raises(FiretrialError) as error:
        await rendered(bench, pb.FORMAT_UNSPECIFIED)
    assert error.value.reason is Reason.INVALID


async def test_an_analysis_tells_false_and_missing_claims(bench: Bench) -> None:
    answer = await bench.servicer.GetAnalysis(pb.GetAnalysisRequest(run_id=run(1).id), None)
    attribution = answer.analysis.attribution
    (false,) = attribution.false_claims
    assert (false.claim_id, false.kind, false.against) == ("a2", "OVERGENERALIZED", "t1")
    assert false.rationale
    assert [missed.claim_id for missed in attribution.missed] == ["t2"]
    assert attribution.method == "signals"


async def test_an_analysis_that_is_not_there_says_what_to_do(bench: Bench) -> None:
    with pytest.raises(FiretrialError, match="has not ended") as error:
        await bench.servicer.GetAnalysis(pb.GetAnalysisRequest(run_id="r-none"), None)
    assert error.value.reason is Reason.NOT_FOUND


async def test_a_running_report_is_rendered_once_while_no_run_ends(bench: Bench) -> None:
    first = await rendered(bench, pb.FORMAT_JSON)
    bench.objects.fail_next = FiretrialError(Reason.UNAVAILABLE, "nobody may ask the store again")
    assert await rendered(bench, pb.FORMAT_JSON) == first
    bench.objects.fail_next = None
    await bench.finished(run(3), run_pb2.OUTCOME_AGENT_FAILED, expected=4)
    await bench.deliver("run_finished")
    assert json.loads(await rendered(bench, pb.FORMAT_JSON))["ended_runs"] == 2


async def test_one_report_is_rendered_at_a_time_and_the_loop_goes_on(bench: Bench) -> None:
    """Ten ask for the same at once: one renders, and the others are given what it made."""
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    counting = asyncio.create_task(count())
    answers = await asyncio.gather(*(rendered(bench, pb.FORMAT_HTML) for _ in range(10)))
    counting.cancel()
    assert len(set(answers)) == 1
    assert turns > 100
    assert bench.registry.get_sample_value("firetrial_report_seconds_count") == 1
