"""The parser's RPCs about screening many papers."""
# ruff: noqa: N802, ARG002 - names and parameters are the generated class's

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from firetrial.parser.v1 import parser_service_pb2_grpc
from firetrial.parser.v1 import screening_pb2 as pb
from firetrial_kit.errors import check
from firetrial_parser.selection.screening_wire import (
    format_to_domain,
    header_faults,
    outcome_faults,
    outcome_to_domain,
    screened_to_wire,
    screening_to_wire,
)
from firetrial_parser.selection.screenings import Screenings, Wanted
from firetrial_parser.upload import chunks, first, spool


class ScreeningRpcs(parser_service_pb2_grpc.ParserServiceServicer):
    """The part of firetrial.parser.v1.ParserService that screens."""

    _screenings: Screenings

    async def SubmitScreening(
        self, request_iterator: AsyncIterator[pb.SubmitScreeningRequest], context: Any
    ) -> pb.SubmitScreeningResponse:
        header = (await first(request_iterator)).header
        check("the batch", header_faults(header))
        with tempfile.TemporaryDirectory(prefix="firetrial-batch-") as folder:
            uploaded = await spool(chunks(request_iterator), Path(folder) / "items", header.size)
            wanted = Wanted(
                uploaded.path,
                uploaded.sha256,
                format_to_domain(header.format),
                source=header.source,
                offline=header.offline,
                max_cost_usd=header.max_cost_usd if header.HasField("max_cost_usd") else None,
                retry_errors=header.retry_errors,
            )
            record = await self._screenings.submit(wanted)
        return pb.SubmitScreeningResponse(screening=screening_to_wire(record))

    async def GetScreening(self, request: pb.GetScreeningRequest, context: Any) -> pb.GetScreeningResponse:
        record = await self._screenings.records.get(request.id)
        return pb.GetScreeningResponse(screening=screening_to_wire(record))

    async def ListScreenings(
        self, request: pb.ListScreeningsRequest, context: Any
    ) -> pb.ListScreeningsResponse:
        records, token = await self._screenings.records.page(request.page_size, request.page_token)
        return pb.ListScreeningsResponse(screenings=map(screening_to_wire, records), next_page_token=token)

    async def WatchScreening(
        self, request: pb.WatchScreeningRequest, context: Any
    ) -> AsyncIterator[pb.WatchScreeningResponse]:
        await self._screenings.records.get(request.id)
        async for record in self._screenings.records.watch(request.id):
            yield pb.WatchScreeningResponse(screening=screening_to_wire(record))
            if record.state.settled:
                return

    async def CancelScreening(
        self, request: pb.CancelScreeningRequest, context: Any
    ) -> pb.CancelScreeningResponse:
        record = await self._screenings.cancel(request.id)
        return pb.CancelScreeningResponse(screening=screening_to_wire(record))

    async def ListScreenedPapers(
        self, request: pb.ListScreenedPapersRequest, context: Any
    ) -> pb.ListScreenedPapersResponse:
        check("the request", outcome_faults(iter(request.outcomes)))
        outcomes = frozenset(map(outcome_to_domain, request.outcomes))
        found, token = await self._screenings.page(
            request.screening_id, outcomes, request.page_size, request.page_token
        )
        model = (await self._screenings.records.get(request.screening_id)).model
        papers = (screened_to_wire(one, model) for one in found)
        return pb.ListScreenedPapersResponse(papers=papers, next_page_token=token)
