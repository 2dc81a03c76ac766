"""The analyzer's RPCs on attributions and what people say of them."""
# ruff: noqa: N802, ARG002 - names and parameters are the generated class's

from __future__ import annotations

from typing import Any

from firetrial.analyzer.v1 import analyzer_service_pb2 as pb
from firetrial.analyzer.v1 import analyzer_service_pb2_grpc, attribution_pb2
from firetrial_analyzer.attribution_wire import agreement_to_wire, attribution_to_wire, review_to_wire
from firetrial_analyzer.reviewing import Reviewing
from firetrial_analyzer.wire import id_to_domain
from firetrial_kit.errors import FiretrialError, Reason


class AttributionRpcs(analyzer_service_pb2_grpc.AnalyzerServiceServicer):
    """The part of firetrial.analyzer.v1.AnalyzerService that attributes."""

    _reviewing: Reviewing | None = None

    async def GetAttribution(
        self, request: pb.GetAttributionRequest, context: Any
    ) -> pb.GetAttributionResponse:
        return pb.GetAttributionResponse(attribution=await self._attributed(request.run_id))

    async def ReviewAttribution(
        self, request: pb.ReviewAttributionRequest, context: Any
    ) -> pb.ReviewAttributionResponse:
        await self._reviews().review(
            id_to_domain("run_id", request.run_id),
            request.claim_id,
            reviewer=request.reviewer,
            type_=request.type,
            note=request.note,
        )
        return pb.ReviewAttributionResponse(attribution=await self._attributed(request.run_id))

    async def GetAgreement(self, request: pb.GetAgreementRequest, context: Any) -> pb.GetAgreementResponse:
        experiment = request.experiment_id and id_to_domain("experiment_id", request.experiment_id)
        missed, false = await self._reviews().agreement(experiment)
        return pb.GetAgreementResponse(
            missed=agreement_to_wire(missed), false_claims=agreement_to_wire(false)
        )

    async def _attributed(self, run_id: str) -> attribution_pb2.Attribution:
        item, reviews = await self._reviews().attributed(id_to_domain("run_id", run_id))
        wired = attribution_to_wire(item)
        wired.reviews.extend(map(review_to_wire, reviews))
        return wired

    def _reviews(self) -> Reviewing:
        if self._reviewing is None:
            raise FiretrialError(Reason.NOT_YET, "this analyzer is not set up for reviews")
        return self._reviewing
