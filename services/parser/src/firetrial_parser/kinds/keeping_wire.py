"""Repository tasks on their way in: checked before their files come, taken apart, and stored part by part."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from firetrial.parser.v1 import parser_service_pb2, task_pb2
from firetrial_kit.errors import Fault, check
from firetrial_kit.objects import ObjectRef
from firetrial_kit.references import ref_to_wire
from firetrial_parser.archive import Archive
from firetrial_parser.kinds import repository as repositories
from firetrial_parser.kinds.briefing import briefed
from firetrial_parser.kinds.parcel import FILES, SCORE, SOURCE, Parcel, unpack
from firetrial_parser.kinds.repository import Repository
from firetrial_parser.kinds.repository_wire import (
    reference_faults,
    repository_to_domain,
    repository_to_wire,
    sealed_to_wire,
)


@dataclass(frozen=True, slots=True)
class RepositoryTask:
    """What a submitted task says of its repository, and the tars that came with it."""

    repository: Repository
    parcel: Parcel

    @property
    def identity(self) -> dict[str, object]:
        """All that the kind adds to a task, as JSON values."""
        return {"repository": self.repository.identity, "parts": self.parcel.hashes}

    def briefed(self, own: str) -> str:
        """The instruction for the agent, from the task's own words."""
        return briefed(own, self.repository)

    async def put(self, archive: Archive, task: task_pb2.Task) -> None:
        """Store the parts, what is sealed first, and write into the task what agents and runners may see."""
        told, parts = self.repository, self.parcel.tars

        async def sealed(part: str, name: str) -> ObjectRef | None:
            return await archive.put_sealed(task.id, name, parts[part].path) if part in parts else None

        if told.test is not None:
            files, score = await sealed(FILES, "sealed-files"), await sealed(SCORE, "sealed-score")
            truth = task_pb2.GroundTruth(task_id=task.id, test=sealed_to_wire(told.test, files, score))
            task.truth.CopyFrom(ref_to_wire(await archive.put_truth(truth)))
        source = await archive.put_repository(task.id, parts[SOURCE].path) if SOURCE in parts else None
        task.kind = task_pb2.TASK_KIND_REPOSITORY
        task.has_truth = told.test is not None
        task.repository.CopyFrom(repository_to_wire(told, source))


def repository_faults(header: parser_service_pb2.TaskHeader) -> Iterator[Fault]:
    """What can be told to be wrong before the files are there."""
    yield from reference_faults(header)
    told = repository_to_domain(header)
    if told is None:
        return
    yield from repositories.faults(told, complete=header.data_size > 0)
    if header.ground_truth:
        yield Fault(
            "header.ground_truth", "set", "a repository task is scored by its sealed test: leave it empty"
        )
    if not header.data_size and not header.broken:
        cure = "upload source/, or say in `broken` what the task lacks"
        yield Fault("header.data_size", "0", cure)
    if not header.data_size and told.test is not None:
        yield Fault("header.test", "set", "goes with its sealed files: upload them, or leave it unset")


def taken_apart(header: parser_service_pb2.TaskHeader, upload: Path, folder: Path) -> RepositoryTask | None:
    """The repository of a task whose header is in order. Raises INVALID where its files do not fit it."""
    told = repository_to_domain(header)
    if told is None:
        return None
    if not header.data_size:
        return RepositoryTask(told, Parcel())
    parcel = unpack(upload, folder)
    check("the task's files", repositories.content_faults(told, parcel.contents))
    return RepositoryTask(told, parcel)
