"""Follow-up tasks on their way in: protobuf ↔ domain, checked before their files come, and stored."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from firetrial.parser.v1 import follow_up_pb2, parser_service_pb2, task_pb2
from firetrial_kit.documents import load
from firetrial_kit.errors import Fault, FiretrialError, check
from firetrial_kit.ids import digest
from firetrial_kit.references import ref_to_wire
from firetrial_parser.archive import Archive
from firetrial_parser.kinds import follow_up as follow_ups
from firetrial_parser.kinds import rubrics
from firetrial_parser.kinds.follow_up import LISTS, Clause, FollowUp
from firetrial_parser.kinds.follow_up_briefing import briefed
from firetrial_parser.kinds.parcel import SOURCE, Parcel, unpack

MAX_RUBRIC = 512 * 1024  # characters of one


@dataclass(frozen=True, slots=True)
class FollowUpTask:
    """What a submitted task says of its follow-up, its rubrics as plain values, and the tar that came."""

    follow_up: FollowUp
    rubrics: Mapping[str, Any]
    parcel: Parcel

    @property
    def identity(self) -> dict[str, object]:
        """All that the kind adds to a task, as JSON values; of the rubrics, which are secret, a hash."""
        return {
            "follow_up": self.follow_up.identity,
            "rubrics": digest(self.rubrics),
            "parts": self.parcel.hashes,
        }

    def briefed(self, own: str) -> str:
        """The instruction for the agent; `own` words of the task come last."""
        return briefed(own, self.follow_up, list(rubrics.questions(self.rubrics)))

    async def put(self, archive: Archive, task: task_pb2.Task) -> None:
        """Store the rubrics, then the source, and write into the task what agents and runners may see."""
        secret = follow_up_pb2.Rubrics(**{name: json.dumps(tree) for name, tree in self.rubrics.items()})
        truth = task_pb2.GroundTruth(task_id=task.id, rubrics=secret)
        task.truth.CopyFrom(ref_to_wire(await archive.put_truth(truth)))
        task.has_truth = True
        task.kind = task_pb2.TASK_KIND_FOLLOW_UP
        task.follow_up.CopyFrom(follow_up_to_wire(self.follow_up))
        if SOURCE in self.parcel.tars:
            source = await archive.put_repository(task.id, self.parcel.tars[SOURCE].path)
            task.follow_up.source.CopyFrom(ref_to_wire(source))


def follow_up_to_domain(told: follow_up_pb2.FollowUpSpec) -> FollowUp:
    """The specification."""
    return FollowUp(
        paper_title=told.paper_title,
        direction=told.direction,
        background=told.background,
        rubrics_shown=told.rubrics_shown,
        **{name: tuple(Clause(c.id, c.text) for c in getattr(told, name)) for name in LISTS},
    )


def follow_up_to_wire(told: FollowUp) -> follow_up_pb2.FollowUpSpec:
    """The specification, without its source."""
    wired = follow_up_pb2.FollowUpSpec(
        paper_title=told.paper_title,
        direction=told.direction,
        background=told.background,
        rubrics_shown=told.rubrics_shown,
    )
    for name, clauses in told.lists.items():
        getattr(wired, name).extend(follow_up_pb2.Clause(id=c.id, text=c.text) for c in clauses)
    return wired


def follow_up_faults(header: parser_service_pb2.TaskHeader) -> Iterator[Fault]:
    """What is wrong with the specification and the rubrics of a header, and between the two."""
    if not header.HasField("follow_up"):
        if header.HasField("rubrics"):
            yield Fault("header.rubrics", "set", "go with a follow-up")
        return
    if header.HasField("repository"):
        yield Fault("header.repository", "set", "a task is of one kind: leave it unset beside follow_up")
    if header.ground_truth:
        yield Fault("header.ground_truth", "set", "a follow-up is graded by its rubrics: leave it empty")
    if header.follow_up.HasField("source"):
        yield Fault("header.follow_up.source", "set", "must be unset: it is made of the files uploaded")
    told = follow_up_to_domain(header.follow_up)
    yield from follow_ups.faults(told, "header.follow_up")
    documents, unreadable = _documents(header.rubrics)
    yield from unreadable
    if not unreadable:
        read = rubrics.read(documents)
        yield from read.faults
        yield from follow_ups.coverage_faults(told, read, "header.follow_up")


def taken_apart(header: parser_service_pb2.TaskHeader, upload: Path, folder: Path) -> FollowUpTask | None:
    """The follow-up of a task whose header is in order. Raises INVALID where its files do not fit it."""
    if not header.HasField("follow_up"):
        return None
    parcel = unpack(upload, folder) if header.data_size else Parcel()
    check("the task's files", _foreign(parcel.tars))
    return FollowUpTask(follow_up_to_domain(header.follow_up), _documents(header.rubrics)[0], parcel)


def _foreign(parts: Iterable[str]) -> Iterator[Fault]:
    for name in parts:
        if name != SOURCE:
            yield Fault("data", f"{name}/", f"is of no follow-up task: hand in {SOURCE}/ alone")


def _documents(told: follow_up_pb2.Rubrics) -> tuple[dict[str, Any], list[Fault]]:
    found: dict[str, Any] = {}
    faults: list[Fault] = []
    for name in rubrics.NAMES:
        text: str = getattr(told, name)
        if not 0 < len(text) <= MAX_RUBRIC:
            shown = f"{len(text)} characters"
            faults.append(Fault(f"header.rubrics.{name}", shown, f"must have 1 to {MAX_RUBRIC}"))
            continue
        try:
            found[name] = load(text.encode(errors="replace"), f"the {name} rubric")
        except FiretrialError as error:
            faults += [Fault(f"header.rubrics.{name}", f.value, f.cure) for f in error.faults]
    return found, faults
