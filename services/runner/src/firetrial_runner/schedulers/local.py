"""Jobs as processes of this machine, for one that has no scheduler.

Not PSI/J's: there, jobs write into pipes to their parent and die with it, and cannot be found again.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import threading
import time
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from firetrial_kit.errors import check
from firetrial_runner.schedulers.port import Job, JobSpec, JobState, JobStatus, SchedulerError

_PATH = "/usr/local/bin:/usr/bin:/bin"
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
        environ = {"PATH": _PATH, "HOME": str(Path.home()), "LANG": "C.UTF-8"}
        environ |= {**spec.env, _NAME: spec.name, _UNTIL: f"{time.time() + spec.wall_s:.0f}"}
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            with (self._folder / f"{spec.name}.out").open("ab") as out:
                process = subprocess.Popen(  # noqa: ASYNC220 -- it is over when the program has begun
                    spec.argv, cwd=spec.folder, env=environ, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                    start_new_session=True,
                )  # fmt: skip
        except OSError as error:
            raise SchedulerError(f"{spec.argv[0]} could not be started: {error}", refused=True) from error
        id_ = _id(process.pid)
        threading.Thread(target=process.wait, daemon=True).start()  # else it stays until somebody asks
        self._children[id_] = Child(spec.name, process)
        return id_

    async def statuses(self, ids: Collection[str]) -> Mapping[str, JobStatus]:
        known = {job.id: job.status for job in await asyncio.to_thread(self._jobs)}
        return {id_: known.get(id_, JobStatus(JobState.UNKNOWN)) for id_ in ids}

    async def cancel(self, ids: Collection[str], *, queued_only: bool = False) -> None:
        for id_ in () if queued_only else ids:  # none is ever queued
            if id_ in self._children:
                self._children[id_].cancelled = True
        for id_, found in (await asyncio.to_thread(_ours)).items():
            if not queued_only and id_ in ids:
                found.end()

    async def find(self, tag: str) -> list[Job]:
        return [job for job in await asyncio.to_thread(self._jobs) if job.name.startswith(tag)]

    def _jobs(self) -> list[Job]:
        """Children of ours, over or not, and what others of us have started."""
        found = {id_: Job(id_, child.name, child.status()) for id_, child in self._children.items()}
        for id_, process in _ours().items():
            if time.time() > process.until:
                process.end()
            found.setdefault(id_, Job(id_, process.name, JobStatus(JobState.ACTIVE, "process")))
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


@dataclass(frozen=True, slots=True)
class Process:
    """A job that goes on, whoever has started it. until: seconds of the epoch."""

    pid: int
    name: str
    until: float

    def end(self) -> None:
        """Tell it to end; a runner that is told so ends what it has started."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGTERM)


def _ours() -> dict[str, Process]:
    """Jobs by their ids: of the processes with a job's environment, those that lead its session."""
    found = {}
    for entry in Path("/proc").iterdir():
        pid = int(entry.name) if entry.name.isdecimal() else 0
        with suppress(OSError, ValueError):
            if pid and os.getsid(pid) == pid and _beside_us(pid):
                environ = _environ(pid)
                if environ.keys() >= {_NAME, _UNTIL}:
                    found[_id(pid)] = Process(pid, environ[_NAME], float(environ[_UNTIL]))
    return found


def _beside_us(pid: int) -> bool:
    """Whether it was not started in a sandbox, where an agent gives itself whatever environment it likes."""
    space = "ns/pid"
    return Path(f"/proc/{pid}/{space}").readlink() == Path(f"/proc/self/{space}").readlink()


def _environ(pid: int) -> dict[str, str]:
    """A process's environment as it began; nothing of one that is over."""
    pairs = Path(f"/proc/{pid}/environ").read_bytes().decode(errors="replace").split("\0")
    return dict(pair.split("=", 1) for pair in pairs if "=" in pair)


def _id(pid: int) -> str:
    """A process's number comes again; with the time of its start, in ticks since the boot, it does not."""
    return f"{pid}-{Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()[19]}"
