"""Proposals: what an agent means to do, and what is said of it before money is spent."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from typing import TYPE_CHECKING, Any

from google.protobuf.json_format import ParseDict, ParseError

from firetrial.parser.v1 import parser_service_pb2 as pb
from firetrial.parser.v1.parser_service_pb2_grpc import ParserServiceStub
from firetrial.parser.v1.proposal_pb2 import Proposal, ProposalParts
from firetrial_client.calls import Caller
from firetrial_client.errors import Fault, invalid

if TYPE_CHECKING:
    from firetrial.parser.v1.parser_service_pb2_grpc import ParserServiceAsyncStub

_OUTCOMES = {
    False: pb.SubmitProposalRequest.OUTCOMES_REFUSE,
    True: pb.SubmitProposalRequest.OUTCOMES_MASK,
}


class ProposalCalls(Caller):
    """Methods on proposals."""

    @property
    def _proposals(self) -> ParserServiceAsyncStub:
        return ParserServiceStub(self._channels.of("parser"))

    async def submit_proposal(
        self,
        proposal: Mapping[str, Any] | None = None,
        *,
        paper_id: str = "",
        agent_id: str = "",
        task_id: str = "",
        mask_outcomes: bool = False,
    ) -> Proposal:
        """Hand in a proposal, or have it extracted from a paper that was read; it is assessed in both modes.

        `proposal` is its JSON: hypothesis, abstract, related_work, experiments (goal, datasets, models,
        baselines, setup, metrics), risks, title. Results in it are refused, or masked and listed. Raises
        INVALID with every fault, NOT_FOUND for no paper, PRECONDITION for one that was not read.
        """
        request = pb.SubmitProposalRequest(
            agent_id=agent_id, task_id=task_id, outcomes=_OUTCOMES[mask_outcomes]
        )
        if proposal is None:
            request.paper_id = paper_id
        else:
            request.title = str(proposal.get("title", ""))
            request.parts.CopyFrom(_parts(proposal))
        return (await self._one("parser", lambda: self._proposals.SubmitProposal, request)).proposal

    async def get_proposal(self, proposal_id: str) -> Proposal:
        """Raises NOT_FOUND."""
        request = pb.GetProposalRequest(id=proposal_id)
        return (await self._one("parser", lambda: self._proposals.GetProposal, request)).proposal

    def list_proposals(self) -> AsyncGenerator[Proposal, None]:
        """Every proposal, page by page, without parts, claims and rationales."""
        request = pb.ListProposalsRequest()
        return self._pages("parser", lambda: self._proposals.ListProposals, request, "proposals")

    def watch_proposal(
        self, proposal_id: str, *, timeout: float | None = None
    ) -> AsyncGenerator[Proposal, None]:
        """The proposal now and after each change, until it is ASSESSED or FAILED.

        Raises NOT_FOUND, and DEADLINE after `timeout` seconds.
        """
        request = pb.WatchProposalRequest(id=proposal_id)
        return self._changes(
            "parser",
            lambda: self._proposals.WatchProposal,
            request,
            lambda answer: answer.proposal,
            timeout=timeout,
        )


def _parts(proposal: Mapping[str, Any]) -> ProposalParts:
    try:
        return ParseDict({key: v for key, v in proposal.items() if key != "title"}, ProposalParts())
    except ParseError as error:
        cure = (
            "must have hypothesis, abstract, related_work, experiments (goal, datasets, models, baselines, "
            "setup, metrics), risks and title"
        )
        raise invalid("the proposal", [Fault("proposal", f"{cure}: {error}")]) from None
