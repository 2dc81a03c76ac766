"""What the parser keeps of papers, tasks and requests."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from firetrial_kit.objects import ObjectRef


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
    """A paper. `id` is the sha256 of its bytes; `attempt` grows when a failed one is submitted again."""

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


@dataclass(frozen=True, slots=True)
class TaskRecord:
    """A task that is stored. `ref` is the object with its public part, which never changes."""

    id: str
    ref: ObjectRef
    created_at: datetime


@dataclass(frozen=True, slots=True)
class RequestRecord:
    """What a caller's request id was used for."""

    resource_id: str
    experiment_id: str
