"""One attempt, from an empty folder to objects in the store: prepare, run, watch, collect."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from firetrial_kit import trace
from firetrial_kit.clock import Clock
from firetrial_kit.errors import FiretrialError
from firetrial_kit.objects import ObjectRef, Objects, verified
from firetrial_kit.records import Records
from firetrial_runner import keys, programs, workspace
from firetrial_runner.agent import Agent
from firetrial_runner.allowance import Allowance
from firetrial_runner.archive import Packed
from firetrial_runner.egress.egress import Egress
from firetrial_runner.gateway.gateway import Door
from firetrial_runner.gateway.masking import Masker
from firetrial_runner.gateway.session import Session
from firetrial_runner.gpus.device import Gpu
from firetrial_runner.grip import Grip
from firetrial_runner.kinds import follow_up, opening
from firetrial_runner.kinds.proving import Place
from firetrial_runner.metrics import RunnerMetrics
from firetrial_runner.needs import Needs
from firetrial_runner.run import End, Run, RunUsage, Yield
from firetrial_runner.sandbox.port import Exit, Process, Sandbox, SandboxSpec, Termination
from firetrial_runner.stoppable import in_thread
from firetrial_runner.tape import Tape, Watch, follow
from firetrial_runner.task import Task
from firetrial_runner.trajectory import Kind, Recorder, Step, Told, Value
from firetrial_runner.wire import task_to_domain

T = TypeVar("T")
_GRACE_S = 120.0
"""Seconds that a sandbox may need beyond the run's own time, before it counts as lost."""
_CANCELLED_S = 0.5
"""Seconds that a cancelled run's calls of models may take to end."""
_PATIENCE_S = (0.5, 1, 2, 5, 10, 15, 30)


@dataclass(frozen=True, slots=True)
class _Attempt:
    """What one attempt has for itself."""

    run: Run
    agent: Agent
    task: Task
    place: workspace.Workspace
    recorder: Recorder
    watch: Watch
    door: Door | None
    egress: Egress | None
    special: opening.Special
    waits: set[str] = field(default_factory=set)

    async def wait(self, grip: Grip, what: str) -> None:
        """Its process waits for its place, or does not any more ("")."""
        if what and what not in self.waits:
            self.waits.add(what)
            await self.recorder.event(f"waits for {what}", self.watch.offset())
        await grip.waits(what)

    def begin(self, process: Process) -> None:
        """Its process has started."""
        self.watch.begin()
        self.special.clock.run = process
        if self.door is not None:
            self.door.session.run_clock = process
            self.door.session.traceparent = trace.current()


