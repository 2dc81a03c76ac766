"""A time limit whose clock can stand still."""

from __future__ import annotations

import asyncio
import time

import pytest

from firetrial_runner.sandbox.deadline import Deadline


@pytest.mark.parametrize(
    ("seconds", "pauses", "expected"),
    [
        (0.2, [], 0.2),
        (0.2, [(0.05, 0.15)], 0.35),
        (0.2, [(0.05, 0.1), (0.05, 0.05)], 0.35),
        (0.1, [(0.05, 5)], 0.2),  # as long again, and no longer
    ],
)
async def test_when_it_is_reached(seconds: float, pauses: list[tuple[float, float]], expected: float) -> None:
    reached = asyncio.Event()
    begun = time.monotonic()
    deadline = Deadline(seconds, reached.set)

    async def hold() -> None:
        for before, during in pauses:
            await asyncio.sleep(before)
            deadline.pause()
            await asyncio.sleep(during)
            deadline.resume()

    holding = asyncio.create_task(hold())
    async with asyncio.timeout(5):
        await reached.wait()
    assert expected - 0.01 <= time.monotonic() - begun < expected + 0.5
    holding.cancel()


async def test_one_that_is_cancelled_stays_so() -> None:
    deadline = Deadline(0.05, lambda: pytest.fail("it was reached"))
    deadline.pause()
    deadline.cancel()
    deadline.resume()
    await asyncio.sleep(0.15)
