"""The analyzer's RPCs: protobuf in, protobuf out."""
# ruff: noqa: N802, ARG002 - names and parameters are the generated class's

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from firetrial.analyzer.v1 import analyzer_service_pb2 as pb
from firetrial_analyzer.archive import Archive
from firetrial_analyzer.attribution_rpcs import AttributionRpcs
from firetrial_analyzer.comparing import compared
from firetrial_analyzer.embedding import Embedder, HashedEmbedder
from firetrial_analyzer.export_rpcs import ExportRpcs
from firetrial_analyzer.exports import Exports
from firetrial_analyzer.integrity_rpcs import IntegrityRpcs
from firetrial_analyzer.process_rpcs import ProcessRpcs
from firetrial_analyzer.release_rpcs import ReleaseRpcs
from firetrial_analyzer.releases import Releases
from firetrial_analyzer.reports import Reports
from firetrial_analyzer.reviewing import Reviewing
from firetrial_analyzer.run_page_rpcs import RunPageRpcs
from firetrial_analyzer.run_pages import RunPages
from firetrial_analyzer.watching_rpcs import WatchingRpcs
from firetrial_analyzer.wire import analysis_to_wire, format_to_domain, id_to_domain, report_to_wire
from firetrial_kit.bus import Bus
from firetrial_kit.rpc import PIECE


class AnalyzerServicer(
    AttributionRpcs, ExportRpcs, IntegrityRpcs, ProcessRpcs, ReleaseRpcs, RunPageRpcs, WatchingRpcs
):
    def __init__(
        self,
        *,
        reports: Reports,
        archive: Archive,
        releases: Releases,
        exports: Exports,
        reviewing: Reviewing,
        bus: Bus,
        embedder: Embedder | None = None,
    ) -> None:
        self._embedder = embedder or HashedEmbedder()
        self._reviewing = reviewing
        self._reports = reports
        self._records = reports.records
        self._archive = archive
        self._run_pages = RunPages(archive)
        self._releases = releases
        self._bus = bus
        self._exports = exports

    async def GetReport(self, request: pb.GetReportRequest, context: Any) -> pb.GetReportResponse:
        record = await self._reports.records.get(id_to_domain("experiment_id", request.experiment_id))
        return pb.GetReportResponse(report=report_to_wire(record))

    async def ListReports(self, request: pb.ListReportsRequest, context: Any) -> pb.ListReportsResponse:
        page, token = await self._reports.records.page(request.page_size, request.page_token)
        return pb.ListReportsResponse(reports=map(report_to_wire, page), next_page_token=token)

    async def WatchReport(
        self, request: pb.WatchReportRequest, context: Any
    ) -> AsyncIterator[pb.WatchReportResponse]:
        """Waits for the experiment's first run to end where none has."""
        async for record in self._reports.records.watch(id_to_domain("experiment_id", request.experiment_id)):
            yield pb.WatchReportResponse(report=report_to_wire(record))
            if record.complete or record.failure:
                return

    async def RenderReport(
        self, request: pb.RenderReportRequest, context: Any
    ) -> AsyncIterator[pb.RenderReportResponse]:
        experiment = id_to_domain("experiment_id", request.experiment_id)
        others = [id_to_domain("compare_with", id_) for id_ in request.compare_with]
        form = format_to_domain(request.format)
        if others:
            data = await compared(self._reports, experiment, others, form)
        else:
            data = await self._reports.rendered(experiment, form)
        for start in range(0, len(data), PIECE):
            yield pb.RenderReportResponse(chunk=data[start : start + PIECE])

    async def GetAnalysis(self, request: pb.GetAnalysisRequest, context: Any) -> pb.GetAnalysisResponse:
        item = await self._archive.analysis(id_to_domain("run_id", request.run_id))
        return pb.GetAnalysisResponse(analysis=analysis_to_wire(item))
