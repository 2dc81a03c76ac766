"""Work in threads."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from firetrial_runner.stoppable import Check, in_thread


async def test_it_brings_what_comes_of_it() -> None:
    assert await in_thread(lambda _: 7) == 7
    with pytest.raises(ZeroDivisionError):
        await in_thread(lambda _: 1 // 0)


async def test_cancelled_it_ends_no_sooner_than_the_work() -> None:
    begun, ended = threading.Event(), threading.Event()

    def work(go_on: Check) -> None:
        begun.set()
        try:
            while True:
                time.sleep(0.02)
                go_on()
        finally:
            time.sleep(0.05)
            ended.set()

    task = asyncio.create_task(in_thread(work))
    await asyncio.to_thread(begun.wait)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended.is_set()
