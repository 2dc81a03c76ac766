"""The parser's RPCs: protobuf in, protobuf out."""
# ruff: noqa: N802, ARG002 - names and parameters are the generated class's

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from firetrial.parser.v1 import parser_service_pb2 as pb
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_parser.papers import Papers
from firetrial_parser.selection.assembly import Selection
from firetrial_parser.selection.review_rpcs import ReviewRpcs
from firetrial_parser.selection.screening_rpcs import ScreeningRpcs
from firetrial_parser.soundness.proposal_rpcs import ProposalRpcs
from firetrial_parser.soundness.proposals import Proposals
from firetrial_parser.submitting import Submitting
from firetrial_parser.task_rpcs import Tasking
from firetrial_parser.wire import paper_to_wire


class ParserServicer(ScreeningRpcs, ReviewRpcs, ProposalRpcs):
    """firetrial.parser.v1.ParserService."""

    def __init__(
        self,
        submitting: Submitting,
        papers: Papers,
        tasking: Tasking,
        selection: Selection,
        proposals: Proposals,
    ) -> None:
        self._submitting = submitting
        self._papers = papers
        self._tasks = tasking.tasks
        self._tasking = tasking
        self._screenings = selection.screenings
        self._reviewing = selection.reviewing
        self._proposals = proposals

    async def SubmitPaper(
        self, request_iterator: AsyncIterator[pb.SubmitPaperRequest], context: Any
    ) -> pb.SubmitPaperResponse:
        record, experiment = await self._submitting.paper(request_iterator)
        return pb.SubmitPaperResponse(paper=paper_to_wire(record), experiment_id=experiment)

    async def GetPaper(self, request: pb.GetPaperRequest, context: Any) -> pb.GetPaperResponse:
        return pb.GetPaperResponse(paper=paper_to_wire(await self._papers.records.get(request.id)))

    async def ListPapers(self, request: pb.ListPapersRequest, context: Any) -> pb.ListPapersResponse:
        records, token = await self._papers.records.page(request.page_size, request.page_token)
        return pb.ListPapersResponse(papers=map(paper_to_wire, records), next_page_token=token)

    async def WatchPaper(
        self, request: pb.WatchPaperRequest, context: Any
    ) -> AsyncIterator[pb.WatchPaperResponse]:
        await self._papers.records.get(request.id)
        async for record in self._papers.records.watch(request.id):
            yield pb.WatchPaperResponse(paper=paper_to_wire(record))
            if record.state.settled:
                return

    async def CancelPaper(self, request: pb.CancelPaperRequest, context: Any) -> pb.CancelPaperResponse:
        return pb.CancelPaperResponse(paper=paper_to_wire(await self._papers.cancel(request.id)))

    async def GetTree(self, request: pb.GetTreeRequest, context: Any) -> pb.GetTreeResponse:
        record = await self._papers.records.get(request.paper_id)
        if record.tree is None:
            why = record.failure or "it has not been read yet; watch it"
            raise FiretrialError(Reason.NOT_FOUND, f"paper {record.id} has no tree: {why}")
        tree = await self._papers.archive.tree_message(record.tree)
        return pb.GetTreeResponse(
            root=tree.root, paper=tree.paper, extraction=tree.extraction, grounding=tree.grounding
        )

    async def SubmitTask(
        self, request_iterator: AsyncIterator[pb.SubmitTaskRequest], context: Any
    ) -> pb.SubmitTaskResponse:
        record, experiment = await self._submitting.task(request_iterator)
        return pb.SubmitTaskResponse(task=await self._tasks.message(record), experiment_id=experiment)

    async def GetTask(self, request: pb.GetTaskRequest, context: Any) -> pb.GetTaskResponse:
        return pb.GetTaskResponse(task=await self._tasks.message(await self._tasks.records.get(request.id)))

    async def ListTasks(self, request: pb.ListTasksRequest, context: Any) -> pb.ListTasksResponse:
        records, token = await self._tasks.records.page(request.page_size, request.page_token)
        tasks = await asyncio.gather(*map(self._tasks.message, records))
        return pb.ListTasksResponse(tasks=tasks, next_page_token=token)
