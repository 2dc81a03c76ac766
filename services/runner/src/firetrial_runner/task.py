"""The public part of a task, as far as a run needs it."""

from __future__ import annotations

from dataclasses import dataclass, field

from firetrial_kit.hosts import Network
from firetrial_kit.objects import ObjectRef
from firetrial_runner.kinds.follow_up import FollowUp
from firetrial_runner.kinds.repository import Repository


@dataclass(frozen=True, slots=True)
class Source:
    """Data that an operator provides: as the task names it, and its path below the data folder."""

    told: str
    place: str


@dataclass(frozen=True, slots=True)
class Task:
    """`instruction` is the text of instruction.txt, `data` a tar of the files under data/."""

    id: str
    instruction: str
    data: ObjectRef | None
    sources: tuple[Source, ...] = ()
    network: Network = field(default_factory=Network)
    repository: Repository | None = None
    follow_up: FollowUp | None = None
