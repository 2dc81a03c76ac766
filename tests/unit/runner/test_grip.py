"""What a runner has of a run."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from firetrial_kit.testing import ManualClock
from firetrial_runner.grip import Grip


def test_it_holds_as_long_as_the_lease() -> None:
    clock = ManualClock()
    grip = Grip(clock.now() + timedelta(seconds=3), clock)
    clock.advance(2.9)
    assert grip.holds()
    clock.advance(0.1)
    assert not grip.holds()
    grip.until += timedelta(seconds=3)
    assert grip.holds()


async def test_what_is_cancelled_has_so_long_to_end() -> None:
    grip = Grip(ManualClock().now(), ManualClock())
    async with grip.letting_go_within(0.05):
        await asyncio.sleep(0.1)  # nobody has asked
        grip.cancelled.set()
        await asyncio.sleep(0.01)  # and it ends in time
    with pytest.raises(TimeoutError):
        async with grip.letting_go_within(0.05):
            await asyncio.sleep(5)
