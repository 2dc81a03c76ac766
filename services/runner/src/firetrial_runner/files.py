"""What a run left in the store, as it is read back: page by page, also while it is being written."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass
from functools import partial

from firetrial_kit.errors import Fault, FiretrialError, Reason, check
from firetrial_kit.objects import ObjectRef, Objects
from firetrial_runner import keys, trajectory
from firetrial_runner.records import Books
from firetrial_runner.run import Run
from firetrial_runner.trajectory import Index, Page

MAX_PAGE = 1000
_DEFAULT_PAGE = 100
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
        run = (await self.books.runs.get(run_id)).run
        load = partial(self._chunk, run_id)
        index, over = await self._index(run), run.is_over
        for first in trajectory.reaching(index.firsts, from_step):
            if lines := trajectory.since(trajectory.lines_of(await load(first)), first, from_step):
                yield lines
        following = index.steps + 1
        while follow:
            chunk = await self._find(run_id, trajectory.chunk_name(following))
            if chunk is None:
                if over:
                    return
                await asyncio.sleep(_POLL_S)
                over = (await self.books.runs.get(run_id)).run.is_over
                continue
            lines = trajectory.lines_of(chunk)
            wanted = trajectory.since(lines, following, from_step)
            following += lines.count(b"\n")
            if wanted:
                yield wanted

    async def page(self, run_id: str, from_step: int, size: int) -> Page:
        """A page of steps, from any step on, in the same time. Raises NOT_FOUND, INVALID."""
        faults = []
        if from_step < 0:
            faults.append(Fault("from_step", str(from_step), "must be 0 or more"))
        if not 0 <= size <= MAX_PAGE:
            faults.append(Fault("page_size", str(size), f"must be 0 to {MAX_PAGE}"))
        check("the request", faults)
        index = await self._index((await self.books.runs.get(run_id)).run)
        load = partial(self._chunk, run_id)
        return await trajectory.page(load, index, max(1, from_step), size or _DEFAULT_PAGE)

    async def stream(self, ref: ObjectRef) -> AsyncIterator[bytes]:
        """An object's bytes in pieces of at most 1 MiB."""
        async for piece in self.objects.stream(ref.uri):
            for start in range(0, len(piece), _PIECE):
                yield piece[start : start + _PIECE]

    async def _index(self, run: Run) -> Index:
        """Which steps there are; of a run that goes on, or whose runner died, from the chunks' names."""
        if run.is_over and (index := await self._find(run.id, trajectory.INDEX)):
            return trajectory.unpacked(index)
        names = await self.objects.keys(keys.BUCKET, keys.of_run(run.id, trajectory.FOLDER))
        return await trajectory.indexed(partial(self._chunk, run.id), trajectory.first_steps(names))

    async def _chunk(self, run_id: str, first: int) -> bytes:
        return await self._get(run_id, trajectory.chunk_name(first))

    async def _find(self, run_id: str, name: str) -> bytes | None:
        try:
            return await self._get(run_id, name)
        except FiretrialError as error:
            if error.reason is not Reason.NOT_FOUND:
                raise
            return None

    async def _get(self, run_id: str, name: str) -> bytes:
        return await self.objects.get(keys.uri(keys.of_run(run_id, name)))
