"""What a run left in the store, as it is read back: page by page, also while it is being written."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass

from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.objects import ObjectRef, Objects
from firetrial_runner import keys, trajectory
from firetrial_runner.records import Books

_PIECE = 1024 * 1024
_POLL_S = 0.5


@dataclass(frozen=True, slots=True)
class Files:
    books: Books
    objects: Objects

    async def trajectory(self, run_id: str, from_step: int, *, follow: bool) -> AsyncGenerator[bytes, None]:
        """JSON lines in pieces of at most 1 MiB; `follow` waits for those to come until the agent is over.

        Raises NOT_FOUND for a run that does not exist.
        """
        over = (await self.books.runs.get(run_id)).run.is_over
        chunks = await self._chunks(run_id)

        async def load(number: int) -> bytes:
            return await self._chunk(run_id, number)

        async for lines in trajectory.read(load, chunks, from_step):
            yield lines
        while follow:
            try:
                lines = trajectory.since(await load(chunks), from_step)
            except FiretrialError as error:
                if error.reason is not Reason.NOT_FOUND:
                    raise
                if over:
                    return
                await asyncio.sleep(_POLL_S)
                over = (await self.books.runs.get(run_id)).run.is_over
                continue
            chunks += 1
            if lines:
                yield lines

    async def stream(self, ref: ObjectRef) -> AsyncIterator[bytes]:
        """An object's bytes in pieces of at most 1 MiB."""
        async for piece in self.objects.stream(ref.uri):
            for start in range(0, len(piece), _PIECE):
                yield piece[start : start + _PIECE]

    async def _chunk(self, run_id: str, number: int) -> bytes:
        return await self.objects.get(keys.uri(keys.of_run(run_id, trajectory.chunk_name(number))))

    async def _chunks(self, run_id: str) -> int:
        return len(await self.objects.keys(keys.BUCKET, keys.of_run(run_id, "trajectory/")))
