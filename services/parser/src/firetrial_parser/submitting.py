"""What a client submits: the header is checked before anything is taken, then come the bytes."""

from __future__ import annotations

import asyncio
import re
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

from firetrial.parser.v1 import parser_service_pb2 as pb
from firetrial_kit import tenants
from firetrial_kit.errors import Fault, FiretrialError, Reason, check
from firetrial_kit.records import Records
from firetrial_parser import source as sources
from firetrial_parser.announcing import Announcer
from firetrial_parser.intake import TAKEN, check_size, takes
from firetrial_parser.kinds import by_kind
from firetrial_parser.papers import Papers
from firetrial_parser.records import PaperRecord, RequestRecord, TaskRecord
from firetrial_parser.tasks import OutsideTask, Tasks
from firetrial_parser.upload import check_tar, chunks, first, size_faults, spool
from firetrial_parser.wire import (
    REACHES,
    experiment_id,
    network_to_domain,
    plan_faults,
    rating_to_domain,
    slip_to_wire,
    source_to_domain,
)

MAX_TEXT = 256 * 1024  # characters of a question, an instruction or a ground truth
MAX_BROKEN = 200
NO_ORIGIN = "client"

_REQUEST_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_SLUG = re.compile(r"[a-z0-9-]{1,64}")
_ORIGIN = re.compile(r"[a-z0-9-]{0,32}")


class Submitting:
    """Takes in papers and tasks. Limits are in bytes."""

    def __init__(
        self,
        papers: Papers,
        tasks: Tasks,
        announcer: Announcer,
        requests: Records[RequestRecord],
        *,
        max_paper: int,
        max_data: int,
    ) -> None:
        self._papers = papers
        self._tasks = tasks
        self._announcer = announcer
        self._requests = requests
        self._max_paper = max_paper
        self._max_data = max_data

    async def paper(self, parts: AsyncIterator[pb.SubmitPaperRequest]) -> tuple[PaperRecord, str]:
        """Store and announce a paper; gives its record and the experiment of its plan, or ""."""
        header = (await first(parts)).header
        check_size(header.size, self._max_paper)
        plan = header.plan if header.HasField("plan") else None
        check("the paper", [*_paper_faults(header), *(plan_faults(plan) if plan else ())])
        with tempfile.TemporaryDirectory(prefix="firetrial-paper-") as folder:
            uploaded = await spool(chunks(parts), Path(folder) / "source", header.size)
            paper_id = tenants.mine(uploaded.sha256)
            experiment = experiment_id(paper_id, plan, header.request_id) if plan else ""
            await self._once(header.request_id, paper_id, experiment)
            source = await self._papers.archive.put_source(paper_id, uploaded.path, header.filename)
        return await self._papers.submit(paper_id, source, header.filename, plan, experiment), experiment

    async def _once(self, request_id: str, resource_id: str, experiment: str) -> None:
        """Claim a request id. Raises ALREADY_EXISTS where it was used for something else."""
        claim, id_ = RequestRecord(resource_id, experiment), tenants.mine(request_id)
        if not request_id or await self._requests.create(id_, claim):
            return
        if await self._requests.get(id_) != claim:
            fault = Fault(
                "header.request_id", request_id, "was used for another submission; choose a new one"
            )
            raise FiretrialError(Reason.ALREADY_EXISTS, str(fault), faults=[fault])

    async def task(self, parts: AsyncIterator[pb.SubmitTaskRequest]) -> tuple[TaskRecord, str]:
        """Store and announce a task made elsewhere; gives its record and the experiment, or ""."""
        header = (await first(parts)).header
        plan = header.plan if header.HasField("plan") else None
        faults = [*task_faults(header), *size_faults("header.data_size", header.data_size, self._max_data)]
        check("the task", [*faults, *(plan_faults(plan) if plan else ())])
        with tempfile.TemporaryDirectory(prefix="firetrial-task-") as folder:
            uploaded = await spool(chunks(parts), Path(folder) / "data.tar", header.data_size)
            if header.data_size:
                await asyncio.to_thread(check_tar, uploaded.path)
            special = await asyncio.to_thread(by_kind.taken_apart, header, uploaded.path, Path(folder))
            own = header.data_size > 0 and special is None
            record = await self._tasks.take_in(
                OutsideTask(
                    slug=header.slug,
                    question=header.question,
                    instruction=special.briefed(header.instruction) if special else header.instruction,
                    truth=header.ground_truth,
                    broken=tuple(header.broken),
                    origin=header.origin or NO_ORIGIN,
                    data=uploaded.path if own else None,
                    data_sha256=uploaded.sha256 if own else "",
                    rating=rating_to_domain(header),
                    sources=tuple(map(source_to_domain, header.sources)),
                    network=network_to_domain(header.network),
                    special=special,
                )
            )
        experiment = experiment_id(record.id, plan, "") if plan else ""
        await self._announcer.task_created(record, slip_to_wire(plan, experiment, 1) if plan else None)
        return record, experiment


def _paper_faults(header: pb.PaperHeader) -> Iterator[Fault]:
    if not takes(header.filename):
        yield Fault("header.filename", header.filename, TAKEN)
    if len(header.filename) > 255:
        yield Fault("header.filename", header.filename[:80], "at most 255 characters")
    if header.request_id and not _REQUEST_ID.fullmatch(header.request_id):
        yield Fault("header.request_id", header.request_id, "must be [A-Za-z0-9_-]{1,64}, or empty")


def task_faults(header: pb.TaskHeader) -> Iterator[Fault]:
    """What is wrong with a submitted task, all of it."""
    for name, pattern in (("slug", _SLUG), ("origin", _ORIGIN)):
        value = getattr(header, name)
        if not pattern.fullmatch(value):
            yield Fault(f"header.{name}", value, f"must be {pattern.pattern}")
    for name in ("question",) if header.HasField("follow_up") else ("question", "instruction"):
        if not getattr(header, name).strip():
            yield Fault(f"header.{name}", "", "must not be empty")
    for name in ("question", "instruction", "ground_truth"):
        length = len(getattr(header, name))
        if length > MAX_TEXT:
            yield Fault(f"header.{name}", f"{length} characters", f"at most {MAX_TEXT} characters")
    if len(header.broken) > MAX_BROKEN or any(len(line) > 1000 for line in header.broken):
        yield Fault(
            "header.broken", f"{len(header.broken)} lines", f"at most {MAX_BROKEN} lines of 1000 characters"
        )
    yield from rating_to_domain(header).faults("header")
    yield from sources.faults(map(source_to_domain, header.sources), "header.sources")
    if header.network.reach not in REACHES:
        yield Fault("header.network.reach", str(header.network.reach), "must be a reach")
    yield from network_to_domain(header.network).faults("header.network")
    yield from by_kind.faults(header)
