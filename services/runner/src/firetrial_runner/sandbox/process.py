"""A command that is held to its time and its output: what the processes of all sandboxes have alike."""

import asyncio
import signal
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from firetrial_runner.sandbox.deadline import Deadline
from firetrial_runner.sandbox.disk import MeasureError, until_worth_measuring, used_bytes
from firetrial_runner.sandbox.output import Output
from firetrial_runner.sandbox.port import Chunk, Exit, Limits, Termination, Usage, ended


class Followed(ABC):
    """A Process (see the port) whose end a task of this process sees to. Needs a running event loop."""

    place: str = ""

    def __init__(self, limits: Limits, clock: Callable[[], float]) -> None:
        self._limits, self._clock = limits, clock
        self._started = clock()
        self._cause: tuple[Termination, str] | None = None
        self._output = Output(limits.output_bytes, self._offset, self._over_output)
        self._end = asyncio.create_task(self._supervise())

    @abstractmethod
    async def _supervise(self) -> Exit:
        """See it to its end, and remove what it was made of."""

    @abstractmethod
    def _kill(self, termination: Termination, detail: str) -> None:
        """End it for this cause, unless it is over or has another."""

    @abstractmethod
    def _over_output(self) -> None:
        """There was more output than it may have."""

    def output(self) -> AsyncIterator[Chunk]:
        return self._output.read()

    async def wait(self) -> Exit:
        self._output.drop_unclaimed()
        return await asyncio.shield(self._end)

    async def cancel(self) -> None:
        self._kill(Termination.CANCELLED, "cancelled")

    async def aclose(self) -> None:
        self._kill(Termination.CANCELLED, "closed")
        self._output.drop()
        await asyncio.shield(self._end)

    def _offset(self) -> float:
        return self._clock() - self._started


class HeldProcess(Followed):
    """One on this machine, or beside it, that is held to its time, its output and its disk from here."""

    def __init__(self, limits: Limits, workspace: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._workspace = workspace
        self._alive = True
        self._deadline = Deadline(limits.wall_s, self._late)
        super().__init__(limits, clock)

    @abstractmethod
    def _strike(self) -> None:
        """Kill all of it; harmless when it is dead."""

    def pause(self) -> None:
        self._deadline.pause()

    def resume(self) -> None:
        self._deadline.resume()

    def _kill(self, termination: Termination, detail: str) -> None:
        if self._alive:
            self._cause = self._cause or (termination, detail)
            self._strike()

    def _over_output(self) -> None:
        # Also after death: then the last of the output was cut.
        told = f"more than {self._limits.output_bytes} bytes of output"
        self._cause = self._cause or (Termination.OUTPUT_LIMIT, told)
        self._strike()

    def _late(self) -> None:
        self._kill(Termination.TIMED_OUT, f"ran for {self._limits.wall_s} s")

    def _died(self) -> float:
        """It is over; gives the seconds that it took."""
        self._alive = False
        self._deadline.cancel()
        return self._offset()

    async def _watch_disk(self) -> None:
        """Hold it to its disk, until cancelled."""
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

    def _ended(self, status: int | str, usage: Usage) -> Exit:
        """How it ended: by its cause, else by its exit status as a shell has it, or lost for a reason."""
        if self._cause is not None:
            termination, detail = self._cause
            return Exit(termination, usage, detail=detail)
        if isinstance(status, str):
            return Exit(Termination.LOST, usage, detail=status)
        code, signum = ended(status)
        if usage.oom_kills and signum == signal.SIGKILL:
            detail = f"used more than {self._limits.memory_bytes} bytes of memory"
            return Exit(Termination.OOM_KILLED, usage, code, signum, detail)
        return Exit(Termination.EXITED, usage, code, signum)
