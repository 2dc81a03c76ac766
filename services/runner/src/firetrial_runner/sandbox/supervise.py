"""A local process that is held to its limits: the part that bubblewrap and the bare host share."""

import asyncio
import os
import signal
import subprocess
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import IO, Protocol

from firetrial_runner.sandbox.cgroup import Meter, Sample
from firetrial_runner.sandbox.deadline import Deadline
from firetrial_runner.sandbox.disk import MeasureError, until_worth_measuring, used_bytes
from firetrial_runner.sandbox.output import Output
from firetrial_runner.sandbox.port import Chunk, Exit, Limits, Stream, Termination, Usage, ended

_SAMPLE_S = 0.1
_READ_BYTES = 64 * 1024
_HEAD_BYTES = 4096


class Jail(Protocol):
    """What holds the process tree of one run."""

    @property
    def popen(self) -> subprocess.Popen[bytes]: ...

    @property
    def meter(self) -> Meter: ...

    def kill(self) -> None:
        """Kill the whole tree, at once; harmless when it is dead."""

    def status(self, returncode: int, stderr_head: bytes) -> int | str:
        """The command's exit status as a shell gives it, or why it is lost."""

    def cleanup(self) -> None:
        """Remove what the jail made; harmless when it is removed. Blocks for moments; called after death."""


class LocalProcess:
    """A Process (see the port) in a jail. Runs from its creation on, which needs a running event loop."""

    def __init__(
        self, jail: Jail, limits: Limits, workspace: Path, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._jail, self._limits, self._workspace, self._clock = jail, limits, workspace, clock
        self._started = clock()
        self._cause: tuple[Termination, str] | None = None
        self._alive = True
        self._peak = Sample(0, 0, 0)
        self._stderr_head = b""
        self._output = Output(limits.output_bytes, self._offset, self._over_output)
        self._deadline = Deadline(limits.wall_s, self._late)
        self._end = asyncio.create_task(self._supervise())

    def output(self) -> AsyncIterator[Chunk]:
        return self._output.read()

    async def wait(self) -> Exit:
        self._output.drop_unclaimed()
        return await asyncio.shield(self._end)

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
        try:
            return await self._follow()
        except BaseException:  # the event loop ends before the command: leave nothing all the same
            self._jail.kill()
            self._jail.popen.wait()
            self._jail.cleanup()
            raise

    async def _follow(self) -> Exit:
        pumps = [
            asyncio.create_task(self._pump(Stream.STDOUT, self._jail.popen.stdout)),
            asyncio.create_task(self._pump(Stream.STDERR, self._jail.popen.stderr)),
        ]
        watchers = [asyncio.create_task(self._watch()), asyncio.create_task(self._watch_disk())]
        for watcher in watchers:
            watcher.add_done_callback(self._unwatched)
        returncode = await returncode_of(self._jail.popen)
        wall_s = self._offset()
        self._alive = False
        self._deadline.cancel()
        for watcher in watchers:
            watcher.cancel()
        self._note(self._jail.meter.sample())
        self._jail.kill()  # what the command left running
        await asyncio.gather(*pumps)
        await self._output.close()
        status = self._jail.status(returncode, self._stderr_head)
        await asyncio.to_thread(self._jail.cleanup)
        return self._exit(status, wall_s)

    def _exit(self, status: int | str, wall_s: float) -> Exit:
        peak = self._peak
        usage = Usage(
            wall_s, peak.cpu_s or None, peak.rss_bytes or None, self._output.delivered, peak.oom_kills
        )
        if self._cause is not None:
            termination, detail = self._cause
            return Exit(termination, usage, detail=detail)
        if isinstance(status, str):
            return Exit(Termination.LOST, usage, detail=status)
        code, signum = ended(status)
        if peak.oom_kills and signum == signal.SIGKILL:
            detail = f"used more than {self._limits.memory_bytes} bytes of memory"
            return Exit(Termination.OOM_KILLED, usage, code, signum, detail)
        return Exit(Termination.EXITED, usage, code, signum)

    async def _pump(self, stream: Stream, pipe: IO[bytes] | None) -> None:
        reader = asyncio.StreamReader(limit=_READ_BYTES)
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), pipe
        )
        try:
            while data := await reader.read(_READ_BYTES):
                if stream is Stream.STDERR and len(self._stderr_head) < _HEAD_BYTES:
                    self._stderr_head += data[:_HEAD_BYTES]
                await self._output.put(stream, data)
        finally:
            transport.close()

    async def _watch(self) -> None:
        pause = 0.01  # a short command is to be seen at least once
        while True:
            self._note(self._jail.meter.sample())
            await asyncio.sleep(pause)
            pause = min(2 * pause, _SAMPLE_S)

    async def _watch_disk(self) -> None:
        limit = self._limits.disk_bytes
        while True:
            begun = self._clock()
            used = limit
            try:
                used = await asyncio.to_thread(used_bytes, self._workspace, limit)
                if used > limit:
                    self._kill(Termination.DISK_LIMIT, f"more than {limit} bytes in the workspace")
            except MeasureError as e:
                self._kill(Termination.DISK_LIMIT, f"the workspace's size cannot be told: {e}")
            await until_worth_measuring(self._workspace, limit - used, self._clock() - begun)

    def _unwatched(self, watcher: asyncio.Task[None]) -> None:
        """A run that nobody holds to its limits must not go on."""
        if not watcher.cancelled() and (fault := watcher.exception()):
            self._kill(Termination.LOST, f"the limits could not be watched: {fault!r}")

    def _note(self, sample: Sample) -> None:
        peak = self._peak
        self._peak = Sample(
            max(peak.cpu_s, sample.cpu_s),
            max(peak.rss_bytes, sample.rss_bytes),
            max(peak.processes, sample.processes),
            max(peak.oom_kills, sample.oom_kills),
        )

    def _over_output(self) -> None:
        # Also after death: then the last of the output was cut.
        self._cause = self._cause or (
            Termination.OUTPUT_LIMIT,
            f"more than {self._limits.output_bytes} bytes of output",
        )
        self._jail.kill()

    def _late(self) -> None:
        self._kill(Termination.TIMED_OUT, f"ran for {self._limits.wall_s} s")

    def _kill(self, termination: Termination, detail: str) -> None:
        if self._alive:
            self._cause = self._cause or (termination, detail)
            self._jail.kill()

    def _offset(self) -> float:
        return self._clock() - self._started


async def returncode_of(popen: subprocess.Popen[bytes]) -> int:
    """Wait for a child without a thread; negative for a signal, as subprocess has it."""
    if (known := popen.poll()) is not None:
        return known  # whoever waited before has reaped it, so its id may be another's by now
    loop = asyncio.get_running_loop()
    dead = asyncio.Event()
    handle = os.pidfd_open(popen.pid)
    loop.add_reader(handle, dead.set)
    try:
        await dead.wait()
    finally:
        loop.remove_reader(handle)
        os.close(handle)
    return popen.wait()
