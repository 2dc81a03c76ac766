"""A running container as a Process.

The Docker client blocks, so each run has two threads of its own, which end with it.
"""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, TypeVar

import docker.errors
import requests
from docker.utils.socket import STDERR, STDOUT, frames_iter

from firetrial_runner.sandbox.cgroup import Sample
from firetrial_runner.sandbox.deadline import Deadline
from firetrial_runner.sandbox.disk import MeasureError, until_worth_measuring, used_bytes
from firetrial_runner.sandbox.output import Output
from firetrial_runner.sandbox.port import (
    Chunk,
    Exit,
    Limits,
    SandboxError,
    Stream,
    Termination,
    Usage,
    ended,
)
from firetrial_runner.sandbox.proctree import ProcTree

T = TypeVar("T")
NAME = "docker"
FAULTS = (docker.errors.DockerException, requests.exceptions.RequestException, OSError, ValueError)

_STREAMS = {STDOUT: Stream.STDOUT, STDERR: Stream.STDERR}
_SAMPLE_S = 0.5
_KILL_S = 20.0
_NO_LIMIT = 2**63
_REMOVED = "the container was removed from outside"


class DockerProcess:
    """A Process (see the port). Runs from its creation on, which needs a running event loop."""

    def __init__(self, container: Any, attached: Any, limits: Limits, workspace: Path) -> None:
        self._container, self._limits, self._workspace = container, limits, workspace
        self._started = time.monotonic()
        self._cause: tuple[Termination, str] | None = None
        self._alive = True
        self._cpu_s: float | None = None
        self._rss: int | None = None
        self._killing: asyncio.Task[None] | None = None
        self._output = Output(limits.output_bytes, self._offset, self._over_output)
        self._pump = _in_thread(self._deliver, attached, asyncio.get_running_loop())
        self._waiter = _in_thread(lambda: container.wait(timeout=None)["StatusCode"])
        self._deadline = Deadline(limits.wall_s, self._late)
        self._end = asyncio.create_task(self._supervise())

    def output(self) -> AsyncIterator[Chunk]:
        return self._output.read()

    async def wait(self) -> Exit:
        self._output.drop_unclaimed()
        return await asyncio.shield(self._end)

    async def ended(self) -> None:
        """Wait for the container's end, and leave its output to be read."""
        await asyncio.wait([self._waiter])

    async def cancel(self) -> None:
        self._kill(Termination.CANCELLED, "cancelled")

    def pause(self) -> None:
        self._deadline.pause()

    def resume(self) -> None:
        self._deadline.resume()

    async def aclose(self) -> None:
        self._kill(Termination.CANCELLED, "closed")
        self._output.drop()
        await asyncio.shield(self._end)

    async def _supervise(self) -> Exit:
        watchers = [asyncio.create_task(self._watch()), asyncio.create_task(self._watch_disk())]
        await asyncio.wait([self._waiter])
        wall_s = self._offset()
        self._alive = False
        self._deadline.cancel()
        for watcher in watchers:
            watcher.cancel()
        state = await asyncio.to_thread(self._state)
        await asyncio.wait([self._pump])
        await self._output.close()
        await asyncio.to_thread(remove, self._container)
        return self._exit(state, wall_s)

    def _state(self) -> dict[str, Any] | str:
        """What the engine says of the container's end, or why it cannot."""
        try:
            self._container.reload()
        except docker.errors.NotFound:
            return _REMOVED
        except FAULTS as e:
            return f"the engine does not answer: {e}"
        state = dict(self._container.attrs["State"])
        return _REMOVED if state["Status"] in {"removing", "dead"} else state

    def _exit(self, state: dict[str, Any] | str, wall_s: float) -> Exit:
        oom = isinstance(state, dict) and bool(state["OOMKilled"])
        usage = Usage(wall_s, self._cpu_s, self._rss, self._output.delivered, int(oom))
        if self._cause is not None:
            termination, detail = self._cause
            return Exit(termination, usage, detail=detail)
        if isinstance(state, str):
            return Exit(Termination.LOST, usage, detail=state)
        if fault := self._waiter.exception():
            return Exit(Termination.LOST, usage, detail=f"the engine went away: {fault}")
        code, signum = ended(self._waiter.result())
        if oom and signum == 9:
            detail = f"used more than {self._limits.memory_bytes} bytes of memory"
            return Exit(Termination.OOM_KILLED, usage, code, signum, detail)
        return Exit(Termination.EXITED, usage, code, signum)

    def _deliver(self, attached: Any, loop: asyncio.AbstractEventLoop) -> None:
        try:
            for number, data in frames_iter(attached, tty=False):  # type: ignore[no-untyped-call]
                put = self._output.put(_STREAMS[number], data)
                asyncio.run_coroutine_threadsafe(put, loop).result()
        finally:
            detach(attached)

    async def _watch(self) -> None:
        """Measures are all that is lost where this breaks off: the engine itself holds the limits."""
        measure = await asyncio.to_thread(_local_meter, self._container) or self._from_engine
        pause = 0.02  # a short command is to be seen at least once
        while True:
            try:
                used = await asyncio.to_thread(measure)
            except FAULTS:
                return  # it ended meanwhile
            self._cpu_s = max(self._cpu_s or 0, used.cpu_s) or None
            self._rss = max(self._rss or 0, used.rss_bytes) or None
            await asyncio.sleep(pause)
            pause = min(2 * pause, _SAMPLE_S)

    def _from_engine(self) -> Sample:
        """What the engine tells; it takes a second for it."""
        stats = self._container.stats(stream=False, one_shot=True)
        memory = stats["memory_stats"].get("stats", {})
        rss = memory.get("total_rss", memory.get("anon", 0))  # cgroup version 1, version 2
        return Sample(stats["cpu_stats"]["cpu_usage"]["total_usage"] / 1e9, rss, 0)

    async def _watch_disk(self) -> None:
        limit = self._limits.disk_bytes
        while True:
            begun = self._offset()
            used = limit
            try:
                used = await asyncio.to_thread(used_bytes, self._workspace, limit)
                if used > limit:
                    self._kill(Termination.DISK_LIMIT, f"more than {limit} bytes in the workspace")
            except MeasureError as e:
                self._kill(Termination.DISK_LIMIT, f"the workspace's size cannot be told: {e}")
            await until_worth_measuring(self._workspace, limit - used, self._offset() - begun)

    def _over_output(self) -> None:
        self._cause = self._cause or (
            Termination.OUTPUT_LIMIT,
            f"more than {self._limits.output_bytes} bytes of output",
        )
        self._begin_killing()

    def _late(self) -> None:
        self._kill(Termination.TIMED_OUT, f"ran for {self._limits.wall_s} s")

    def _kill(self, termination: Termination, detail: str) -> None:
        if self._alive:
            self._cause = self._cause or (termination, detail)
            self._begin_killing()

    def _begin_killing(self) -> None:
        if self._killing is None:
            self._killing = asyncio.create_task(self._kill_until_dead())

    async def _kill_until_dead(self) -> None:
        """An engine under load may lose a kill; one that hangs must not hang the run."""
        deadline = self._offset() + _KILL_S
        while not self._waiter.done() and self._offset() < deadline:
            await asyncio.wait([_in_thread(self._container.kill)], timeout=2)
            await asyncio.wait([self._waiter], timeout=1)
        if not self._waiter.done():
            self._waiter.set_exception(SandboxError(NAME, "the engine does not kill", "Restart Docker"))
            self._output.drop()
            self._pump.cancel()

    def _offset(self) -> float:
        return time.monotonic() - self._started


