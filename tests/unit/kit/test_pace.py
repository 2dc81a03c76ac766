"""How many requests are let through at once, and what refusals and hints change."""

from __future__ import annotations

import asyncio

from firetrial_kit.pace import Pace, Turn


class Time:
    """Moves only by sleeping."""

    def __init__(self) -> None:
        self.now = 0.0

    def clock(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds
        await asyncio.sleep(0)


def paced(most: int = 64) -> tuple[Pace, Time]:
    time = Time()
    return Pace(most, clock=time.clock, sleep=time.sleep), time


async def round_of(pace: Pace) -> int:
    """As many as are let through at once, all answered; how many that were."""
    turns = [await pace.enter() for _ in range(pace.limit)]
    for _ in turns:
        pace.answered()
        pace.leave()
    return len(turns)


async def test_it_doubles_until_the_most_or_the_first_refusal_and_then_grows_by_one() -> None:
    pace, time = paced(most=64)
    assert [await round_of(pace) for _ in range(5)] == [8, 16, 32, 64, 64]
    turn = await pace.enter()
    time.now += 1
    pace.refused(turn, None)
    pace.leave()
    assert pace.limit == 32
    assert [await round_of(pace) for _ in range(3)] == [32, 32, 33]


async def test_refusals_of_one_round_are_one_cut_and_there_is_always_one_left() -> None:
    pace, time = paced()
    turns = [await pace.enter() for _ in range(8)]
    for turn in turns:
        time.now += 0.01
        pace.refused(turn, None)
        pace.leave()
    assert pace.limit == 4
    for _ in range(9):
        turn = await pace.enter()
        pace.refused(turn, None)
        pace.leave()
    assert pace.limit == 1


async def test_what_the_server_asks_to_wait_all_wait() -> None:
    pace, _ = paced()
    turn = await pace.enter()
    pace.refused(turn, 7.0)
    pace.leave()
    later = await pace.enter()
    assert (later.began, later.waited) == (7.0, 7.0)
    pace.refused(later, 100_000.0)
    pace.leave()
    assert (await pace.enter()).waited == 60.0


async def test_who_gives_up_waiting_takes_nobody_s_turn() -> None:
    pace, _ = paced(most=1)
    await pace.enter()
    waiting: list[asyncio.Task[Turn]] = [asyncio.create_task(pace.enter()) for _ in range(3)]
    await asyncio.sleep(0)
    waiting[0].cancel()
    await asyncio.sleep(0)
    pace.leave()
    waiting[1].cancel()  # its turn has come, and it does not know yet
    await asyncio.gather(*waiting[:2], return_exceptions=True)
    await asyncio.wait_for(waiting[2], 1)
    pace.leave()
    await asyncio.wait_for(pace.enter(), 1)
