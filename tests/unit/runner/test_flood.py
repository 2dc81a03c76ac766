"""What lets a run in, and what it has in hand, in numbers."""

from __future__ import annotations

import asyncio
from collections.abc import MutableMapping
from typing import Any

import pytest

from firetrial_runner.flood import Flow, Room, Turnstile
from firetrial_runner.gateway.ask import LARGE, MAX_BYTES, InHand
from firetrial_runner.gateway.faults import Refusal
from firetrial_runner.gateway.session import ROOM

MIB = 1024**2


def test_connections_at_a_time_and_in_a_row() -> None:
    now, seen = 0.0, list[str]()
    turnstile = Turnstile(Flow(at_once=3, per_s=2.0, burst=4), seen.append, lambda: now)
    assert turnstile.told == ""
    assert [turnstile.enter() for _ in range(5)] == [True, True, True, False, False]
    for _ in range(3):
        turnstile.leave()
    assert [turnstile.enter(), turnstile.enter()] == [True, False]
    now = 1.0
    assert [turnstile.enter(), turnstile.enter(), turnstile.enter()] == [True, True, False]
    assert seen == ["at_once", "at_once", "rate", "at_once"]
    assert turnstile.told == "4 connections were turned away: 3 over 3 at a time, 1 over 2 a second"
    now = 1000.0
    for _ in range(3):
        turnstile.leave()
    passed = 0
    while turnstile.enter():
        turnstile.leave()
        passed += 1
    assert passed == 4


async def test_room_is_given_in_the_order_of_arrival() -> None:
    room, order = Room(10), list[str]()

    async def take(name: str, size: int) -> None:
        await room.take(size)
        order.append(name)

    await take("first", 8)
    waiting = [
        asyncio.create_task(take(name, size)) for name, size in (("large", 9), ("small", 1), ("gone", 1))
    ]
    await asyncio.sleep(0)
    assert order == ["first"]
    waiting.pop().cancel()
    room.give(8)
    await asyncio.gather(*waiting)
    assert order == ["first", "large", "small"]
    room.give(10)
    await room.take(10)


def told(*pieces: bytes, then: asyncio.Event | None = None) -> Any:
    """What a server tells of a body in these pieces; after the last but one it waits for `then`."""
    left = list(pieces)

    async def receive() -> MutableMapping[str, Any]:
        if len(left) == 1 and then is not None:
            await then.wait()
        piece = left.pop(0)
        return {"type": "http.request", "body": piece, "more_body": bool(left)}

    return receive


async def test_requests_are_held_to_the_room_of_their_run() -> None:
    room, over = Room(ROOM), asyncio.Event()
    large = [InHand(room) for _ in range(ROOM // (3 * MAX_BYTES) + 1)]
    reading = [asyncio.create_task(each.read(told(b"[" + b" " * LARGE, b"]", then=over))) for each in large]
    small = InHand(room)
    waiting = asyncio.create_task(small.read(told(b"{}")))
    await asyncio.sleep(0.01)
    assert not waiting.done()
    over.set()
    assert {len(raw) for raw in await asyncio.gather(*reading)} == {LARGE + 2}
    assert await waiting == b"{}"
    for each in (*large, small):
        await each.become(0)
    await room.take(ROOM)


@pytest.mark.parametrize("part", [b"[],", b"1,", b'{"a":1},'])
async def test_a_request_of_too_many_parts_is_refused(part: bytes) -> None:
    room = Room(ROOM)
    with pytest.raises(Refusal, match="so many parts"):
        await InHand(room).read(told(part * (MAX_BYTES // len(part))))
    await room.take(ROOM)
