"""The part of the fake analyzer that attributes."""
# ruff: noqa: N802 - methods are named as in the contract

from __future__ import annotations

from typing import Any

from firetrial.analyzer.v1 import analyzer_service_pb2 as analyzer
from firetrial.analyzer.v1 import analyzer_service_pb2_grpc
from firetrial.analyzer.v1 import attribution_pb2 as pb


class FakeAttributions(analyzer_service_pb2_grpc.AnalyzerServiceServicer):
    reviews: tuple[pb.Review, ...] = ()

    def GetAttribution(self, request: Any, context: Any) -> Any:
        return analyzer.GetAttributionResponse(attribution=self._attribution(request.run_id))

    def ReviewAttribution(self, request: Any, context: Any) -> Any:
        said = pb.Review(
            claim_id=request.claim_id,
            reviewer=request.reviewer,
            type=request.type or "LAZINESS",
            confirmed=not request.type,
            note=request.note,
        )
        self.reviews = (*self.reviews, said)
        return analyzer.ReviewAttributionResponse(attribution=self._attribution(request.run_id))

    def GetAgreement(self, request: Any, context: Any) -> Any:
        missed = pb.Agreement(reviewed=4, confirmed=3, share=0.75, low=0.3, high=0.95, kappa=0.5)
        missed.confusion.add(attributed="LAZINESS", reviewed="LAZINESS", count=3)
        missed.confusion.add(attributed="", reviewed="TIMEOUT", count=1)
        none = pb.Agreement()
        return analyzer.GetAgreementResponse(
            missed=none if request.experiment_id else missed, false_claims=none
        )

    def _attribution(self, run_id: str) -> pb.Attribution:
        found = pb.Attribution(
            run_id=run_id, method="m attribution-v1", tokens=120, refused=["t2: there is no step 99"]
        )
        step = pb.Citation(step=12, quote="n=5")
        found.missed.add(
            claim_id="t1", text="finding\x1b[31m", stage="EXECUTION", type="LAZINESS", citations=[step],
            settled_by="signals",
        )  # fmt: skip
        found.missed.add(claim_id="t2", text="another")
        found.false_claims.add(claim_id="a1", text="claim", kind="UNRELATED", settled_by="rules")
        found.signals.add(
            name="fewer_samples_than_asked", statement="5 of 50", settles="LAZINESS", citations=[step]
        )
        found.reviews.extend(self.reviews)
        return found
