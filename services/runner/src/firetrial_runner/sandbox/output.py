"""From the pipes of a command to its reader: in order of arrival, held to a limit, in bounded memory."""

import asyncio
from collections.abc import AsyncIterator, Callable

from firetrial_runner.sandbox.port import Chunk, Stream

_WAITING = 8
"""Chunks that may wait for the reader, of at most 64 KiB each; then the command waits."""


class Output:
    """What a command writes. `over` is called once, when it writes more than `limit_bytes`."""

    def __init__(self, limit_bytes: int, clock: Callable[[], float], over: Callable[[], None]) -> None:
        self._left = limit_bytes
        self._clock = clock  # seconds since the start of the command
        self._over = over
        self._exceeded = False
        self._queue: asyncio.Queue[Chunk | None] = asyncio.Queue(_WAITING)
        self._claimed = False
        self._dropped = False
        self.delivered = 0

    async def put(self, stream: Stream, data: bytes) -> None:
        """Deliver; what is over the limit is dropped."""
        taken = data[: self._left]
        self._left -= len(taken)
        self.delivered += len(taken)
        if taken and not self._dropped:
            await self._queue.put(Chunk(stream, taken, self._clock()))
        if len(taken) < len(data) and not self._exceeded:
            self._exceeded = True
            self._over()

    async def close(self) -> None:
        if not self._dropped:
            await self._queue.put(None)

    def drop(self) -> None:
        """Throw away what nobody reads, so that the command does not wait for a reader."""
        self._dropped = True
        while not self._queue.empty():
            self._queue.get_nowait()

    def drop_unclaimed(self) -> None:
        if not self._claimed:
            self.drop()

    def read(self) -> AsyncIterator[Chunk]:
        if self._claimed:
            msg = "the output of a command can be read once"
            raise RuntimeError(msg)
        self._claimed = True
        return self._read()

    async def _read(self) -> AsyncIterator[Chunk]:
        while (chunk := await self._queue.get()) is not None:
            yield chunk
