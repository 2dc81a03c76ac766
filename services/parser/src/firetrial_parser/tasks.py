"""Tasks kept: truth first, then the public part, then the record; announced once all three stand."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from firetrial.parser.v1 import task_pb2
from firetrial_kit.clock import Clock
from firetrial_kit.hosts import ALONE, Network
from firetrial_kit.records import Records
from firetrial_kit.references import ref_to_wire
from firetrial_parser.archive import Archive
from firetrial_parser.metrics import ParserMetrics
from firetrial_parser.rating import UNRATED, Rating
from firetrial_parser.records import TaskRecord
from firetrial_parser.source import Source
from firetrial_parser.task import MadeTask, content_version
from firetrial_parser.wire import network_to_wire, rate, source_to_wire, task_to_wire, truth_to_wire


@dataclass(frozen=True, slots=True)
class OutsideTask:
    """A task made elsewhere. `data` is a tar on disk, with its sha256, or None; `truth` may be empty.

    `sources` name further data that is not handed in.
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
        )


class Tasks:
    """The tasks of this installation. They never change, so keeping one twice keeps it once."""

    def __init__(
        self, records: Records[TaskRecord], archive: Archive, clock: Clock, metrics: ParserMetrics
    ) -> None:
        self.records = records
        self.archive = archive
        self._clock = clock
        self._metrics = metrics

    async def keep(self, made: MadeTask, paper_id: str) -> TaskRecord:
        """Store a task made from a paper."""
        known = await self.records.find(made.public.id)
        if known is not None:
            return known
        truth = await self.archive.put_truth(truth_to_wire(made.truth))
        return await self._store(task_to_wire(made.public, paper_id=paper_id, truth=truth))

    async def take_in(self, outside: OutsideTask) -> TaskRecord:
        """Store a task made elsewhere."""
        version = outside.version
        id_ = f"{outside.slug}-{version}"
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
        if outside.data is not None:
            task.data.CopyFrom(ref_to_wire(await self.archive.put_data(id_, outside.data)))
        if outside.truth:
            truth = task_pb2.GroundTruth(task_id=id_, text=outside.truth)
            task.truth.CopyFrom(ref_to_wire(await self.archive.put_truth(truth)))
        return await self._store(task)

    async def message(self, record: TaskRecord) -> task_pb2.Task:
        """A task's public part with the time of its creation."""
        task = await self.archive.task(record.ref)
        task.created_at.FromDatetime(record.created_at)
        return task

    async def _store(self, task: task_pb2.Task) -> TaskRecord:
        record = TaskRecord(task.id, await self.archive.put_task(task), self._clock.now())
        if await self.records.create(task.id, record):
            self._metrics.tasks.labels(task.origin).inc()
            return record
        return await self.records.get(task.id)
