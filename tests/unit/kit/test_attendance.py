from __future__ import annotations

import asyncio
from dataclasses import replace

from firetrial_kit.attendance import Attendance, Attendant, attendants
from firetrial_kit.testing import InMemoryState, ManualClock


def attending(state: InMemoryState, retire: asyncio.Event | None) -> Attendance:
    clock = ManualClock()
    me = Attendant("me", "host", "0.1.0", "default", 2, clock.now(), clock.now())
    return Attendance(state, clock, me, lambda: 1, retire)


async def test_who_is_asked_to_drain_retires_and_says_so() -> None:
    state, retire = InMemoryState(), asyncio.Event()
    attendance = attending(state, retire)
    await attendance.beat()
    record = await attendants(state).get("me")
    assert (record.busy, record.draining, retire.is_set()) == (1, False, False)
    await attendants(state).change("me", lambda one: replace(one, drain_asked=True))
    await attendance.beat()
    assert retire.is_set()
    assert (await attendants(state).get("me")).draining


async def test_who_shares_its_process_does_not() -> None:
    state = InMemoryState()
    attendance = attending(state, None)
    await attendance.beat()
    await attendants(state).change("me", lambda one: replace(one, drain_asked=True))
    await attendance.beat()
    assert not (await attendants(state).get("me")).draining


async def test_leave_is_taken() -> None:
    state = InMemoryState()
    task = asyncio.create_task(attending(state, None).run())
    async with asyncio.timeout(5):
        while await attendants(state).find("me") is None:
            await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert await attendants(state).find("me") is None


def test_who_tells_what_it_takes_is_believed_and_who_does_not_may_take_anything() -> None:
    now = ManualClock().now()
    older = Attendant("me", "host", "0.1.0", "default", 2, now, now)
    assert older.would_take("test")
    assert replace(older, takes=("run", "test")).would_take("test")
    assert not replace(older, takes=("run",)).would_take("test")
    assert not replace(older, draining=True).would_take("test")
