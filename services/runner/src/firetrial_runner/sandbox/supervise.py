"""A process tree of this machine that is held to its limits, and what holds it."""

import asyncio
import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Protocol

from firetrial_runner.sandbox.cgroup import Meter, Sample
from firetrial_runner.sandbox.port import Exit, Limits, Stream, Termination, Usage
from firetrial_runner.sandbox.process import HeldProcess

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


class LocalProcess(HeldProcess):
    """A process tree of this machine, in a jail."""

    def __init__(
        self, jail: Jail, limits: Limits, workspace: Path, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._jail = jail
        self._peak = Sample(0, 0, 0)
        self._stderr_head = b""
        super().__init__(limits, workspace, clock)

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
        wall_s = self._died()
        for watcher in watchers:
            watcher.cancel()
        self._note(self._jail.meter.sample())
        self._jail.kill()  # what the command left running
        await asyncio.gather(*pumps)
        await self._output.close()
        status = self._jail.status(returncode, self._stderr_head)
        await asyncio.to_thread(self._jail.cleanup)
        peak, size = self._peak, self._output.delivered
        usage = Usage(wall_s, peak.cpu_s or None, peak.rss_bytes or None, size, peak.oom_kills)
        return self._ended(status, usage)

    def _strike(self) -> None:
        self._jail.kill()

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
