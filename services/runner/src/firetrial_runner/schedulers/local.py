"""Jobs as processes of this machine, for one that has no scheduler.

Not PSI/J's: there, jobs write into pipes to their parent and die with it, and cannot be found again.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import threading
import time
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from firetrial_kit.errors import check
from firetrial_runner.schedulers.port import Job, JobSpec, JobState, JobStatus, SchedulerError

_NAME, _UNTIL = "FIRETRIAL_JOB_NAME", "FIRETRIAL_JOB_UNTIL"
"""Variables by which a job is known, and which say when its time is over (seconds of the epoch)."""


class LocalScheduler:
    """Starts jobs at once, each in a session of its own, and finds them by their environment.

    CPUs, memory and GPUs are not shared out. A job's time is kept as long as somebody looks at the jobs.
    """

    name = "local"

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "local"
        self._children: dict[str, Child] = {}

    async def submit(self, spec: JobSpec) -> str:
        check("the job", spec.faults())
        self._folder.mkdir(parents=True, exist_ok=True)
        environ = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TZ") if name in os.environ}
        environ |= {**spec.env, _NAME: spec.name, _UNTIL: f"{time.time() + spec.wall_s:.0f}"}
        try:
            with (self._folder / f"{spec.name}.out").open("ab") as out:
                process = subprocess.Popen(  # noqa: ASYNC220 -- it is over when the program has begun
                    spec.argv, cwd=spec.folder, env=environ, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                    start_new_session=True,
                )  # fmt: skip
        except OSError as error:
            raise SchedulerError(f"{spec.argv[0]} could not be started: {error}", refused=True) from error
        threading.Thread(target=process.wait, daemon=True).start()  # else it stays until somebody asks
        id_ = _id(psutil.Process(process.pid))
        self._children[id_] = Child(spec.name, process)
        return id_

    async def statuses(self, ids: Collection[str]) -> Mapping[str, JobStatus]:
        known = {job.id: job.status for job in await asyncio.to_thread(self._jobs)}
        return {id_: known.get(id_, JobStatus(JobState.UNKNOWN)) for id_ in ids}

    async def cancel(self, ids: Collection[str], *, queued_only: bool = False) -> None:
        for id_ in () if queued_only else ids:  # none is ever queued
            if id_ in self._children:
                self._children[id_].cancelled = True
        for process in await asyncio.to_thread(_ours):
            if not queued_only and _id(process) in ids:
                _end(process)

    async def find(self, tag: str) -> list[Job]:
        return [job for job in await asyncio.to_thread(self._jobs) if job.name.startswith(tag)]

    def _jobs(self) -> list[Job]:
        """Children of ours, over or not, and what others of us have started."""
        found = {id_: Job(id_, child.name, child.status()) for id_, child in self._children.items()}
        for process in _ours():
            with suppress(psutil.Error):
                environ, id_ = process.environ(), _id(process)
                if time.time() > float(environ[_UNTIL]):
                    _end(process)
                found.setdefault(id_, Job(id_, environ[_NAME], JobStatus(JobState.ACTIVE, "process")))
        return list(found.values())


@dataclass(slots=True)
class Child:
    """A process that this one has started."""

    name: str
    process: subprocess.Popen[bytes]
    cancelled: bool = False

    def status(self) -> JobStatus:
        code = self.process.poll()
        if code is None:
            return JobStatus(JobState.ACTIVE, "process")
        if self.cancelled:
            return JobStatus(JobState.CANCELLED, "cancelled")
        return JobStatus(
            JobState.FAILED if code else JobState.DONE, "ended", 128 - code if code < 0 else code
        )


def _ours() -> list[psutil.Process]:
    """The processes that were submitted: of what they started, none leads a session with such a name."""
    return [process for process in psutil.process_iter() if _leads(process)]


def _leads(process: psutil.Process) -> bool:
    try:
        return os.getsid(process.pid) == process.pid and {_NAME, _UNTIL} <= set(process.environ())
    except (psutil.Error, OSError):
        return False


def _id(process: psutil.Process) -> str:
    """A process's number comes again; with the time of its start it does not."""
    return f"{process.pid}-{process.create_time() * 100:.0f}"


def _end(process: psutil.Process) -> None:
    """Told to end; what a runner that is told so does not end, ends with it."""
    with suppress(psutil.Error):
        process.terminate()
