"""What a scheduler of a cluster does for us: jobs are submitted, looked at, found again and cancelled."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from firetrial_kit.errors import Fault, FiretrialError, Reason

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,62}")
# What no scheduler's script needs quotes for: PSI/J puts values between quotes of its own.
_WORD = re.compile(r"[\w@%+=:,./-]*")
_ATTRIBUTE = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_SECRET = re.compile(r"(SECRET|PASSWORD|TOKEN|API_?KEY|CREDENTIALS?)", re.IGNORECASE)


class JobState(StrEnum):
    """Where a job stands. One that is put back into the queue is QUEUED again, with more `restarts`."""

    QUEUED = "QUEUED"
    ACTIVE = "ACTIVE"
    DONE = "DONE"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"
    # Ended to make room for another, and not put back into the queue.
    PREEMPTED = "PREEMPTED"
    TIMEOUT = "TIMEOUT"
    NODE_FAIL = "NODE_FAIL"
    # The scheduler does not know the job (any more).
    UNKNOWN = "UNKNOWN"

    @property
    def lives(self) -> bool:
        """Whether the job has or may still get a place to run."""
        return self in {JobState.QUEUED, JobState.ACTIVE}


@dataclass(frozen=True, slots=True)
class JobStatus:
    """`detail` is the scheduler's own word for it. `exit_code` is told of jobs that ended by themselves.

    restarts: how often it was put back into the queue, as far as the scheduler tells. node: where it runs.
    """

    state: JobState
    detail: str = ""
    exit_code: int | None = None
    restarts: int = 0
    node: str = ""


@dataclass(frozen=True, slots=True)
class Job:
    """A job as the scheduler knows it."""

    id: str
    name: str
    status: JobStatus


@dataclass(frozen=True, slots=True)
class JobSpec:
    """A job to be: the program `argv` becomes the job itself, so that the scheduler's signals reach it.

    name: letters, digits and dashes; `find` finds jobs by how it begins. folder: on a file system that the
    nodes share; the job starts there. wall_s: its time from its start; Slurm and LSF round up to minutes.
    memory_bytes: 0 leaves it to the site. gpus: whole ones. queue: the partition of Slurm.
    attributes: options of the scheduler's own, such as {"qos": "low"}. env: nothing secret, for it stands in
    the job's script; a job has what its user has on logging in, and this.
    """

    name: str
    argv: tuple[str, ...]
    folder: Path
    wall_s: float
    cpus: int = 1
    memory_bytes: int = 0
    gpus: int = 0
    queue: str = ""
    account: str = ""
    attributes: Mapping[str, str] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)

    def faults(self) -> Iterator[Fault]:
        """What no scheduler would take, or what would be read differently there."""
        if not _NAME.fullmatch(self.name):
            yield Fault("name", self.name, "must be a letter, then letters, digits and -, at most 63")
        if not self.argv or not self.argv[0].startswith("/"):
            yield Fault("argv", " ".join(self.argv), "must begin with a program's absolute path")
        if not self.folder.is_absolute():
            yield Fault("folder", str(self.folder), "must be absolute")
        if not 1 <= self.wall_s <= 366 * 86400:
            yield Fault("wall_s", f"{self.wall_s:g}", "must be 1 second to 366 days")
        if not 1 <= self.cpus <= 4096:
            yield Fault("cpus", str(self.cpus), "must be 1 to 4096")
        if self.memory_bytes < 0 or 0 < self.memory_bytes < 2**20:
            yield Fault("memory_bytes", str(self.memory_bytes), "must be 0 (the site's) or at least 1 MiB")
        if not 0 <= self.gpus <= 64:
            yield Fault("gpus", str(self.gpus), "must be 0 to 64")
        yield from self._word_faults()

    def _word_faults(self) -> Iterator[Fault]:
        words = {"folder": str(self.folder), "queue": self.queue, "account": self.account}
        words |= {f"attributes[{name!r}]": value for name, value in self.attributes.items()}
        for name, value in words.items():
            if not _WORD.fullmatch(value):
                yield Fault(name, value, "must be of letters, digits and @ % + = : , . / _ -")
        for name in self.attributes:
            if not _ATTRIBUTE.fullmatch(name):
                yield Fault("attributes", name, "must be an option's name, without the scheduler's dashes")
        for name in self.env:
            if not name.isidentifier() or _SECRET.search(name):
                told = (
                    "must be a variable's name, and of nothing secret: a job's script can be read by others"
                )
                yield Fault("env", name, told)


class SchedulerError(FiretrialError):
    """The scheduler could not be asked, or refused.

    PRECONDITION: refused, and nothing was done. UNAVAILABLE: no answer; a job may have been submitted all
    the same, so look for it by its name before submitting it again.
    """

    def __init__(self, message: str, *, refused: bool) -> None:
        super().__init__(Reason.PRECONDITION if refused else Reason.UNAVAILABLE, message)
        self.refused = refused


class Scheduler(Protocol):
    """A cluster's scheduler. Each method asks once, for however many jobs, and raises SchedulerError."""

    @property
    def name(self) -> str:
        """Which it is: "slurm", "pbs", "lsf", "flux" or "local"."""
        ...

    async def submit(self, spec: JobSpec) -> str:
        """Submit a job and return its id. Raises INVALID where the spec has faults."""
        ...

    async def statuses(self, ids: Collection[str]) -> Mapping[str, JobStatus]:
        """The status of each of these jobs; UNKNOWN for one that was forgotten."""
        ...

    async def cancel(self, ids: Collection[str], *, queued_only: bool = False) -> None:
        """Cancel these jobs; nothing where they are over. They are told first (SIGTERM), then killed.

        queued_only: those that have not started. Slurm sees to that itself; elsewhere one may start just
        before, and is told to end.
        """
        ...

    async def find(self, tag: str) -> list[Job]:
        """All jobs of this user whose name begins with `tag`, those that ended lately among them."""
        ...
