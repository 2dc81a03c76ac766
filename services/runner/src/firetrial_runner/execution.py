"""One attempt, from an empty folder to objects in the store: prepare, run, watch, collect."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from firetrial_kit.clock import Clock
from firetrial_kit.errors import FiretrialError
from firetrial_kit.objects import ObjectRef, Objects, verified
from firetrial_kit.records import Records
from firetrial_runner import keys, workspace
from firetrial_runner.agent import Agent
from firetrial_runner.allowance import Allowance
from firetrial_runner.archive import Packed
from firetrial_runner.conclusion import Scanner
from firetrial_runner.run import End, Run, RunUsage, Yield
from firetrial_runner.sandbox.port import Exit, Process, Sandbox, SandboxSpec, Termination
from firetrial_runner.task import Task
from firetrial_runner.trajectory import Recorder
from firetrial_runner.wire import task_to_domain

T = TypeVar("T")
_TICK_S = 1.0
_GRACE_S = 120.0
"""Seconds that a sandbox may need beyond the run's own time, before it counts as lost."""
_PATIENCE_S = (0.5, 1, 2, 5, 10, 15, 30)


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

    def folder(self, run_id: str) -> Path:
        return self.work_dir / f"{run_id}.{self.lease}"

    async def run(self, run: Run, cancelled: asyncio.Event) -> Yield:
        """Run the attempt to its end, which `cancelled` brings about early.

        Raises SandboxError, and FiretrialError for what cannot be read, unpacked or stored.
        """
        agent = await self.agents.get(run.agent_id)
        task = await load_task(self.objects, run.task_id)
        folder = self.folder(run.id)
        try:
            place = await self._prepare(folder, agent, task)
            scanner = Scanner()
            recorder = Recorder(lambda name, data: self._put_chunk(run.id, name, data), scanner.see)
            end = await self._execute(run, agent, place, recorder, cancelled)
            left = await asyncio.to_thread(workspace.collect, place, scanner.found())
            await recorder.event(_told(left), end.usage.wall_s)
            await recorder.close()
            return await self._keep(run, end, left, recorder)
        finally:
            await asyncio.shield(asyncio.to_thread(workspace.remove, folder))

    async def _prepare(self, folder: Path, agent: Agent, task: Task) -> workspace.Workspace:
        incoming = folder / "incoming"
        await asyncio.to_thread(incoming.mkdir, parents=True)
        data = await self._fetch(task.data, incoming / "data.tar") if task.data else None
        bundle = await self._fetch(agent.bundle, incoming / "bundle.tar")
        return await asyncio.to_thread(workspace.prepare, folder, task.instruction, data, bundle)

    async def _fetch(self, ref: ObjectRef, to: Path) -> Path:
        found = hashlib.sha256()
        with to.open("wb") as file:
            async for piece in self.objects.stream(ref.uri):
                found.update(piece)
                await asyncio.to_thread(file.write, piece)
        verified(ref.uri, b"", found.hexdigest(), ref.sha256)
        return to

    async def _execute(
        self,
        run: Run,
        agent: Agent,
        place: workspace.Workspace,
        recorder: Recorder,
        cancelled: asyncio.Event,
    ) -> Exit:
        limits = run.limits.limits(self.default)
        spec = SandboxSpec(
            run_key=run.id,
            lease=self.lease,
            argv=agent.command,
            workspace=place.files,
            env=_environment(run),
            read_only={workspace.AGENT: place.bundle},
            limits=limits,
        )
        async with aclosing(await self.sandbox.start(spec)) as process:
            begun = self.clock.monotonic()
            await recorder.event(f"started in {self.sandbox.name}", 0.0)
            canceller = asyncio.create_task(_cancel_when(cancelled, process))
            try:
                async with asyncio.timeout(limits.wall_s + _GRACE_S):
                    await _follow(process, recorder, lambda: self.clock.monotonic() - begun)
                    end = await process.wait()
            finally:
                canceller.cancel()
        await recorder.event(_ended(end), end.usage.wall_s)
        return end

    async def _keep(self, run: Run, end: Exit, left: workspace.Left, recorder: Recorder) -> Yield:
        """Put what the agent left; only a run that was seen to its end concludes."""
        artifacts = None
        if left.artifacts.files:
            put = self.objects.put_file
            key = keys.of_run(run.id, "artifacts.tar")
            artifacts = await patiently(lambda: put(keys.BUCKET, key, left.tar, "application/x-tar"))
        conclusion = None
        if left.conclusion and end.termination not in {Termination.CANCELLED, Termination.LOST}:
            text = left.conclusion.text.encode()
            key = keys.of_run(run.id, "conclusion.txt")
            conclusion = await patiently(lambda: self._put(key, text, "text/plain; charset=utf-8"))
        usage = end.usage
        return Yield(
            end=End(end.termination, end.code, end.signal, end.detail),
            usage=RunUsage(
                usage.wall_s, usage.cpu_s, usage.max_rss_bytes, usage.output_bytes, recorder.steps
            ),
            conclusion=conclusion,
            why_none=left.why_none,
            artifacts=artifacts,
            trajectory_chunks=recorder.chunks,
        )

    async def _put_chunk(self, run_id: str, name: str, data: bytes) -> None:
        key = keys.of_run(run_id, name)
        await patiently(lambda: self._put(key, data, "application/gzip"))

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


async def _follow(process: Process, recorder: Recorder, offset: Callable[[], float]) -> None:
    """Record the output to its end, and seal what has waited while there is none."""
    output = aiter(process.output())
    coming = asyncio.ensure_future(anext(output, None))
    try:
        while True:
            await asyncio.wait([coming], timeout=_TICK_S)
            if not coming.done():
                await recorder.tick(offset())
                continue
            chunk = coming.result()
            if chunk is None:
                return
            await recorder.output(chunk.stream, chunk.data, chunk.offset_s)
            coming = asyncio.ensure_future(anext(output, None))
    finally:
        coming.cancel()


async def _cancel_when(cancelled: asyncio.Event, process: Process) -> None:
    await cancelled.wait()
    await process.cancel()


def _environment(run: Run) -> dict[str, str]:
    """What an agent's environment says of its run: the repeat is a seed, so that repeats differ."""
    told = {"FIRETRIAL_REPEAT": str(run.repeat)}
    return told | ({"FIRETRIAL_MODEL": run.model} if run.model else {})


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
