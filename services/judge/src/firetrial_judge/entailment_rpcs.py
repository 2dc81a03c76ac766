"""The judge's RPC about what a text entails."""
# ruff: noqa: N802, ARG002 - names and parameters are the generated class's

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from firetrial.judge.v1 import entailment_pb2 as pb
from firetrial.judge.v1 import judge_service_pb2_grpc
from firetrial_judge.entailing import Entailing
from firetrial_judge.wire import entailment_to_wire, spec_to_domain, usage_to_wire
from firetrial_kit.errors import Fault, FiretrialError, Reason, check

MOST_HYPOTHESES = 500
MOST_TEXT = 256 * 1024


class EntailmentRpcs(judge_service_pb2_grpc.JudgeServiceServicer):
    """The part of firetrial.judge.v1.JudgeService that rules on hypotheses. Nothing of them is logged."""

    entailing: Entailing | None = None

    async def CheckEntailment(
        self, request: pb.CheckEntailmentRequest, context: Any
    ) -> pb.CheckEntailmentResponse:
        check("the request", _faults(request))
        if self.entailing is None:
            raise FiretrialError(Reason.NOT_YET, "this judge is not set up to rule on hypotheses")
        checked = await self.entailing.check(
            spec_to_domain(request.config),
            request.premise,
            list(request.hypotheses),
            atomic=request.atomic,
            searching=request.searching,
        )
        return pb.CheckEntailmentResponse(
            entailments=[
                entailment_to_wire(found.hypothesis, found.claim, found.ruling, request.premise)
                for found in checked.found
            ],
            config_hash=checked.config.hash,
            quality=checked.quality,
            usage=usage_to_wire(checked.spent),
        )


def _faults(request: pb.CheckEntailmentRequest) -> Iterator[Fault]:
    if not request.premise.strip():
        yield Fault("premise", "", "must hold text")
    if len(request.premise) > MOST_TEXT:
        yield Fault("premise", f"{len(request.premise)} characters", f"at most {MOST_TEXT} characters")
    if not 1 <= len(request.hypotheses) <= MOST_HYPOTHESES:
        yield Fault("hypotheses", f"{len(request.hypotheses)} texts", f"must be 1 to {MOST_HYPOTHESES} texts")
    if sum(map(len, request.hypotheses)) > MOST_TEXT:
        yield Fault("hypotheses", "too long", f"at most {MOST_TEXT} characters together")
    for n, text in enumerate(request.hypotheses):
        if not text.strip():
            yield Fault(f"hypotheses[{n}]", "", "must hold text")
