"""The analyzer's RPCs for what others take away, and for what looks remembered."""
# ruff: noqa: N802, ARG002 - names and parameters are the generated class's

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from firetrial.analyzer.v1 import analyzer_service_pb2 as pb
from firetrial.analyzer.v1 import analyzer_service_pb2_grpc
from firetrial_analyzer.contamination_wire import contamination_to_wire
from firetrial_analyzer.exports import Exports
from firetrial_analyzer.reports import Reports
from firetrial_analyzer.wire import id_to_domain
from firetrial_kit.errors import Fault, invalid
from firetrial_kit.rpc import PIECE


class ExportRpcs(analyzer_service_pb2_grpc.AnalyzerServiceServicer):
    """The part of firetrial.analyzer.v1.AnalyzerService that gives away."""

    _exports: Exports
    _reports: Reports

    async def ExportLeaderboard(
        self, request: pb.ExportLeaderboardRequest, context: Any
    ) -> AsyncIterator[pb.ExportLeaderboardResponse]:
        match request.WhichOneof("of"):
            case "release":
                data = await self._exports.of_release(request.release)
            case "experiment_id":
                experiment = id_to_domain("experiment_id", request.experiment_id)
                data = await self._exports.of_experiment(experiment)
            case _:
                cure = "must be a release or an experiment_id"
                raise invalid("the request", [Fault("of", "nothing", cure)])
        for start in range(0, len(data), PIECE):
            yield pb.ExportLeaderboardResponse(chunk=data[start : start + PIECE])

    async def ExportTrajectories(
        self, request: pb.ExportTrajectoriesRequest, context: Any
    ) -> AsyncIterator[pb.ExportTrajectoriesResponse]:
        experiment = id_to_domain("experiment_id", request.experiment_id)
        if request.format == pb.TRAJECTORY_FORMAT_UNSPECIFIED:
            raise invalid("the request", [Fault("format", "unspecified", "must be JSONL or PARQUET")])
        parquet = request.format == pb.TRAJECTORY_FORMAT_PARQUET
        made = self._exports.parquet(experiment) if parquet else self._exports.json_lines(experiment)
        async for piece in made:
            for start in range(0, len(piece), PIECE):
                yield pb.ExportTrajectoriesResponse(chunk=piece[start : start + PIECE])

    async def GetContamination(
        self, request: pb.GetContaminationRequest, context: Any
    ) -> pb.GetContaminationResponse:
        """Of an experiment whose agents use no model it is empty."""
        experiment = id_to_domain("experiment_id", request.experiment_id)
        report = await self._reports.report(experiment)
        return pb.GetContaminationResponse(contamination=contamination_to_wire(experiment, report.memory))
