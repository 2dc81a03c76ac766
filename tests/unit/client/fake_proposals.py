"""The part of the fake parser that knows proposals: by their title they are judged low, or fail."""
# ruff: noqa: N802 - names are the contract's

from __future__ import annotations

from typing import Any

import grpc

from firetrial.parser.v1 import parser_service_pb2 as parser
from firetrial.parser.v1 import parser_service_pb2_grpc, proposal_pb2
from firetrial.plan.v1.plan_pb2 import Gate


class FakeProposals(parser_service_pb2_grpc.ParserServiceServicer):
    world: Any

    def SubmitProposal(self, request: Any, context: Any) -> Any:
        self.world.headers.append(request)
        found = proposal_pb2.Proposal(
            id=f"q-{request.title or 'paper'}",
            state=proposal_pb2.PROPOSAL_STATE_SUBMITTED,
            title=request.title,
            parts=request.parts,
            paper_id=request.paper_id,
            agent_id=request.agent_id,
            task_id=request.task_id,
        )
        self.world.proposals[found.id] = found
        return parser.SubmitProposalResponse(proposal=found)

    def GetProposal(self, request: Any, context: Any) -> Any:
        if request.id not in self.world.proposals:
            context.abort(grpc.StatusCode.NOT_FOUND, f"there is no proposal {request.id!r}")
        return parser.GetProposalResponse(proposal=self.world.proposals[request.id])

    def ListProposals(self, request: Any, context: Any) -> Any:
        return parser.ListProposalsResponse(proposals=self.world.proposals.values())

    def WatchProposal(self, request: Any, context: Any) -> Any:
        found = self.world.proposals[request.id]
        yield parser.WatchProposalResponse(proposal=found)
        if found.title == "broken":
            found.state, found.failure = proposal_pb2.PROPOSAL_STATE_FAILED, "no usable answer"
        else:
            assess(found, high=found.title != "weak")
        yield parser.WatchProposalResponse(proposal=found)


def assess(found: proposal_pb2.Proposal, *, high: bool) -> None:
    """Say of a proposal what the parser would."""
    found.state = proposal_pb2.PROPOSAL_STATE_ASSESSED
    bucket = proposal_pb2.Assessment.BUCKET_HIGH if high else proposal_pb2.Assessment.BUCKET_LOW
    for mode in (Gate.MODE_STANDARD, Gate.MODE_AGGRESSIVE):
        found.assessments.add(
            mode=mode,
            bucket=bucket,
            confidence=4,
            rationale="So it is.\x1b[31m",
            assessor="m",
            screened=["x"],
        )
    claims = ("RULING_SUPPORTED", "RULING_UNSUPPORTED", "RULING_UNSPECIFIED")
    for ruling in claims:
        found.support.claims.add(ruling=ruling)
    found.support.ratio, found.support.method = 0.5, "lexical"
    found.masked.add(part="abstract", text="we win", reason="says what does better")
