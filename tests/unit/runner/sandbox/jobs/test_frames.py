"""Frames arrive as they were sent, and what is none is refused; a connection keeps both its ends."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firetrial_runner.sandbox.jobs import frames
from firetrial_runner.sandbox.jobs.frames import MOST, Channel, Kind, ProtocolError


@asynccontextmanager
async def pair() -> AsyncIterator[tuple[Channel, Channel]]:
    """The two ends of a connection."""
    ends = [Channel(*await asyncio.open_connection(sock=end)) for end in socket.socketpair()]
    try:
        yield ends[0], ends[1]
    finally:
        for end in ends:
            await end.aclose()


@given(st.lists(st.tuples(st.sampled_from(Kind), st.binary(max_size=2000)), max_size=20))
async def test_frames_arrive_in_order(sent: list[tuple[Kind, bytes]]) -> None:
    async with pair() as (here, there):
        for kind, body in sent:
            await here.send(kind, body)
        here.close()
        assert [await there.receive() for _ in sent] == sent
        with pytest.raises(EOFError):
            await there.receive()


@pytest.mark.parametrize("said", [b"?\0\0\0\0", b"D" + (MOST + 1).to_bytes(4, "big")])
async def test_what_is_no_frame_is_refused(said: bytes) -> None:
    reader = asyncio.StreamReader()
    reader.feed_data(said)
    here, there = socket.socketpair()
    _, writer = await asyncio.open_connection(sock=here)
    with pytest.raises(ProtocolError):
        await Channel(reader, writer).receive()
    writer.close()
    there.close()


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b"\xff"])
def test_a_body_that_is_no_object_is_refused(body: bytes) -> None:
    with pytest.raises(ProtocolError):
        frames.parsed(body)


async def test_a_connection_that_has_said_all_is_still_answered() -> None:
    """client ⇄ near — far ⇄ server: an end in one direction leaves the other open."""
    client, near_end = socket.socketpair()
    server, far_end = socket.socketpair()
    async with pair() as (near, far):
        joining = [
            asyncio.create_task(frames.join(near, *await asyncio.open_connection(sock=near_end))),
            asyncio.create_task(frames.join(far, *await asyncio.open_connection(sock=far_end))),
        ]
        reader, writer = await asyncio.open_connection(sock=client)
        served, answering = await asyncio.open_connection(sock=server)
        writer.write(b"question" * 50_000)
        writer.write_eof()
        assert await served.read() == b"question" * 50_000
        answering.write(b"answer")
        answering.close()
        assert await reader.read() == b"answer"
        await asyncio.gather(*joining)
        writer.close()


async def test_a_connection_that_breaks_breaks_at_the_other_end() -> None:
    client, near_end = socket.socketpair()
    async with pair() as (near, far):
        joining = asyncio.create_task(frames.join(near, *await asyncio.open_connection(sock=near_end)))
        far.abort()
        await joining
        client.setblocking(False)
        assert await asyncio.get_running_loop().sock_recv(client, 1) == b""
    client.close()