@dataclass(frozen=True, slots=True)
class Execution:
    """Runs attempts in `work_dir`. `lease` marks whatever a sandbox makes for them."""

    sandbox: Sandbox
    agents: Records[Agent]
    objects: Objects
    clock: Clock
    work_dir: Path
    lease: str
    default: Allowance
    needs: Needs
    metrics: RunnerMetrics

    def folder(self, run_id: str) -> Path:
        return self.work_dir / f"{run_id}.{self.lease}"

    async def run(self, run: Run, grip: Grip) -> Yield:
        """Run the attempt to its end, which comes early where the run is cancelled.

        Raises SandboxError, and FiretrialError for what cannot be read, unpacked or stored.
        """
        agent = await self.agents.get(run.agent_id)
        task = await load_task(self.objects, run.task_id)
        self.needs.check_run(agent, run.model, task)
        folder = self.folder(run.id)
        try:
            room = run.limits.limits(self.default).disk_bytes
            place = await self._prepare(folder, agent, task, room)
            read = programs.reading(agent.program, paid_here=self.needs.doors is not None)

            def see(step: Step) -> None:
                self.metrics.trajectories.step(step)
                read.see(step)

            recorder = Recorder(lambda name, data: self._put_chunk(run.id, name, data), see, read.reader)
            watch = Watch(self.clock)
            async with (
                self._door(run, recorder, watch, grip) as door,
                self._way_out(run, task, recorder, watch) as egress,
                opening.opened(
                    task.repository,
                    task.follow_up,
                    opening.Around(
                        run.id,
                        place,
                        self._proving(run, task, folder),
                        recorder,
                        watch,
                        door,
                        partial(self._put_of, run.id),
                        self.metrics.kinds.stepped,
                    ),
                ) as special,
            ):
                attempt = _Attempt(run, agent, task, place, recorder, watch, door, egress, special)
                with trace.span("run agent", attributes=self._about(run)) as span:
                    end = await self._execute(attempt, grip)
                    span.note({"firetrial.termination": str(end.termination)})
            with self.metrics.storing(), trace.span("store what is left"):
                if door is not None:
                    await _tell_of_models(door.session, recorder, end.usage.wall_s)
                await recorder.end_output()
                said, why_not = read.found() or special.conclusion(), read.why_none()
                left = await in_thread(lambda go_on: workspace.collect(place, said, why_not, go_on))
                await recorder.event(_told(left), end.usage.wall_s)
                await recorder.close()
                if task.follow_up is not None:
                    log = keys.of_run(run.id, "trajectory/")
                    told = await asyncio.to_thread(follow_up.manifest, left.tar, log)
                    await self._put_of(run.id, follow_up.MANIFEST, told, "application/json")
                kept = await self._keep(run, end, left, recorder, door)
                return replace(kept, contacts=egress.contacts, cut_off=egress.down) if egress else kept
        finally:
            await asyncio.shield(asyncio.to_thread(workspace.remove, folder))

    async def _prepare(self, folder: Path, agent: Agent, task: Task, room: int) -> workspace.Workspace:
        incoming = folder / "incoming"
        await asyncio.to_thread(incoming.mkdir, parents=True)
        data = await self._fetch(task.data, incoming / "data.tar") if task.data else None
        bundle = await self._fetch(agent.bundle, incoming / "bundle.tar")
        place = await in_thread(
            lambda go_on: workspace.prepare(folder, task.instruction, data, bundle, room=room, go_on=go_on)
        )
        if task.follow_up is not None:
            return await follow_up.prepare(task.follow_up, place, self._fetch)
        if task.repository is None:
            return place
        return await opening.prepare(task.repository, place, self._fetch)

    async def _fetch(self, ref: ObjectRef, to: Path) -> Path:
        found = hashlib.sha256()
        with to.open("wb") as file:
            async for piece in self.objects.stream(ref.uri):
                found.update(piece)
                await asyncio.to_thread(file.write, piece)
        verified(ref.uri, b"", found.hexdigest(), ref.sha256)
        return to

    @asynccontextmanager
    async def _door(
        self, run: Run, recorder: Recorder, watch: Watch, grip: Grip
    ) -> AsyncIterator[Door | None]:
        """The run's way to its models, whose every exchange is recorded; its token dies with this."""
        if self.needs.doors is None:
            yield None
            return

        async def record(text: str, told: dict[str, object]) -> None:
            await recorder.model(text, told, watch.offset())

        door = await self.needs.doors.open(run, record, grip.holds)
        try:
            yield door
        finally:
            await door.aclose(*((_CANCELLED_S,) if grip.cancelled.is_set() else ()))

    @asynccontextmanager
    async def _way_out(
        self, run: Run, task: Task, recorder: Recorder, watch: Watch
    ) -> AsyncIterator[Egress | None]:
        """The run's way to the network, where its task has one; each contact is recorded."""

        async def record(text: str, told: Mapping[str, Value]) -> None:
            await recorder.tell(Told(Kind.EVENT, text, told), watch.offset())

        egress = await self.needs.ways.open(run, task.network, record)
        try:
            yield egress
        finally:
            if egress is not None:
                await egress.aclose()

    def _proving(self, run: Run, task: Task, folder: Path) -> Place:
        """Where validations of a repository run are made: with what the run has, but for its time."""
        limits = run.limits.limits(self.default)
        if task.repository is not None:
            limits = replace(limits, wall_s=task.repository.step_s)
        return Place(
            self.sandbox,
            self.metrics.sandbox,
            folder / "validation",
            self.lease,
            limits,
            self.needs.gpus.given(run.id),
            self.needs.shown(task),
            self.needs.environment(task),
            run.limits.gpus,
        )

    async def _put_of(self, run_id: str, name: str, data: bytes, media_type: str) -> ObjectRef:
        return await patiently(lambda: self._put(keys.of_run(run_id, name), data, media_type))

    async def _execute(self, attempt: _Attempt, grip: Grip) -> Exit:
        run, place, recorder = attempt.run, attempt.place, attempt.recorder
        limits = run.limits.limits(self.default)
        spec = SandboxSpec(
            run_key=run.id,
            lease=self.lease,
            argv=attempt.agent.command,
            workspace=place.files,
            env={**place.env, **self.needs.environment(attempt.task), **_environment(run, limits.wall_s)},
            read_only={
                workspace.AGENT: place.bundle,
                **self.needs.mounts(attempt.agent, attempt.task),
                **attempt.special.mounts,
            },
            limits=limits,
            image=attempt.agent.image or None,
            gateway=attempt.special.gateway,
            egress=attempt.egress,
            gpus=self.needs.gpus.given(run.id),
            demand=run.limits.gpus,
            waits=partial(attempt.wait, grip),
        )
        async with aclosing(await self._start(spec)) as process:
            attempt.begin(process)
            await recorder.event(_started(self.sandbox.name, process.place, spec.gpus), 0.0)
            canceller = asyncio.create_task(_cancel_when(grip.cancelled, process))
            try:
                # Its clock may stand for as long again, while it waits for a model.
                async with asyncio.timeout(2 * limits.wall_s + _GRACE_S):
                    await follow(process, Tape(recorder, self._masker()), attempt.watch.offset)
                    end = await process.wait()
            finally:
                canceller.cancel()
        self.metrics.sandbox.ended(self.sandbox.name, end.termination)
        await recorder.event(_ended(end), end.usage.wall_s)
        return end

    async def _start(self, spec: SandboxSpec) -> Process:
        with self.metrics.sandbox.starting(self.sandbox.name):
            return await self.sandbox.start(spec)

    def _about(self, run: Run) -> dict[str, trace.Value]:
        """What a span says of a run."""
        return {
            "firetrial.run_id": run.id,
            "firetrial.task_id": run.task_id,
            "firetrial.agent_id": run.agent_id,
            "firetrial.sandbox": self.sandbox.name,
        }

    def _masker(self) -> Masker:
        return self.needs.doors.masker if self.needs.doors else Masker()

    async def _keep(
        self, run: Run, end: Exit, left: workspace.Left, recorder: Recorder, door: Door | None
    ) -> Yield:
        """Put what the agent left; only a run that was seen to its end concludes."""
        artifacts = None
        if left.artifacts.files:
            put = self.objects.put_file
            key = keys.of_run(run.id, "artifacts.tar")
            artifacts = await patiently(lambda: put(keys.BUCKET, key, left.tar, "application/x-tar"))
        conclusion = None
        if left.conclusion and end.termination not in {Termination.CANCELLED, Termination.LOST}:
            text = self._masker().mask_text(left.conclusion.text).encode()
            key = keys.of_run(run.id, "conclusion.txt")
            conclusion = await patiently(lambda: self._put(key, text, "text/plain; charset=utf-8"))
        used = end.usage
        gpu = self.needs.gpus.used(run.id, used.wall_s)
        usage = RunUsage(
            used.wall_s,
            used.cpu_s,
            used.max_rss_bytes,
            used.output_bytes,
            recorder.steps,
            gpu_s=gpu.gpu_s,
            gpu_utilisation=gpu.utilisation,
            max_gpu_memory_bytes=gpu.max_memory_bytes,
        )
        models = door.session.trouble() if door else None
        return Yield(
            end=End(end.termination, end.code, end.signal, end.detail),
            usage=door.session.used(usage) if door else usage,
            conclusion=conclusion,
            why_none=left.why_none,
            artifacts=artifacts,
            trajectory_chunks=recorder.chunks,
            final=models is not None and models.lasting,
            models=models,
        )

    async def _put_chunk(self, run_id: str, name: str, data: bytes) -> None:
        key = keys.of_run(run_id, name)
        await patiently(lambda: self._put(key, data, "application/gzip"))
        self.metrics.trajectories.stored(data)

    async def _put(self, key: str, data: bytes, media_type: str) -> ObjectRef:
        return await self.objects.put(keys.BUCKET, key, data, media_type)


