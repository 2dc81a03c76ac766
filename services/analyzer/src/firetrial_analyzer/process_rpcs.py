"""The analyzer's RPC on how a run explored and improved."""
# ruff: noqa: N802, ARG002 - names and parameters are the generated class's

from __future__ import annotations

import asyncio
from typing import Any

from firetrial.analyzer.v1 import analyzer_service_pb2 as pb
from firetrial.analyzer.v1 import analyzer_service_pb2_grpc
from firetrial_analyzer.archive import Archive
from firetrial_analyzer.embedding import Embedder
from firetrial_analyzer.process_wire import improvement_to_wire, process_to_wire
from firetrial_analyzer.run_process import Watching
from firetrial_analyzer.wire import id_to_domain


class ProcessRpcs(analyzer_service_pb2_grpc.AnalyzerServiceServicer):
    """The part of firetrial.analyzer.v1.AnalyzerService that measures the process."""

    _archive: Archive
    _embedder: Embedder

    async def GetProcessMetrics(
        self, request: pb.GetProcessMetricsRequest, context: Any
    ) -> pb.GetProcessMetricsResponse:
        """Computed anew from the trajectory: the same run gives the same answer.

        Those of a repository run were made of its recorded steps, when it was analysed.
        """
        run_id = id_to_domain("run_id", request.run_id)
        analysis = await self._archive.analysis(run_id)
        if analysis.improvement is not None:
            metrics = improvement_to_wire(run_id, analysis.improvement)
            return pb.GetProcessMetricsResponse(metrics=metrics)
        usage = analysis.run.usage
        watching = Watching(self._embedder)
        await self._archive.trajectory(run_id, watching.step)
        found = await asyncio.to_thread(watching.result, usage.tokens, usage.wall_seconds)
        return pb.GetProcessMetricsResponse(metrics=process_to_wire(run_id, found))
