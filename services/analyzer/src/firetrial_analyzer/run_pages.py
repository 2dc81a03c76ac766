"""The page of one run, made when it is asked for."""

from __future__ import annotations

import asyncio

from firetrial_analyzer.archive import Archive
from firetrial_analyzer.window import window
from firetrial_kit.objects import Objects


class RunPages:
    def __init__(self, archive: Archive, objects: Objects) -> None:
        self._archive = archive
        self._objects = objects
        # A long trajectory takes half a gigabyte while its page is made.
        self._turn = asyncio.Lock()

    async def page(self, run_id: str) -> bytes:
        """Raises NOT_FOUND for a run that has not ended, or is none."""
        item = await self._archive.analysis(run_id)
        task = await self._archive.task(item.run.task)
        # Not at start-up: it brings the templates.
        from firetrial_analyzer.render.run_page import cited_steps, html  # noqa: PLC0415

        async with self._turn:
            keys = await self._objects.keys("runs", f"runs/{run_id}/trajectory/")
            found = await window(keys, lambda key: self._objects.get(f"runs/{key}"), cited_steps(item))
            return (await asyncio.to_thread(html, item, task, found)).encode()
