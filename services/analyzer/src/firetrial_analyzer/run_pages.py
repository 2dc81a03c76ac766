"""The page of one run, made when it is asked for."""

from __future__ import annotations

import asyncio

from firetrial_analyzer.archive import Archive
from firetrial_analyzer.window import window


class RunPages:
    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        # A long trajectory takes half a gigabyte while its page is made.
        self._turn = asyncio.Lock()

    async def page(self, run_id: str) -> bytes:
        """Raises NOT_FOUND for a run that has not ended, or is none."""
        item = await self._archive.analysis(run_id)
        task = await self._archive.task(item.run.task)
        # Not at start-up: it brings the templates.
        from firetrial_analyzer.render.run_page import cited_steps, html  # noqa: PLC0415

        async with self._turn:
            chunks = await self._archive.chunks(run_id)
            found = await window(chunks, self._archive.chunk, cited_steps(item))
            return (await asyncio.to_thread(html, item, task, found)).encode()
