"""What a process of services does at its end."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from firetrial_kit.service import ended


async def test_a_part_that_swallows_a_cancellation_ends_all_the_same() -> None:
    async def deaf() -> None:
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(60)
        await asyncio.sleep(60)

    async def broken() -> None:
        raise ValueError("in its own way")

    tasks = [asyncio.create_task(deaf()), asyncio.create_task(broken())]
    await asyncio.sleep(0)
    async with asyncio.timeout(30):
        await ended(tasks, again=0.01)
    assert all(task.done() for task in tasks)
    await ended([])