async def load_task(objects: Objects, task_id: str) -> Task:
    """Raises NOT_FOUND, or CORRUPT."""
    return task_to_domain(await objects.get(keys.uri(keys.task(task_id))))


async def patiently(call: Callable[[], Awaitable[T]]) -> T:
    """The call's result, tried for about a minute while its error is one that passes."""
    for pause in _PATIENCE_S:
        try:
            return await call()
        except FiretrialError as error:
            if not error.retryable:
                raise
        await asyncio.sleep(pause)
    return await call()


async def _tell_of_models(session: Session, recorder: Recorder, offset_s: float) -> None:
    """What stood between the agent and its models, as events of its run."""
    trouble = session.trouble()
    if session.waited_s >= 1:
        told = f"waited {session.waited_s:.1f} s for models, which its time limit does not count"
        await recorder.event(told, offset_s)
    if trouble.over_budget:
        await recorder.event(f"the budget for models was used up: {trouble.over_budget}", offset_s)
    if trouble.down:
        await recorder.event(f"no model could be had at the end: {trouble.down}", offset_s)


async def _cancel_when(cancelled: asyncio.Event, process: Process) -> None:
    await cancelled.wait()
    await process.cancel()


def _environment(run: Run, wall_s: float) -> dict[str, str]:
    """What an agent's environment says of its run: the repeat is a seed, so that repeats differ."""
    told = {"FIRETRIAL_REPEAT": str(run.repeat), "FIRETRIAL_WALL_S": f"{wall_s:.0f}"}
    return told | ({"FIRETRIAL_MODEL": run.model} if run.model else {})


def _started(sandbox: str, place: str, gpus: tuple[Gpu, ...]) -> str:
    on = ", ".join(f"GPU {gpu.index} ({gpu.told}, {gpu.uuid})" for gpu in gpus)
    return f"started in {sandbox}{f' ({place})' if place else ''}{f' on {on}' if on else ''}"


def _ended(end: Exit) -> str:
    if end.detail:
        return f"{end.termination}: {end.detail}"
    return f"ended by signal {end.signal}" if end.signal else f"exited with {end.code}"


def _told(left: workspace.Left) -> str:
    """What was collected, in words."""
    found = left.conclusion
    told = f"conclusion: {found.source}" if found else f"conclusion: {left.why_none}"
    if found and found.cut:
        told += f", {found.cut} more were cut off"
    packed: Packed = left.artifacts
    told += f"; artifacts: {packed.files} files, {packed.bytes} bytes"
    if packed.left_out_count:
        named = ", ".join(f"{name} ({why})" for name, why in packed.left_out)
        told += f"; {packed.left_out_count} left out: {named}"
    return told
