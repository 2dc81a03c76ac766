"""One at a time for each key, and nothing is left behind."""

from __future__ import annotations

import asyncio

from firetrial_kit.once import Turns


async def test_the_same_key_waits_and_another_does_not() -> None:
    turns, going = Turns(), list[str]()

    async def work(key: str, name: str) -> None:
        async with turns.of(key):
            going.append(f"{name} begins")
            await asyncio.sleep(0.01)
            going.append(f"{name} ends")

    await asyncio.gather(work("k", "first"), work("k", "second"), work("other", "third"))
    assert going.index("first ends") < going.index("second begins")
    assert going.index("third begins") < going.index("first ends")
    assert turns._held == {}


async def test_who_gives_up_or_fails_leaves_the_key_to_others() -> None:
    turns = Turns()

    async def fail() -> None:
        async with turns.of("k"):
            await asyncio.sleep(0.01)
            raise ValueError

    async def wait() -> None:
        async with turns.of("k"):
            await asyncio.sleep(0)

    tasks = [asyncio.create_task(fail()), asyncio.create_task(wait()), asyncio.create_task(wait())]
    await asyncio.sleep(0)
    tasks[1].cancel()
    ended = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(end) for end in ended] == [ValueError, asyncio.CancelledError, type(None)]
    assert turns._held == {}
