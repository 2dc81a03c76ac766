"""Jobs of a cluster's scheduler as a sandbox: the runner stays where it is, and each command gets a node.

On the node a small program of ours keeps the command in the sandbox that works there. Keys, the model gateway
and the store stay with the runner; files lie on a file system that both see.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Collection, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path

from firetrial_runner.sandbox.jobs.job import ID, NAME, Desk, Job, Terms, tag
from firetrial_runner.sandbox.jobs.process import JobProcess
from firetrial_runner.sandbox.jobs.relay import Relay
from firetrial_runner.sandbox.jobs.watching import EVERY_S, Watching
from firetrial_runner.sandbox.port import Leftover, SandboxError, SandboxSpec
from firetrial_runner.sandbox.scratch import scratch
from firetrial_runner.schedulers.port import Scheduler, SchedulerError


class JobSandbox:
    """`spool` is for what jobs are told, on the file system that the nodes share. See `Terms` and `Relay`."""

    def __init__(
        self, scheduler: Scheduler, spool: Path, terms: Terms, *, address: str = "", every_s: float = EVERY_S
    ) -> None:
        self._scheduler, self._spool, self._terms = scheduler, spool, terms
        self._stack = ExitStack()
        self._relay = Relay(address)
        self._watching = Watching(scheduler, every_s)
        self._desk: Desk | None = None

    @property
    def name(self) -> str:
        return NAME

    def enforcement(self) -> Mapping[str, str]:
        inner, job = self._terms.inner.name, self._scheduler.name
        return {
            "wall_s": f"timer in the job, below {job}'s own limit",
            **dict.fromkeys(("cpus", "memory_bytes"), f"{inner} in the job, below {job}'s own limit"),
            "gpus": f"those of the job, and {inner} in it",
            "all else": f"{inner} in the job: run `firetrial sandbox` on a node",
        }

    async def probe(self) -> None:
        """Whether the scheduler answers, and this machine can be called. Starts no job."""
        await self._open()
        try:
            await self._scheduler.find("ft-none-of-this-name")
        except SchedulerError as e:
            cure = "See FIRETRIAL_RUNNER_SCHEDULER, and whether its commands work here"
            raise SandboxError(NAME, f"{self._scheduler.name}: {e.message}", cure) from e

    async def start(self, spec: SandboxSpec) -> JobProcess:
        desk = await self._open()
        folder = self._spool / f"{spec.run_key}.{spec.lease}"
        if folder.exists():
            why = f"{spec.run_key} is already here, under the same lease"
            raise SandboxError(NAME, why, "Wait for its end, or reap the lease")
        job = Job(desk, spec, folder)
        try:
            return await job.start()
        except BaseException:
            await asyncio.shield(job.undo())
            raise

    async def leftovers(self) -> list[Leftover]:
        """Told by the folders of jobs, which are there before the jobs and go after them: nobody is asked."""
        return await asyncio.to_thread(lambda: [left for _, left in self._left()])

    async def reap(self, dead: Collection[str]) -> list[Leftover]:
        stuck = self._desk.stuck if self._desk else set()
        found = await asyncio.to_thread(self._left)
        left = [(folder, it) for folder, it in found if it.lease in dead or folder in stuck]
        if not left:
            return []
        gone = []
        with suppress(SchedulerError):  # it is away: the next time, and nobody waits for it
            ids = [await self._id(folder, it) for folder, it in left]
            await self._scheduler.cancel([id_ for id_ in ids if id_])
            over = await asyncio.gather(*map(self._is_over, ids))
            for folder, it in (each for each, is_over in zip(left, over, strict=True) if is_over):
                await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
                stuck.discard(folder)
                gone.append(it)
        return gone

    async def aclose(self) -> None:
        await self._relay.aclose()
        await self._watching.aclose()
        self._stack.close()

    async def _open(self) -> Desk:
        await self._relay.open()
        if self._desk is None:
            self._spool.mkdir(mode=0o711, parents=True, exist_ok=True)
            private = self._stack.enter_context(scratch("ways"))
            self._desk = Desk(self._scheduler, self._watching, self._relay, self._terms, private)
        return self._desk

    def _left(self) -> list[tuple[Path, Leftover]]:
        found = []
        for folder in self._spool.glob("*.*") if self._spool.is_dir() else ():
            run_key, _, lease = folder.name.partition(".")
            found.append((folder, Leftover(run_key, lease, f"job {_read(folder / ID)}".strip())))
        return found

    async def _id(self, folder: Path, left: Leftover) -> str:
        """With the scheduler; "" where it has no such job. Its runner may have died before it was noted."""
        if noted := await asyncio.to_thread(_read, folder / ID):
            return noted
        found = await self._scheduler.find(tag(left.run_key, left.lease))
        return next((job.id for job in found if job.status.state.lives), "")

    async def _is_over(self, id_: str) -> bool:
        if not id_:
            return True
        with self._watching.watching(id_) as watched:
            await self._watching.end_of(watched, self._terms.ended_s, for_good=True)
            return watched.is_over


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""
