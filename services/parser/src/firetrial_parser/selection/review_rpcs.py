"""The parser's RPCs about the review queue."""
# ruff: noqa: N802, ARG002 - names and parameters are the generated class's

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from firetrial.parser.v1 import parser_service_pb2, task_pb2
from firetrial.parser.v1 import review_pb2 as pb
from firetrial_kit.errors import Fault, check
from firetrial_parser.selection.review import Kind, ReviewRecord
from firetrial_parser.selection.review_wire import (
    agreement_to_wire,
    change_to_wire,
    choice_faults,
    edit_to_domain,
    fault_to_wire,
    kind_to_domain,
    request_faults,
    review_to_wire,
    state_to_domain,
    verdict_faults,
    verdict_to_domain,
)
from firetrial_parser.selection.reviewing import Reviewing
from firetrial_parser.selection.screening_wire import screened_to_wire
from firetrial_parser.selection.screenings import Screenings
from firetrial_parser.task_rpcs import TaskRpcs
from firetrial_parser.wire import node_to_wire


class ReviewRpcs(TaskRpcs):
    """The part of firetrial.parser.v1.ParserService in which people review."""

    _reviewing: Reviewing
    _screenings: Screenings

    async def ListReviews(self, request: pb.ListReviewsRequest, context: Any) -> pb.ListReviewsResponse:
        check("the request", choice_faults(request.kind, request.states))
        states = frozenset(map(state_to_domain, request.states))
        found, token = await self._reviewing.page(
            kind_to_domain(request.kind), states, request.page_size, request.page_token
        )
        reviews = (review_to_wire(record, request.reviewer) for record in found)
        return pb.ListReviewsResponse(reviews=reviews, next_page_token=token)

    async def GetReview(self, request: pb.GetReviewRequest, context: Any) -> pb.GetReviewResponse:
        record = await self._reviewing.records.get(request.id)
        answer = pb.GetReviewResponse(review=review_to_wire(record, request.reviewer))
        if record.kind is Kind.TREE:
            tree = await self._reviewing.tree(record, request.version)
            note = await self._reviewing.note(record, request.version)
            answer.tree.CopyFrom(node_to_wire(tree.root))
            answer.changes.extend(map(change_to_wire, note.changes))
            answer.faults.extend(map(fault_to_wire, note.faults))
        else:
            screened = await self._screenings.result(record.screening_id, record.place)
            model = (await self._screenings.records.get(record.screening_id)).model
            answer.screened.CopyFrom(screened_to_wire(screened, model))
        return answer

    async def DecideReview(self, request: pb.DecideReviewRequest, context: Any) -> pb.DecideReviewResponse:
        check("the request", [*verdict_faults(request.verdict), *request_faults(request.request_id)])
        record = await self._reviewing.decide(
            request.id,
            request.reviewer,
            verdict_to_domain(request.verdict),
            request.reason,
            version=request.version,
            request_id=request.request_id,
        )
        return pb.DecideReviewResponse(review=review_to_wire(record, request.reviewer))

    async def ResolveReview(self, request: pb.ResolveReviewRequest, context: Any) -> pb.ResolveReviewResponse:
        check("the request", [*verdict_faults(request.verdict), *request_faults(request.request_id)])
        record = await self._reviewing.resolve(
            request.id,
            request.by,
            verdict_to_domain(request.verdict),
            request.reason,
            version=request.version,
            request_id=request.request_id,
        )
        return pb.ResolveReviewResponse(review=review_to_wire(record, ""))

    async def ReopenReview(self, request: pb.ReopenReviewRequest, context: Any) -> pb.ReopenReviewResponse:
        check("the request", request_faults(request.request_id))
        record = await self._reviewing.reopen(
            request.id, request.reviewer, request.reason, request_id=request.request_id
        )
        return pb.ReopenReviewResponse(review=review_to_wire(record, request.reviewer))

    async def EditTree(self, request: pb.EditTreeRequest, context: Any) -> pb.EditTreeResponse:
        check("the request", request_faults(request.request_id))
        edits = list(map(edit_to_domain, request.edits))
        edited = await self._reviewing.edit(
            request.id, request.reviewer, request.version, edits, request_id=request.request_id
        )
        return pb.EditTreeResponse(
            review=review_to_wire(edited.record, request.reviewer),
            changes=map(change_to_wire, edited.changes),
            faults=map(fault_to_wire, edited.faults),
        )

    async def RevalidateTree(
        self, request: pb.RevalidateTreeRequest, context: Any
    ) -> pb.RevalidateTreeResponse:
        record, faults = await self._reviewing.revalidate(request.id, request.version)
        return _revalidated(record, faults)

    async def GetReviewAgreement(
        self, request: pb.GetReviewAgreementRequest, context: Any
    ) -> pb.GetReviewAgreementResponse:
        check("the request", choice_faults(request.kind))
        overall, pairs = await self._reviewing.agreement(kind_to_domain(request.kind))
        return pb.GetReviewAgreementResponse(
            overall=agreement_to_wire(overall), pairs=map(agreement_to_wire, pairs)
        )

    async def MakeReviewedTask(
        self, request: pb.MakeReviewedTaskRequest, context: Any
    ) -> pb.MakeReviewedTaskResponse:
        record = await self._reviewing.accepted(request.review_id, request.version)
        made = await self.MakeTask(
            parser_service_pb2.MakeTaskRequest(
                paper_id=record.paper_id,
                leaf_path=request.leaf_path,
                variant=task_pb2.TASK_VARIANT_REDISCOVERY,
                plan=request.plan if request.HasField("plan") else None,
            ),
            context,
        )
        return pb.MakeReviewedTaskResponse(task=made.task, experiment_id=made.experiment_id)


def _revalidated(record: ReviewRecord, faults: Iterable[Fault]) -> pb.RevalidateTreeResponse:
    return pb.RevalidateTreeResponse(review=review_to_wire(record, ""), faults=map(fault_to_wire, faults))
