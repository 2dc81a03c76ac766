"""What the parser keeps of papers, tasks and requests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum

from firetrial_kit.asking import Spent
from firetrial_kit.objects import ObjectRef
from firetrial_parser.leaks.checking import LeakCheck
from firetrial_parser.tree import Grounding


def billed(*bills: Mapping[str, Spent]) -> dict[str, Spent]:
    """Several bills, each by prompt, as one."""
    total: dict[str, Spent] = {}
    for bill in bills:
        for name, spent in bill.items():
            total[name] = total.get(name, Spent()) + spent
    return total


class PaperState(StrEnum):
    """The life of a paper; the names are those of the contract."""

    SUBMITTED = "SUBMITTED"
    PARSED = "PARSED"
    READY = "READY"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"

    @property
    def settled(self) -> bool:
        """Whether nothing more happens to the paper by itself."""
        return self in {PaperState.READY, PaperState.FAILED, PaperState.CANCELLED}


@dataclass(frozen=True, slots=True)
class PaperRecord:
    """A paper. `id` is the sha256 of its bytes, with its tenant's beginning.

    `attempt` grows when a failed one is submitted again.

    `document` is there once the file is read, by the version `reader` of what reads, and `tree` once that is
    made; `extraction` tells how, `refused` what was taken out of it. `model` is the last that was asked for
    it, and `spent` is what that took over all attempts, by prompt.
    """

    id: str
    state: PaperState
    filename: str
    source: ObjectRef
    submitted_at: datetime
    changed_at: datetime
    attempt: int = 1
    title: str = ""
    pages: int = 0
    document: ObjectRef | None = None
    tree: ObjectRef | None = None
    faults: tuple[str, ...] = ()
    task_ids: tuple[str, ...] = ()
    failure: str = ""
    reader: str = ""
    extraction: str = ""
    grounding: Grounding = field(default_factory=Grounding)
    refused: tuple[str, ...] = ()
    model: str = ""
    spent: Mapping[str, Spent] = field(default_factory=dict)

    def charged(self, model: str, spent: Mapping[str, Spent]) -> PaperRecord:
        """The record with what more was asked for."""
        return replace(self, model=model, spent=billed(self.spent, spent)) if spent else self


class TaskState(StrEnum):
    """The life of a task; the names are those of the contract."""

    PUBLISHED = "PUBLISHED"
    BLOCKED = "BLOCKED"


@dataclass(frozen=True, slots=True)
class Waiting:
    """An experiment that begins when its blocked task is published; `plan` is the plan's bytes in hex."""

    experiment_id: str
    plan: str


@dataclass(frozen=True, slots=True)
class TaskRecord:
    """A task that is stored. `ref` is the object with its public part, whose content never changes.

    `check` is None for a task without a ground truth. `model` is the one that was asked to make it, and
    `spent` is what that took, by prompt.
    """

    id: str
    ref: ObjectRef
    created_at: datetime
    state: TaskState = TaskState.PUBLISHED
    check: LeakCheck | None = None
    waiting: tuple[Waiting, ...] = ()
    model: str = ""
    spent: Mapping[str, Spent] = field(default_factory=dict)

    @property
    def was_blocked(self) -> bool:
        """Whether the check stopped it, also where that was overruled since."""
        overruled = self.check is not None and self.check.overruling is not None
        return self.state is TaskState.BLOCKED or overruled


@dataclass(frozen=True, slots=True)
class RequestRecord:
    """What a caller's request id was used for."""

    resource_id: str
    experiment_id: str
