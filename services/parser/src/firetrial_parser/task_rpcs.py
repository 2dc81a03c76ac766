"""The parser's RPCs about making tasks and publishing those that were blocked."""
# ruff: noqa: N802, ARG002 - names and parameters are the generated class's

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from firetrial.parser.v1 import parser_service_pb2 as pb
from firetrial.parser.v1 import parser_service_pb2_grpc
from firetrial_kit.errors import Fault, FiretrialError, Reason, check
from firetrial_parser.candidates import rank_candidates
from firetrial_parser.difficulty import rate_by_heuristic
from firetrial_parser.document import Document
from firetrial_parser.labels import without_labels
from firetrial_parser.making import Making
from firetrial_parser.papers import Papers
from firetrial_parser.prose import sentences
from firetrial_parser.publishing import Publishing
from firetrial_parser.task_wire import VARIANTS, candidate_to_wire
from firetrial_parser.tasks import Tasks
from firetrial_parser.tree import Node
from firetrial_parser.wire import experiment_id, plan_faults

MAX_NAME = 200
MAX_REASON = 2000


@dataclass(frozen=True, slots=True)
class Tasking:
    """What is done with tasks: kept, made, published."""

    tasks: Tasks
    making: Making
    publishing: Publishing


class TaskRpcs(parser_service_pb2_grpc.ParserServiceServicer):
    """The part of firetrial.parser.v1.ParserService that makes tasks of leaves and overrules leaks."""

    _papers: Papers
    _tasking: Tasking

    async def ListCandidates(
        self, request: pb.ListCandidatesRequest, context: Any
    ) -> pb.ListCandidatesResponse:
        document, root = await self._parsed(request.paper_id)
        return await asyncio.to_thread(_candidates, document, root)

    async def MakeTask(self, request: pb.MakeTaskRequest, context: Any) -> pb.MakeTaskResponse:
        plan = request.plan if request.HasField("plan") else None
        faults = [*(plan_faults(plan) if plan else ())]
        if request.variant not in VARIANTS:
            faults.append(Fault("variant", str(request.variant), "must be rediscovery or replication"))
        check("the request", faults)
        document, root = await self._parsed(request.paper_id)
        record = await self._tasking.making.of_leaf(
            document, root, request.leaf_path, VARIANTS[request.variant], request.paper_id
        )
        experiment = experiment_id(record.id, plan, "") if plan else ""
        await self._tasking.publishing.announce([record], plan, experiment)
        task = await self._tasking.tasks.message(record)
        return pb.MakeTaskResponse(task=task, experiment_id=experiment)

    async def OverruleLeak(self, request: pb.OverruleLeakRequest, context: Any) -> pb.OverruleLeakResponse:
        check("the request", _faults(request))
        record, experiments = await self._tasking.publishing.overrule(
            request.task_id, request.by.strip(), request.reason.strip()
        )
        task = await self._tasking.tasks.message(record)
        return pb.OverruleLeakResponse(task=task, experiment_ids=experiments)

    async def _parsed(self, paper_id: str) -> tuple[Document, Node]:
        """A paper's text and tree. Raises NOT_FOUND where it has none."""
        record = await self._papers.records.get(paper_id)
        if record.document is None or record.tree is None:
            why = record.failure or "it has not been read yet; watch it"
            raise FiretrialError(Reason.NOT_FOUND, f"paper {record.id} has no tree: {why}")
        archive = self._papers.archive
        return await archive.document(record.document), (await archive.tree(record.tree)).root


def _candidates(document: Document, root: Node) -> pb.ListCandidatesResponse:
    ranked = rank_candidates(document, root)
    answer = pb.ListCandidatesResponse()
    for rank, candidate in enumerate(ranked, 1):
        if candidate.against:
            answer.candidates.append(candidate_to_wire(candidate, 0, None))
            continue
        statements = without_labels(sentences(candidate.leaf.conclusion))
        answer.candidates.append(
            candidate_to_wire(candidate, rank, rate_by_heuristic(candidate.leaf, statements))
        )
    return answer


def _faults(request: pb.OverruleLeakRequest) -> Iterator[Fault]:
    for name, most in (("by", MAX_NAME), ("reason", MAX_REASON)):
        value = getattr(request, name)
        if not value.strip() or len(value) > most:
            yield Fault(name, value[:80], f"must hold 1 to {most} characters")