def _local_meter(container: Any) -> Callable[[], Sample] | None:
    """Measures by /proc, where the container's processes are on this machine and in our sight."""
    try:
        container.reload()
        pid = int(container.attrs["State"]["Pid"])
        if container.id in Path(f"/proc/{pid}/cgroup").read_text():
            return ProcTree(pid, _NO_LIMIT, spared=True).sample
    except FAULTS:
        pass
    return None


def detach(attached: Any) -> None:
    """Close an attachment by the HTTP answer whose socket it is: closed itself, it leaves a half open."""
    attached._response.close()  # noqa: SLF001 -- where the client keeps it


def remove(container: Any) -> None:
    try:
        container.remove(force=True, v=True)
    except docker.errors.NotFound:
        pass
    except FAULTS:
        return  # the reaper comes back for it


def _in_thread(call: Callable[..., T], *args: Any) -> "asyncio.Future[T]":
    """Like asyncio.to_thread, in a thread that cannot hold up the end of the program."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def settle(result: T | None, fault: Exception | None) -> None:
        if not future.done():
            future.set_result(result) if fault is None else future.set_exception(fault)  # type: ignore[arg-type]

    def run() -> None:
        result: T | None = None
        fault: Exception | None = RuntimeError("a thread of the Docker sandbox broke, see its traceback")
        try:
            result, fault = call(*args), None
        except FAULTS as e:
            fault = e
        finally:
            if not loop.is_closed():
                loop.call_soon_threadsafe(settle, result, fault)

    threading.Thread(target=run, daemon=True).start()
    return future
