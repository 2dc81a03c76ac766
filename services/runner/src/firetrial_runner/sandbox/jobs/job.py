"""One command's job, from its order to its end: what is held for it here, and what the scheduler does."""

from __future__ import annotations

import asyncio
import math
import os
import shutil
import socket
from collections.abc import Mapping
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from firetrial_kit.errors import FiretrialError
from firetrial_kit.ids import digest
from firetrial_runner.sandbox.jobs import frames
from firetrial_runner.sandbox.jobs.frames import Channel, Kind, ProtocolError
from firetrial_runner.sandbox.jobs.order import Inner, Order
from firetrial_runner.sandbox.jobs.process import JobProcess, as_told
from firetrial_runner.sandbox.jobs.relay import Relay
from firetrial_runner.sandbox.jobs.watching import Watched, Watching
from firetrial_runner.sandbox.port import MIB, SandboxError, SandboxSpec
from firetrial_runner.schedulers.port import JobSpec, JobState, JobStatus, Scheduler, SchedulerError

NAME = "job"
ID, LOG = "id", "job.log"
"""Files of a job's folder: its id with the scheduler, and what its own program says."""
OWN_BYTES = 192 * MIB
"""Memory of a job beside its run's: the program that keeps the sandbox."""
GRACE_S = 180.0
"""Time of a job beside its run's, for start and end: a scheduler that ends it blames no agent."""
_BEGIN_S = 120.0
"""Seconds that a job may take from its call to the command's start."""
_AWAY_S = 60.0
"""Seconds in which a scheduler that does not answer is asked again for a job."""
_SURE = 2
"""How often it has to say that it has no such job after all, before it gets another."""
_SOON_S = 10.0
"""Seconds until a scheduler has noticed that a job is over."""
_ALONE_S = 5.0
"""Seconds in which a job whose line broke may be over by itself."""


@dataclass(frozen=True, slots=True)
class Terms:
    """What jobs ask of the site beside what their runs need.

    queue (Slurm's partition), account and attributes are the scheduler's own. python is the interpreter on
    the nodes, with this package. inner keeps the command there. queue_s is the longest that a job may wait
    for its place, again_s the time until a scheduler that did not answer is asked what it has, ended_s that
    in which one ends what it was to cancel.
    """

    python: str
    inner: Inner
    queue: str = ""
    account: str = ""
    attributes: Mapping[str, str] = field(default_factory=dict)
    queue_s: float = 7 * 86400
    again_s: float = 2.0
    ended_s: float = 60.0


@dataclass(frozen=True, slots=True)
class Desk:
    """What all jobs of a runner share.

    private is a folder of this machine that is open to nobody else. stuck are the folders of jobs that could
    not be ended in their time.
    """

    scheduler: Scheduler
    watching: Watching
    relay: Relay
    terms: Terms
    private: Path
    stuck: set[Path] = field(default_factory=set)


def tag(run_key: str, lease: str) -> str:
    """How the name of a run's job begins, for it to be found by."""
    return f"ft-{digest(run_key, lease, length=12)}"


