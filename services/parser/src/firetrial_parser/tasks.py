"""Tasks kept: truth first, then the check of what leaks, then the public part, then the record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from firetrial.parser.v1 import task_pb2
from firetrial_kit import tenants
from firetrial_kit.asking import Spent
from firetrial_kit.clock import Clock
from firetrial_kit.errors import Fault, FiretrialError, Reason
from firetrial_kit.hosts import ALONE, Network
from firetrial_kit.records import Records
from firetrial_kit.references import ref_to_wire
from firetrial_parser.archive import Archive
from firetrial_parser.instruction import public_part
from firetrial_parser.kinds.by_kind import Special
from firetrial_parser.leaks.checking import LeakCheck, LeakChecker, Overruling
from firetrial_parser.leaks.leak import Secrets
from firetrial_parser.metrics import ParserMetrics
from firetrial_parser.prose import sentences
from firetrial_parser.rating import UNRATED, Rating
from firetrial_parser.records import TaskRecord, TaskState
from firetrial_parser.source import Source
from firetrial_parser.task import MadeTask, content_version
from firetrial_parser.task_wire import tell
from firetrial_parser.wire import network_to_wire, rate, source_to_wire, task_to_wire, truth_to_wire


@dataclass(frozen=True, slots=True)
class OutsideTask:
    """A task made elsewhere. `data` is a tar on disk, with its sha256, or None; `truth` may be empty.

    `sources` name further data that is not handed in. `special` is what its kind adds; None for rediscovery.
    """

    slug: str
    question: str
    instruction: str
    truth: str
    broken: tuple[str, ...]
    origin: str
    data: Path | None = None
    data_sha256: str = ""
    rating: Rating = UNRATED
    sources: tuple[Source, ...] = ()
    network: Network = ALONE
    special: Special | None = None

    @property
    def version(self) -> str:
        """The content hash."""
        return content_version(
            self.question,
            self.instruction,
            self.truth,
            data_sha256=self.data_sha256,
            source=self.origin,
            rating=self.rating,
            sources=[str(source) for source in self.sources],
            network=self.network,
            special=self.special.identity if self.special else None,
        )

    @property
    def public(self) -> str:
        """All that an agent reads."""
        return public_part(self.question, self.instruction)


class Tasks:
    """The tasks of this installation. They never change, so keeping one twice keeps it once."""

    def __init__(
        self,
        records: Records[TaskRecord],
        archive: Archive,
        clock: Clock,
        metrics: ParserMetrics,
        checker: LeakChecker,
    ) -> None:
        self.records = records
        self.archive = archive
        self.checker = checker
        self._clock = clock
        self._metrics = metrics

    async def keep(
        self, made: MadeTask, paper_id: str, model: str = "", spent: Mapping[str, Spent] | None = None
    ) -> TaskRecord:
        """Store a task made from a paper; one that gives something away is blocked.

        Raises what the judge raises where it cannot be asked: the task is then made again later.
        """
        made = made.of(tenants.beside(paper_id, made.public.id))
        known = await self.records.find(made.public.id)
        if known is not None:
            return known
        truth = await self.archive.put_truth(truth_to_wire(made.truth))
        public = public_part(made.public.question, made.public.instruction)
        check = await self.checker.check(public, made.secrets, made.truth.statements)
        task = task_to_wire(made.public, paper_id=paper_id, truth=truth)
        state = TaskState.BLOCKED if check.leaks else TaskState.PUBLISHED
        return await self._store(task, state, check, model, spent or {})

    async def take_in(self, outside: OutsideTask) -> TaskRecord:
        """Store a task made elsewhere. What it gives away is told and blocks nothing: it is as it is."""
        version = outside.version
        id_ = tenants.mine(f"{outside.slug}-{version}")
        known = await self.records.find(id_)
        if known is not None:
            return known
        task = task_pb2.Task(
            id=id_,
            version=version,
            kind=task_pb2.TASK_KIND_REDISCOVERY,
            question=outside.question,
            instruction=outside.instruction,
            broken=outside.broken,
            origin=outside.origin,
            has_truth=bool(outside.truth),
            sources=map(source_to_wire, outside.sources),
            network=network_to_wire(outside.network),
        )
        rate(task, outside.rating)
        if outside.special is not None:
            await outside.special.put(self.archive, task)
        if outside.data is not None:
            task.data.CopyFrom(ref_to_wire(await self.archive.put_data(id_, outside.data)))
        check = None
        if outside.truth:
            truth = task_pb2.GroundTruth(task_id=id_, text=outside.truth)
            task.truth.CopyFrom(ref_to_wire(await self.archive.put_truth(truth)))
            check = await self._listed(outside)
        return await self._store(task, TaskState.PUBLISHED, check, "", {})

    async def _listed(self, outside: OutsideTask) -> LeakCheck:
        """What an outside task gives away, by words alone where the judge cannot be asked."""
        findings = sentences(outside.truth)
        secrets = Secrets.of_findings(findings)
        try:
            return await self.checker.check(outside.public, secrets, findings)
        except FiretrialError:
            return await LeakChecker(None).check(outside.public, secrets, findings)

    async def message(self, record: TaskRecord) -> task_pb2.Task:
        """A task's public part with what its record knows."""
        return tell(await self.archive.task(record.ref), record)

    async def overrule(self, task_id: str, by: str, reason: str) -> TaskRecord:
        """Publish a blocked task in the name of who answers for it. The same again changes nothing.

        Raises NOT_FOUND, PRECONDITION for a task that nothing blocks, and ALREADY_EXISTS where another name
        or reason stands.
        """
        record = await self.records.get(task_id)
        _check_overruling(record, by, reason)
        if record.state is TaskState.BLOCKED:
            record = await self._unblock(record, by, reason)
            _check_overruling(record, by, reason)
        return record

    async def _unblock(self, record: TaskRecord, by: str, reason: str) -> TaskRecord:
        """The public part where runners read it, then the record."""
        ref = await self.archive.put_task(await self.archive.task(record.ref))
        at = self._clock.now()

        def published(current: TaskRecord) -> TaskRecord | None:
            if current.state is not TaskState.BLOCKED or current.check is None:
                return None
            check = replace(current.check, overruling=Overruling(by, reason, at))
            return replace(current, state=TaskState.PUBLISHED, ref=ref, check=check)

        return await self.records.change(record.id, published)

    async def _store(
        self,
        task: task_pb2.Task,
        state: TaskState,
        check: LeakCheck | None,
        model: str,
        spent: Mapping[str, Spent],
    ) -> TaskRecord:
        blocked = state is TaskState.BLOCKED
        ref = await (self.archive.put_blocked(task) if blocked else self.archive.put_task(task))
        record = TaskRecord(task.id, ref, self._clock.now(), state, check, (), model, spent)
        if await self.records.create(task.id, record):
            self._metrics.stored(task.origin)
            return record
        return await self.records.get(task.id)


def _check_overruling(record: TaskRecord, by: str, reason: str) -> None:
    if not record.was_blocked:
        raise FiretrialError(
            Reason.PRECONDITION, f"nothing blocks the task {record.id}: there is nothing to overrule"
        )
    stands = record.check.overruling if record.check else None
    if stands is not None and (stands.by, stands.reason) != (by, reason):
        fault = Fault("by", by, f"{stands.by} overruled it already: {stands.reason}")
        raise FiretrialError(Reason.ALREADY_EXISTS, str(fault), faults=[fault])
