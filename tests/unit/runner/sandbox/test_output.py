"""Output: ordered, bounded, cut where its limit is."""

from __future__ import annotations

import asyncio

import pytest

from firetrial_runner.sandbox.output import Output
from firetrial_runner.sandbox.port import Stream


async def test_the_limit_cuts_to_the_byte_and_tells_once() -> None:
    told: list[str] = []
    output = Output(10, lambda: 1.5, lambda: told.append("over"))
    for data in (b"123456", b"7890ab", b"cdef"):
        await output.put(Stream.STDOUT, data)
    await output.close()
    chunks = [chunk async for chunk in output.read()]
    assert b"".join(chunk.data for chunk in chunks) == b"1234567890"
    assert {chunk.offset_s for chunk in chunks} == {1.5}
    assert (output.delivered, told) == (10, ["over"])


async def test_exactly_the_limit_is_not_over_it() -> None:
    told: list[str] = []
    output = Output(4, lambda: 0, lambda: told.append("over"))
    await output.put(Stream.STDERR, b"1234")
    assert told == []


async def test_a_slow_reader_stops_the_writer() -> None:
    output = Output(1000, lambda: 0, lambda: None)

    async def write() -> None:
        for _ in range(100):
            await output.put(Stream.STDOUT, b"x")
        await output.close()

    writing = asyncio.create_task(write())
    await asyncio.sleep(0.01)
    assert output.delivered < 20
    assert len([chunk async for chunk in output.read()]) == 100
    await writing


async def test_dropping_frees_a_writer_that_waits() -> None:
    output = Output(1000, lambda: 0, lambda: None)

    async def write() -> None:
        for _ in range(100):
            await output.put(Stream.STDOUT, b"x")
        await output.close()

    writing = asyncio.create_task(write())
    await asyncio.sleep(0.01)
    output.drop_unclaimed()
    await asyncio.wait_for(writing, 1)
    assert output.delivered == 100


async def test_it_can_be_read_once() -> None:
    output = Output(10, lambda: 0, lambda: None)
    output.read()
    output.drop_unclaimed()
    await output.put(Stream.STDOUT, b"kept")
    assert output.delivered == 4
    with pytest.raises(RuntimeError):
        output.read()
