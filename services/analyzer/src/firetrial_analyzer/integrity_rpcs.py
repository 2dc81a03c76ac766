"""The analyzer's RPC on whether a run did what it says, for whoever judges it."""
# ruff: noqa: N802, ARG002 - names and parameters are the generated class's

from __future__ import annotations

from typing import Any

from firetrial.analyzer.v1 import analyzer_service_pb2 as pb
from firetrial.analyzer.v1 import analyzer_service_pb2_grpc
from firetrial_analyzer.analysing import Analysing
from firetrial_analyzer.integrity_wire import integrity_to_wire
from firetrial_analyzer.left_wire import left_to_domain
from firetrial_analyzer.outcomes import Outcome
from firetrial_analyzer.wire import id_to_domain, run_to_domain
from firetrial_kit.errors import FiretrialError, Reason


class IntegrityRpcs(analyzer_service_pb2_grpc.AnalyzerServiceServicer):
    """The part of firetrial.analyzer.v1.AnalyzerService that looks into a run before it is judged."""

    analysing: Analysing | None = None

    async def CheckIntegrity(
        self, request: pb.CheckIntegrityRequest, context: Any
    ) -> pb.CheckIntegrityResponse:
        """Computed anew from what the run left: the same run gives the same answer."""
        id_to_domain("run.id", request.run.id)
        if self.analysing is None:
            raise FiretrialError(Reason.NOT_YET, "this analyzer is not set up to look into runs")
        run = run_to_domain(request.run, Outcome.SCORED)  # its outcome is not known yet, and not looked at
        found = await self.analysing.integrity(run, left_to_domain(request.run))
        return pb.CheckIntegrityResponse(integrity=integrity_to_wire(found) if found else None)
