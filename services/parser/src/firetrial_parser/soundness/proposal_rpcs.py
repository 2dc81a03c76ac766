"""The parser's RPCs about proposals."""
# ruff: noqa: N802, ARG002 - names and parameters are the generated class's

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from firetrial.parser.v1 import parser_service_pb2 as pb
from firetrial.parser.v1 import parser_service_pb2_grpc, proposal_pb2
from firetrial_kit.errors import Fault, check
from firetrial_parser.soundness.proposal_wire import masks, proposal_to_domain, record_to_wire
from firetrial_parser.soundness.proposals import Proposals
from firetrial_parser.soundness.record import ProposalRecord, Source


class ProposalRpcs(parser_service_pb2_grpc.ParserServiceServicer):
    """The part of firetrial.parser.v1.ParserService that has proposals assessed."""

    _proposals: Proposals

    async def SubmitProposal(
        self, request: pb.SubmitProposalRequest, context: Any
    ) -> pb.SubmitProposalResponse:
        check("the request", _faults(request))
        source = Source(request.paper_id, request.agent_id, request.task_id)
        if request.WhichOneof("source") == "paper_id":
            record = await self._proposals.submit_paper(source)
        else:
            proposal = proposal_to_domain(request.parts, request.title)
            record = await self._proposals.submit(proposal, source, mask=masks(request))
        return pb.SubmitProposalResponse(proposal=await self._whole(record))

    async def GetProposal(self, request: pb.GetProposalRequest, context: Any) -> pb.GetProposalResponse:
        record = await self._proposals.records.get(request.id)
        return pb.GetProposalResponse(proposal=await self._whole(record))

    async def ListProposals(self, request: pb.ListProposalsRequest, context: Any) -> pb.ListProposalsResponse:
        records, token = await self._proposals.records.page(request.page_size, request.page_token)
        told = [record_to_wire(record, None, None) for record in records]
        return pb.ListProposalsResponse(proposals=told, next_page_token=token)

    async def WatchProposal(
        self, request: pb.WatchProposalRequest, context: Any
    ) -> AsyncIterator[pb.WatchProposalResponse]:
        await self._proposals.records.get(request.id)
        async for record in self._proposals.records.watch(request.id):
            yield pb.WatchProposalResponse(proposal=await self._whole(record))
            if record.state.settled:
                return

    async def _whole(self, record: ProposalRecord) -> proposal_pb2.Proposal:
        shelf = self._proposals.shelf
        kept = await shelf.kept(record.kept) if record.kept else None
        said = await shelf.said(record.said) if record.said else None
        return record_to_wire(record, kept, said)


def _faults(request: pb.SubmitProposalRequest) -> list[Fault]:
    faults = []
    if request.WhichOneof("source") is None:
        faults.append(Fault("source", "", "must be parts, or the id of a paper that was read"))
    if request.outcomes not in pb.SubmitProposalRequest.Outcomes.values():
        faults.append(Fault("outcomes", str(request.outcomes), "must be refuse or mask"))
    if request.WhichOneof("source") == "paper_id" and not request.paper_id:
        faults.append(Fault("paper_id", "", "must be the id of a paper that was read"))
    return faults
