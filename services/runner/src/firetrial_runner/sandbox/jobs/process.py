"""A command that runs in a job, as its runner sees it: its output and its end come over the line."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

from firetrial_runner.sandbox.jobs import frames
from firetrial_runner.sandbox.jobs.frames import Channel, Kind, ProtocolError
from firetrial_runner.sandbox.port import Exit, Limits, Stream, Termination, Usage
from firetrial_runner.sandbox.process import Followed
from firetrial_runner.schedulers.port import JobState, JobStatus

BEAT_S, SILENT_S = 10.0, 60.0
"""Seconds between signs of life, and without one after which the other end is taken for gone."""
_GENTLY_S = 1.0
"""Seconds in which a job ends its command itself, before the scheduler is asked to end the job."""
_LAST_S = 5.0
"""Seconds that a job may take to close the line after its last word."""
_STREAMS = {Kind.STDOUT: Stream.STDOUT, Kind.STDERR: Stream.STDERR}
_OUTSIDE = frozenset(
    {JobState.QUEUED, JobState.CANCELLED, JobState.PREEMPTED, JobState.TIMEOUT, JobState.NODE_FAIL}
)
"""Where a job stands that was ended, or put back, from outside: no doing of what was seen to die of it."""


class Held(Protocol):
    """The job of a running command, as far as its process needs it."""

    @property
    def told(self) -> str:
        """Which it is, in words."""

    async def cancel(self) -> None:
        """Have the scheduler end it; harmless when it is over or the scheduler is away."""

    async def end(self, *, soon: bool) -> JobStatus | None:
        """See it to its end, where it is to end by itself `soon`; else it is ended.

        How it ended, by the scheduler's account; None where it gives none.
        """

    async def release(self, *, over: bool) -> None:
        """Give back all that was held for it. `over` where it is known to end by itself."""


class JobProcess(Followed):
    """A command that its job holds to its limits. Runs from its creation on."""

    def __init__(
        self,
        job: Held,
        channel: Channel,
        limits: Limits,
        place: str,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._job, self._channel = job, channel
        self.place = place
        self._ending: asyncio.Task[None] | None = None
        super().__init__(limits, clock)

    def pause(self) -> None:
        self._channel.push(Kind.PAUSE)

    def resume(self) -> None:
        self._channel.push(Kind.RESUME)

    def _over_output(self) -> None:
        """The job holds it to this: it is only where that fails that this is seen."""
        self._kill(Termination.OUTPUT_LIMIT, f"more than {self._limits.output_bytes} bytes of output")

    def _kill(self, termination: Termination, detail: str) -> None:
        if not self._end.done() and self._ending is None:
            self._cause = (termination, detail)
            self._ending = asyncio.create_task(self._strike())

    async def _strike(self) -> None:
        self._channel.push(Kind.CANCEL)
        await asyncio.wait([self._end], timeout=_GENTLY_S)
        if not self._end.done():
            await self._job.cancel()
            await asyncio.wait([self._end], timeout=_GENTLY_S)
            self._channel.abort()

    async def _supervise(self) -> Exit:
        beating = asyncio.create_task(self._beat())
        try:
            end = await self._listen()
        finally:
            beating.cancel()
        if end is None or end.termination is Termination.LOST or end.signal is not None:
            end = self._judged(end, await self._job.end(soon=end is not None))
            await self._job.release(over=False)
        else:
            await self._last_word()
            await self._job.release(over=True)
        self._channel.abort()
        await self._output.close()
        return end

    async def _listen(self) -> Exit | None:
        """Take in what comes, to the command's end; None where the line breaks before."""
        with suppress(OSError, EOFError):
            while True:
                async with asyncio.timeout(SILENT_S):
                    kind, body = await self._channel.receive()
                if kind in _STREAMS:
                    await self._output.put(_STREAMS[kind], body)
                elif kind is Kind.EXIT:
                    return _exit(body)
        return None

    async def _last_word(self) -> None:
        """The job closes the line as the last that it does; one that does not is ended."""
        try:
            async with asyncio.timeout(_LAST_S):
                with suppress(OSError, EOFError):
                    while True:
                        await self._channel.receive()
        except TimeoutError:
            await self._job.cancel()

    def _judged(self, end: Exit | None, status: JobStatus | None) -> Exit:
        """How it ended, by what came of its job, too: a scheduler's doing is not the command's."""
        usage = end.usage if end else Usage(self._offset(), None, None, self._output.delivered)
        if self._cause is not None and (end is None or end.termination is Termination.LOST):
            return Exit(self._cause[0], usage, detail=self._cause[1])
        if end and end.termination is not Termination.LOST and not (status and status.state in _OUTSIDE):
            return end
        how = as_told(status) if status else "nothing is heard of it"
        if status and "OUT_OF_MEMORY" in status.detail:
            detail = f"more memory than its job has, which is over {self._limits.memory_bytes} bytes"
            return Exit(Termination.OOM_KILLED, usage, None, 9, detail)
        seen = f" ({end.detail or f'signal {end.signal}'})" if end else ""
        return Exit(Termination.LOST, usage, detail=f"{self._job.told} ended: {how}{seen}")

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(BEAT_S)
            self._channel.push(Kind.BEAT)


def as_told(status: JobStatus) -> str:
    """Where a job stands, in words."""
    if status.state is JobState.QUEUED or (status.restarts and status.state.lives):
        return f"it was put back into the queue, {status.detail}"
    return status.detail if status.state in status.detail else f"{status.state} {status.detail}".strip()


def _exit(body: bytes) -> Exit:
    """An end as it travels. Raises ProtocolError."""
    told = frames.parsed(body)
    try:
        return Exit(
            **told | {"termination": Termination(told["termination"]), "usage": Usage(**told["usage"])}
        )
    except (KeyError, TypeError, ValueError) as e:
        raise ProtocolError(f"an end that is none: {e}") from e
