"""Analyses and reports: what the analyzer owns."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import TYPE_CHECKING

from firetrial.analyzer.v1 import analyzer_service_pb2 as pb
from firetrial.analyzer.v1.analysis_pb2 import Analysis, Report
from firetrial.analyzer.v1.analyzer_service_pb2_grpc import AnalyzerServiceStub
from firetrial_client.calls import Caller
from firetrial_client.errors import Fault, invalid

if TYPE_CHECKING:
    from firetrial.analyzer.v1.analyzer_service_pb2_grpc import AnalyzerServiceAsyncStub

FORMATS = {
    "html": pb.FORMAT_HTML,
    "md": pb.FORMAT_MARKDOWN,
    "json": pb.FORMAT_JSON,
    "csv": pb.FORMAT_CSV,
    "latex": pb.FORMAT_LATEX,
    "parquet": pb.FORMAT_PARQUET,
}


class ReportCalls(Caller):
    """Methods on reports."""

    @property
    def _analyzer(self) -> AnalyzerServiceAsyncStub:
        return AnalyzerServiceStub(self._channels.of("analyzer"))

    async def get_report(self, experiment_id: str) -> Report:
        """Raises NOT_FOUND until the first of its runs has ended."""
        request = pb.GetReportRequest(experiment_id=experiment_id)
        return (await self._one("analyzer", lambda: self._analyzer.GetReport, request)).report

    def list_reports(self) -> AsyncGenerator[Report, None]:
        """Every report, page by page."""
        return self._pages("analyzer", lambda: self._analyzer.ListReports, pb.ListReportsRequest(), "reports")

    def watch_report(
        self, experiment_id: str, *, timeout: float | None = None, appear: float = 0.0
    ) -> AsyncGenerator[Report, None]:
        """What is known of the report now and after each change, until it is complete or has failed.

        Goes on over restarts of the service. An experiment that is not known yet is waited for `appear`
        seconds. Raises NOT_FOUND, and DEADLINE after `timeout` seconds.
        """
        request = pb.WatchReportRequest(experiment_id=experiment_id)
        return self._changes(
            "analyzer",
            lambda: self._analyzer.WatchReport,
            request,
            lambda answer: answer.report,
            timeout=timeout,
            appear=appear,
        )

    async def render_report(
        self,
        experiment_id: str,
        format: str = "json",  # noqa: A002 - its name everywhere else too
        *,
        compare_with: Sequence[str] = (),
    ) -> bytes:
        """The report over the runs that have ended so far, in one of `FORMATS`.

        With `compare_with`, at most 7 other experiments, how they differ from it, as html, md or json. Raises
        INVALID for another format, NOT_FOUND.
        """
        if format not in FORMATS:
            raise invalid(
                "the report", [Fault("format", f"is {format!r}: must be one of {', '.join(FORMATS)}")]
            )
        request = pb.RenderReportRequest(
            experiment_id=experiment_id, format=FORMATS[format], compare_with=compare_with
        )
        answers = self._stream("analyzer", lambda: self._analyzer.RenderReport, request)
        return b"".join([answer.chunk async for answer in answers])

    async def render_run(self, run_id: str) -> bytes:
        """The page of one run, as HTML: its claims, why they are wrong, its trajectory. Raises NOT_FOUND."""
        request = pb.RenderRunRequest(run_id=run_id)
        answers = self._stream("analyzer", lambda: self._analyzer.RenderRun, request)
        return b"".join([answer.chunk async for answer in answers])

    async def get_analysis(self, run_id: str) -> Analysis:
        """What was found out about one run's claims. Raises NOT_FOUND."""
        request = pb.GetAnalysisRequest(run_id=run_id)
        return (await self._one("analyzer", lambda: self._analyzer.GetAnalysis, request)).analysis