class Job:
    """A command's job. `start` it; what that leaves undone where it fails is for `undo`."""

    def __init__(self, desk: Desk, spec: SandboxSpec, folder: Path) -> None:
        self._desk, self._spec, self.folder = desk, spec, folder
        self._stack = AsyncExitStack()
        self._ways: dict[int, Path] = {}
        self._submitting: asyncio.Task[str] | None = None
        self._watched: Watched | None = None
        self._called: asyncio.Future[Channel] = asyncio.get_running_loop().create_future()
        self._released = asyncio.Event()

    @property
    def told(self) -> str:
        id_ = self._watched.id if self._watched else ""
        return f"{self._desk.scheduler.name}'s job {id_}"

    async def start(self) -> JobProcess:
        """Raises SandboxError where it never begins, or cannot."""
        await asyncio.to_thread(self.folder.mkdir, mode=0o700, parents=True)
        caller = self._stack.enter_context(self._desk.relay.expecting(self._spec.run_key, self))
        order = Order.of(self._spec, self._desk.terms.inner, caller)
        await asyncio.to_thread(order.lay, self.folder)
        self._submitting = asyncio.create_task(self._submit())
        id_ = await asyncio.shield(self._submitting)
        self._watched = self._stack.enter_context(self._desk.watching.watching(id_))
        channel = await self._place()
        place = await self._begin(channel)
        await self._tell("")
        return JobProcess(self, channel, self._spec.limits, place)

    async def control(self, channel: Channel) -> None:
        """See `Answering`."""
        if not self._called.done():
            self._called.set_result(channel)
            await self._released.wait()

    async def way(self, port: int, channel: Channel) -> None:
        """See `Answering`."""
        if port in self._ways:
            ends = await asyncio.open_unix_connection(self._ways[port])
            await frames.join(channel, *ends)

    async def cancel(self) -> None:
        if self._watched is not None:
            with suppress(SchedulerError):
                await self._desk.scheduler.cancel([self._watched.id])
            self._desk.watching.hurry()

    async def end(self, *, soon: bool) -> JobStatus | None:
        assert self._watched is not None  # noqa: S101 -- it was submitted
        watching, watched = self._desk.watching, self._watched
        await watching.end_of(watched, _SOON_S if soon else _ALONE_S)
        status = watched.status
        if not watched.is_over:
            await self.cancel()
            await watching.end_of(watched, self._desk.terms.ended_s, for_good=True)
        return status

    async def release(self, *, over: bool) -> None:
        self._released.set()
        await self._stack.aclose()
        if over or (self._watched and self._watched.is_over):
            await asyncio.to_thread(shutil.rmtree, self.folder, ignore_errors=True)
        else:
            self._desk.stuck.add(self.folder)

    async def undo(self) -> None:
        """Leave nothing of a start that failed; a job that cannot be ended now stays to be found."""
        if self._submitting is not None:
            with suppress(FiretrialError):
                id_ = await self._submitting
                if self._watched is None:
                    self._watched = self._stack.enter_context(self._desk.watching.watching(id_))
        if not self._called.cancel() and not self._called.cancelled():
            self._called.result().abort()
        if self._watched is not None and not self._watched.is_over:
            await self.cancel()
            await self._desk.watching.end_of(self._watched, self._desk.terms.ended_s, for_good=True)
        await self.release(over=self._watched is None)

    async def _submit(self) -> str:
        """Its id. Raises SandboxError where the scheduler refuses, or is away for too long."""
        spec = self._job_spec()
        try:
            async with asyncio.timeout(_AWAY_S) as limit:
                id_ = await self._submitted(spec)
        except SchedulerError as e:
            raise SandboxError(NAME, f"no job: {e.message}", "See the scheduler") from e
        except TimeoutError:
            if not limit.expired():
                raise
            why = f"no job: {self._desk.scheduler.name} did not answer for {_AWAY_S:.0f} s"
            raise SandboxError(NAME, why, "It is tried again") from None
        with suppress(OSError):  # a full disk: it is found by its name
            (self.folder / ID).write_text(id_)
        return id_

    async def _submitted(self, spec: JobSpec) -> str:
        """Submit until there is one. Raises SchedulerError where that is refused.

        A scheduler that did not answer may have taken it: it is asked what it has before it gets another.
        Should it have two all the same, the second one to start finds no order.
        """
        while True:
            try:
                return await self._desk.scheduler.submit(spec)
            except SchedulerError as e:
                if e.refused:
                    raise
            answers = 0
            while answers < _SURE:
                await asyncio.sleep(self._desk.terms.again_s)
                with suppress(SchedulerError):
                    if found := await self._desk.scheduler.find(spec.name):
                        return found[0].id
                    answers += 1

    def _job_spec(self) -> JobSpec:
        spec, terms = self._spec, self._desk.terms
        # The clock of a command may stand for as long again while it waits for what it calls.
        wall_s = spec.limits.wall_s * (2 if spec.ways else 1) + GRACE_S
        shim = (terms.python, "-I", "-m", "firetrial_runner.sandbox.jobs.shim", str(self.folder))
        return JobSpec(
            name=f"{tag(spec.run_key, spec.lease)}-{spec.run_key}"[:63],
            argv=shim,
            folder=self.folder,
            wall_s=wall_s,
            cpus=math.ceil(spec.limits.cpus),
            memory_bytes=spec.limits.memory_bytes + OWN_BYTES,
            gpus=spec.demand.count,
            queue=terms.queue,
            account=terms.account,
            attributes=terms.attributes,
            env={"PATH": os.pathsep.join(os.get_exec_path())},
        )

    async def _place(self) -> Channel:
        """Wait until it has its place and calls."""
        assert self._watched is not None  # noqa: S101 -- it was submitted
        watched, shown = self._watched, ""
        try:
            async with asyncio.timeout(self._desk.terms.queue_s):
                while not self._called.done():
                    watched.changed.clear()
                    if watched.is_over:
                        raise await self._never_began()
                    if (waits := self._waits(watched)) not in {shown, ""}:
                        await self._tell(waits)
                        shown = waits
                    await _first(self._called, watched.changed)
        except TimeoutError:
            why = f"{self.told} had no place within {self._desk.terms.queue_s:.0f} s"
            raise SandboxError(NAME, why, "See why in the scheduler's queue") from None
        return self._called.result()

    def _waits(self, watched: Watched) -> str:
        """What it waits for; "" where that is not known, or about to come."""
        if watched.status is None or watched.status.state is not JobState.QUEUED:
            return ""
        return f"its place as {self.told} ({watched.status.detail or watched.status.state})"

    async def _tell(self, waits: str) -> None:
        if self._spec.waits is not None:
            await self._spec.waits(waits)

    async def _never_began(self) -> SandboxError:
        assert self._watched is not None  # noqa: S101 -- it is over
        said = await asyncio.to_thread(self._log)
        status = self._watched.status
        why = f"{self.told} ended before it called: {as_told(status) if status else ''}"
        return SandboxError(
            NAME,
            f"{why}{f': {said}' if said else ''}",
            "See whether nodes reach the runner, its Python and its files",
        )

    def _log(self) -> str:
        """The end of what the job's own program said."""
        try:
            return (self.folder / LOG).read_text(errors="replace").strip()[-1000:]
        except OSError:
            return ""

    async def _begin(self, channel: Channel) -> str:
        """Let the command start, and those who are its ways out answer; gives where it runs."""
        await self._serve()
        try:
            async with asyncio.timeout(_BEGIN_S):
                await channel.send(Kind.GO)
                while True:
                    kind, body = await channel.receive()
                    if kind is not Kind.BEAT:
                        break
        except (OSError, EOFError) as e:
            raise await self._never_started(e) from e
        said = frames.parsed(body)
        if kind is Kind.REFUSED:
            raise SandboxError(NAME, f"{self.told}: {said.get('why')}", str(said.get("cure")))
        if kind is not Kind.STARTED:
            raise ProtocolError(f"{kind} before the start")
        return f"{said.get('sandbox')}, as {self.told} on {said.get('node')}"

    async def _never_started(self, broke: Exception) -> SandboxError:
        status = await self.end(soon=False)
        said = await asyncio.to_thread(self._log)
        how = as_told(status) if status else str(broke)
        return SandboxError(
            NAME, f"{self.told} ended before its command began: {how} {said}".strip(), "It is tried again"
        )

    async def _serve(self) -> None:
        """The ways out listen in a place that is this runner's alone; callers are put through to there."""
        for port, way in self._spec.ways.items():
            path = self._desk.private / f"{os.urandom(8).hex()}.sock"
            listener = socket.socket(socket.AF_UNIX)
            listener.bind(str(path))
            listener.listen(512)
            self._stack.callback(path.unlink, missing_ok=True)
            self._ways[port] = path
            way.serve(listener)


async def _first(called: asyncio.Future[Channel], changed: asyncio.Event) -> None:
    """Until one of them."""
    change = asyncio.ensure_future(changed.wait())
    try:
        either: list[asyncio.Future[Any]] = [called, change]
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
    finally:
        change.cancel()
