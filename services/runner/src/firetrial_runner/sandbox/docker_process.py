"""A running container as a Process.

The Docker client blocks, so each run has two threads of its own, which end with it.
"""

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import docker.errors
import requests
from docker.utils.socket import STDERR, STDOUT, frames_iter

from firetrial_runner.sandbox.cgroup import Sample
from firetrial_runner.sandbox.port import (
    Exit,
    Limits,
    SandboxError,
    Stream,
    Usage,
)
from firetrial_runner.sandbox.process import HeldProcess
from firetrial_runner.sandbox.proctree import ProcTree

T = TypeVar("T")
NAME = "docker"
FAULTS = (docker.errors.DockerException, requests.exceptions.RequestException, OSError, ValueError)

_STREAMS = {STDOUT: Stream.STDOUT, STDERR: Stream.STDERR}
_SAMPLE_S = 0.5
_KILL_S = 20.0
_NO_LIMIT = 2**63
_REMOVED = "the container was removed from outside"


class DockerProcess(HeldProcess):
    """A container that was started. `stuck` is told of it where it cannot be removed."""

    def __init__(
        self, container: Any, attached: Any, limits: Limits, workspace: Path, stuck: Callable[[Any], None]
    ) -> None:
        self._container, self._stuck = container, stuck
        self._cpu_s: float | None = None
        self._rss: int | None = None
        self._killing: asyncio.Task[None] | None = None
        super().__init__(limits, workspace)
        self._pump = _in_thread(self._deliver, attached, asyncio.get_running_loop())
        self._waiter = _in_thread(lambda: container.wait(timeout=None)["StatusCode"])

    async def ended(self) -> None:
        """Wait for the container's end, and leave its output to be read."""
        await asyncio.wait([self._waiter])

    async def _supervise(self) -> Exit:
        watchers = [asyncio.create_task(self._watch()), asyncio.create_task(self._watch_disk())]
        await asyncio.wait([self._waiter])
        wall_s = self._died()
        for watcher in watchers:
            watcher.cancel()
        state = await asyncio.to_thread(self._state)
        await asyncio.wait([self._pump])
        await self._output.close()
        if not await asyncio.to_thread(remove, self._container):
            self._stuck(self._container)
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
        if isinstance(state, str):
            return self._ended(state, usage)
        if fault := self._waiter.exception():
            return self._ended(f"the engine went away: {fault}", usage)
        return self._ended(self._waiter.result(), usage)

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

    def _strike(self) -> None:
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


def remove(container: Any) -> bool:
    """Whether it is gone, with the volumes that were made for it."""
    try:
        container.remove(force=True, v=True)
    except docker.errors.NotFound:
        return True
    except FAULTS:
        return False
    return True


def _in_thread(call: Callable[..., T], *args: Any) -> "asyncio.Future[T]":
    """Like asyncio.to_thread, in a thread that cannot hold up the end of the program."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()
    # A fault that nobody asks for is no news: the engine went away, and the run is lost for it.
    future.add_done_callback(lambda done: done.cancelled() or done.exception())

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
