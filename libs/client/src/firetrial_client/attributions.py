"""Attributions: why runs missed findings and stated false ones, and what people say of that."""

from __future__ import annotations

from typing import TYPE_CHECKING

from firetrial.analyzer.v1 import analyzer_service_pb2 as pb
from firetrial.analyzer.v1.analyzer_service_pb2_grpc import AnalyzerServiceStub
from firetrial.analyzer.v1.attribution_pb2 import Attribution
from firetrial_client.calls import Caller

if TYPE_CHECKING:
    from firetrial.analyzer.v1.analyzer_service_pb2_grpc import AnalyzerServiceAsyncStub


class AttributionCalls(Caller):
    """Methods on attributions."""

    @property
    def _attributing(self) -> AnalyzerServiceAsyncStub:
        return AnalyzerServiceStub(self._channels.of("analyzer"))

    async def get_attribution(self, run_id: str) -> Attribution:
        """Why a run's claims went wrong, with what people said. Raises NOT_FOUND, PRECONDITION."""
        request = pb.GetAttributionRequest(run_id=run_id)
        answer = await self._one("analyzer", lambda: self._attributing.GetAttribution, request)
        return answer.attribution

    async def review_attribution(
        self,
        run_id: str,
        claim_id: str,
        *,
        reviewer: str,
        type: str = "",  # noqa: A002 - the contract's name
        note: str = "",
    ) -> Attribution:
        """Confirm what is attributed to a claim, or say which type or kind is right.

        A reviewer's later word replaces the earlier. Raises INVALID, NOT_FOUND, PRECONDITION.
        """
        request = pb.ReviewAttributionRequest(
            run_id=run_id, claim_id=claim_id, reviewer=reviewer, type=type, note=note
        )
        answer = await self._one("analyzer", lambda: self._attributing.ReviewAttribution, request)
        return answer.attribution

    async def get_agreement(self, experiment_id: str = "") -> pb.GetAgreementResponse:
        """How far attributions and people agree, over one experiment or all of them."""
        request = pb.GetAgreementRequest(experiment_id=experiment_id)
        return await self._one("analyzer", lambda: self._attributing.GetAgreement, request)
