"""The analyzer's RPC on the page of a run."""
# ruff: noqa: N802, ARG002 - names and parameters are the generated class's

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from firetrial.analyzer.v1 import analyzer_service_pb2 as pb
from firetrial.analyzer.v1 import analyzer_service_pb2_grpc
from firetrial_analyzer.run_pages import RunPages
from firetrial_analyzer.wire import id_to_domain
from firetrial_kit.rpc import PIECE


class RunPageRpcs(analyzer_service_pb2_grpc.AnalyzerServiceServicer):
    """The part of firetrial.analyzer.v1.AnalyzerService that shows runs."""

    _run_pages: RunPages

    async def RenderRun(
        self, request: pb.RenderRunRequest, context: Any
    ) -> AsyncIterator[pb.RenderRunResponse]:
        data = await self._run_pages.page(id_to_domain("run_id", request.run_id))
        for start in range(0, len(data), PIECE):
            yield pb.RenderRunResponse(chunk=data[start : start + PIECE])
