"""Papers, trees and tasks: what the parser owns."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from google.protobuf.json_format import ParseDict

from firetrial.parser.v1 import parser_service_pb2 as pb
from firetrial.parser.v1.candidate_pb2 import Candidate
from firetrial.parser.v1.paper_pb2 import Node, Paper
from firetrial.parser.v1.parser_service_pb2_grpc import ParserServiceStub
from firetrial.parser.v1.task_pb2 import (
    TASK_VARIANT_REDISCOVERY,
    DataSource,
    Difficulty,
    Network,
    Task,
    TaskVariant,
)
from firetrial.plan.v1.plan_pb2 import Plan
from firetrial_client.calls import Caller
from firetrial_client.uploads import opened

if TYPE_CHECKING:
    from firetrial.parser.v1.parser_service_pb2_grpc import ParserServiceAsyncStub

# A model words and rates a task, and a judge looks for what it gives away.
_MAKING = 600.0


class PaperCalls(Caller):
    """Methods on papers and tasks."""

    @property
    def _parser(self) -> ParserServiceAsyncStub:
        return ParserServiceStub(self._channels.of("parser"))

    async def submit_paper(
        self,
        paper: Path | bytes,
        *,
        filename: str = "",
        plan: Plan | None = None,
        request_id: str = "",
    ) -> pb.SubmitPaperResponse:
        """Upload a paper; with a plan, everything that follows happens by itself.

        `filename` says by its ending how to read it (default: the path's name). Gives the paper and the id
        of the experiment that the plan asks for. Raises INVALID (also for a paper over the size limit).
        """
        name = filename or (paper.name if isinstance(paper, Path) else "")
        with opened(paper, "paper") as (body, size):
            header = pb.PaperHeader(filename=name, size=size, request_id=request_id, plan=plan)
            return await self._upload(
                "parser",
                lambda channel: ParserServiceStub(channel).SubmitPaper,
                pb.SubmitPaperRequest(header=header),
                body,
                lambda chunk: pb.SubmitPaperRequest(chunk=chunk),
            )

    async def get_paper(self, paper_id: str) -> Paper:
        """Raises NOT_FOUND."""
        request = pb.GetPaperRequest(id=paper_id)
        return (await self._one("parser", lambda: self._parser.GetPaper, request)).paper

    def list_papers(self) -> AsyncGenerator[Paper, None]:
        """Every paper, page by page."""
        return self._pages("parser", lambda: self._parser.ListPapers, pb.ListPapersRequest(), "papers")

    def watch_paper(self, paper_id: str, *, timeout: float | None = None) -> AsyncGenerator[Paper, None]:
        """The paper now and after each change, until it is READY, FAILED or CANCELLED.

        Goes on over restarts of the service. Raises NOT_FOUND, and DEADLINE after `timeout` seconds.
        """
        request = pb.WatchPaperRequest(id=paper_id)
        return self._changes(
            "parser", lambda: self._parser.WatchPaper, request, lambda answer: answer.paper, timeout=timeout
        )

    async def cancel_paper(self, paper_id: str) -> Paper:
        """Make nothing more of the paper; a paper whose tasks exist stays as it is. Raises NOT_FOUND."""
        request = pb.CancelPaperRequest(id=paper_id)
        return (await self._one("parser", lambda: self._parser.CancelPaper, request)).paper

    async def get_tree(self, paper_id: str) -> Node:
        """The root of the paper's research-problem tree. Raises NOT_FOUND, also before it is parsed."""
        request = pb.GetTreeRequest(paper_id=paper_id)
        return (await self._one("parser", lambda: self._parser.GetTree, request)).root

    async def get_whole_tree(self, paper_id: str) -> pb.GetTreeResponse:
        """The tree with what it says of its paper, how it was made and what supports it.

        `firetrial_client.trees.tree_file` makes a file of it. Raises as `get_tree` does.
        """
        request = pb.GetTreeRequest(paper_id=paper_id)
        return await self._one("parser", lambda: self._parser.GetTree, request)

    async def submit_task(
        self,
        slug: str,
        *,
        question: str,
        instruction: str,
        ground_truth: str = "",
        broken: Sequence[str] = (),
        origin: str = "",
        data: Path | bytes | None = None,
        difficulty: Mapping[str, int | str] | None = None,
        published: str = "",
        sources: Sequence[str] = (),
        network: Network | None = None,
        plan: Plan | None = None,
    ) -> pb.SubmitTaskResponse:
        """Store a task made elsewhere; `data` is a folder, or a tar as file or bytes.

        `difficulty` rates conceptual_decomposition, confound_control and analysis_complexity from 1 to 3,
        perhaps with `rated_by`;
        `published` is YYYY, YYYY-MM or YYYY-MM-DD. `sources` name data that operators of runners provide:
        "hf:org/name" by its Hugging Face id, anything else by its path in their data folder. `network`
        is what its runs may reach beside models. The ground truth can be handed in but never read again.
        Raises INVALID.
        """
        with opened(data, "data") as (body, size):
            header = pb.TaskHeader(
                slug=slug,
                question=question,
                instruction=instruction,
                ground_truth=ground_truth,
                broken=broken,
                origin=origin,
                data_size=size,
                difficulty=ParseDict(dict(difficulty), Difficulty()) if difficulty else None,
                published=published,
                sources=map(_source, sources),
                network=network,
                plan=plan,
            )
            return await self._upload(
                "parser",
                lambda channel: ParserServiceStub(channel).SubmitTask,
                pb.SubmitTaskRequest(header=header),
                body,
                lambda chunk: pb.SubmitTaskRequest(chunk=chunk),
            )

    async def submit_header(
        self, header: pb.TaskHeader, data: Path | bytes | None = None
    ) -> pb.SubmitTaskResponse:
        """Store a task, all of which `header` and `data` say: a folder, or a tar as file or bytes.

        Raises INVALID.
        """
        with opened(data, "data") as (body, size):
            sized = pb.TaskHeader()
            sized.CopyFrom(header)
            sized.data_size = size
            return await self._upload(
                "parser",
                lambda channel: ParserServiceStub(channel).SubmitTask,
                pb.SubmitTaskRequest(header=sized),
                body,
                lambda chunk: pb.SubmitTaskRequest(chunk=chunk),
            )

    async def get_task(self, task_id: str) -> Task:
        """The public part of the task. Raises NOT_FOUND."""
        request = pb.GetTaskRequest(id=task_id)
        return (await self._one("parser", lambda: self._parser.GetTask, request)).task

    async def list_candidates(self, paper_id: str) -> list[Candidate]:
        """The leaves of the paper's tree as targets of tasks, the best first. Raises NOT_FOUND."""
        request = pb.ListCandidatesRequest(paper_id=paper_id)
        answer = await self._one("parser", lambda: self._parser.ListCandidates, request)
        return list(answer.candidates)

    async def make_task(
        self,
        paper_id: str,
        *,
        leaf_path: str = "",
        variant: TaskVariant.ValueType = TASK_VARIANT_REDISCOVERY,
        plan: Plan | None = None,
    ) -> pb.MakeTaskResponse:
        """Make a task of a leaf, the best one where no path is given, and start the plan on it.

        A task that gives something away is answered as BLOCKED; its plan begins when that is overruled.
        Raises NOT_FOUND, INVALID for a leaf that can be no target, PRECONDITION for a replication of a leaf
        without a method.
        """
        request = pb.MakeTaskRequest(paper_id=paper_id, leaf_path=leaf_path, variant=variant, plan=plan)
        return await self._one("parser", lambda: self._parser.MakeTask, request, _MAKING)

    async def overrule_leak(self, task_id: str, *, by: str, reason: str) -> pb.OverruleLeakResponse:
        """Publish a blocked task in somebody's name; the same again changes nothing.

        Raises NOT_FOUND, PRECONDITION where nothing blocks it, ALREADY_EXISTS where another overruled it.
        """
        request = pb.OverruleLeakRequest(task_id=task_id, by=by, reason=reason)
        return await self._one("parser", lambda: self._parser.OverruleLeak, request)

    def list_tasks(self) -> AsyncGenerator[Task, None]:
        """Every task, page by page."""
        return self._pages("parser", lambda: self._parser.ListTasks, pb.ListTasksRequest(), "tasks")


def _source(told: str) -> DataSource:
    hub = told.removeprefix("hf:")
    return DataSource(path=told) if hub == told else DataSource(hugging_face=hub)
