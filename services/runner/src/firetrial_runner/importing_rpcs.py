"""RPCs on trajectories by the page, and on runs that were made elsewhere."""
# ruff: noqa: N802, ARG002 - names and parameters are the generated class's

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from firetrial.runner.v1 import runner_service_pb2 as pb
from firetrial.runner.v1 import runner_service_pb2_grpc
from firetrial_kit.errors import Fault, invalid
from firetrial_runner.files import Files
from firetrial_runner.importing.intake import Intake
from firetrial_runner.wire import imported_to_domain, run_to_wire


class ImportingRpcs(runner_service_pb2_grpc.RunnerServiceServicer):
    """ListSteps and ImportRun."""

    _files: Files
    _intake: Intake

    async def ListSteps(self, request: pb.ListStepsRequest, context: Any) -> pb.ListStepsResponse:
        page = await self._files.page(request.run_id, request.from_step, request.page_size)
        return pb.ListStepsResponse(lines=page.lines, total=page.total, next_step=page.next_step)

    async def ImportRun(
        self, request_iterator: AsyncIterator[pb.ImportRunRequest], context: Any
    ) -> pb.ImportRunResponse:
        first = await anext(aiter(request_iterator), None)
        if first is None or first.WhichOneof("part") != "header":
            raise invalid("the import", [Fault("header", "", "must come first")])
        header = first.header
        slip = header.slip if header.slip.experiment_id else None
        record = await self._intake.take(imported_to_domain(header), slip, _chunks(request_iterator))
        return pb.ImportRunResponse(run=run_to_wire(record.run))


async def _chunks(requests: AsyncIterator[pb.ImportRunRequest]) -> AsyncIterator[bytes]:
    async for request in requests:
        if request.WhichOneof("part") != "chunk":
            raise invalid("the import", [Fault("header", "again", "must come once, then chunks alone")])
        yield request.chunk
