"""What the client leaves to us."""

from __future__ import annotations

import asyncio

import pytest

from firetrial_kit.jetstream import heeding


async def test_a_cancellation_that_meets_the_answer_is_heeded() -> None:
    answer: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    calling = asyncio.create_task(heeding(asyncio.wait_for(answer, 5)))
    await asyncio.sleep(0.01)
    answer.set_result(7)
    calling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await calling


async def test_an_answer_in_time_is_the_answer() -> None:
    async with asyncio.timeout(5):
        assert await heeding(asyncio.sleep(0, 7)) == 7
