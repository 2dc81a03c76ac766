"""What travels between a runner and its jobs: frames of a kind, a length and a body.

A job's first call is its control; each later one carries one connection from inside to a way out. In both
directions every connection starts with a frame, and is read only as far as frames go.
"""

from __future__ import annotations

import asyncio
import json
import struct
from contextlib import suppress
from enum import Enum
from typing import Any

MOST = 256 * 1024
"""Bytes of a body; output comes in chunks of 64 KiB."""
PIECE = 64 * 1024
_HEAD = struct.Struct(">cI")


class Kind(Enum):
    HELLO = b"H"  # who calls, and with which secret
    GO = b"G"  # the runner is ready for the command to start
    STARTED = b"S"
    REFUSED = b"R"  # the sandbox cannot be set up there
    STDOUT = b"o"
    STDERR = b"e"
    EXIT = b"X"
    CANCEL = b"C"
    PAUSE = b"p"
    RESUME = b"r"
    BEAT = b"b"  # nothing to say, and still there
    DATA = b"D"  # of a connection to a way out; without a body: that side has said all


class ProtocolError(ConnectionError):
    """What came is no frame."""


class Channel:
    """One connection between a job and its runner."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def receive(self) -> tuple[Kind, bytes]:
        """The next frame. Raises EOFError at the end, ConnectionError where it broke or makes no sense."""
        mark, size = _HEAD.unpack(await self._reader.readexactly(_HEAD.size))
        try:
            kind = Kind(mark)
        except ValueError:
            raise ProtocolError(f"a frame of kind {mark!r}") from None
        if size > MOST:
            raise ProtocolError(f"a frame of {size} bytes")
        return kind, await self._reader.readexactly(size)

    async def send(self, kind: Kind, body: bytes = b"") -> None:
        """Waits while the other end does not take what is sent. Raises ConnectionError."""
        self.push(kind, body)
        await self._writer.drain()

    async def tell(self, kind: Kind, **told: Any) -> None:
        """The same with a JSON object."""
        await self.send(kind, json.dumps(told).encode())

    def push(self, kind: Kind, body: bytes = b"") -> None:
        """Send something small without waiting; into nothing where the connection is gone."""
        if not self._writer.is_closing():
            self._writer.write(_HEAD.pack(kind.value, len(body)) + body)

    def close(self) -> None:
        """End it, after what was sent."""
        self._writer.close()

    def abort(self) -> None:
        """End it now."""
        self._writer.transport.abort()

    async def aclose(self) -> None:
        """End it, once what was sent is on its way."""
        self._writer.close()
        with suppress(OSError):
            await self._writer.wait_closed()


def parsed(body: bytes) -> dict[str, Any]:
    """The JSON object in a body. Raises ProtocolError."""
    try:
        told = json.loads(body)
    except (ValueError, RecursionError):
        told = None
    if not isinstance(told, dict):
        raise ProtocolError("a frame without its JSON object")
    return told


async def join(channel: Channel, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Carry a plain connection over a channel, each direction to its own end; closes both.

    An end is a frame of its own, because TLS closes both directions of a connection or none.
    """
    well = False
    with suppress(ExceptionGroup):
        try:
            async with asyncio.TaskGroup() as both:
                both.create_task(_out(channel, reader))
                both.create_task(_in(channel, writer))
            well = True
        finally:
            channel.close() if well else channel.abort()
            writer.close() if well else writer.transport.abort()


async def _out(channel: Channel, reader: asyncio.StreamReader) -> None:
    while data := await reader.read(PIECE):
        await channel.send(Kind.DATA, data)
    await channel.send(Kind.DATA)


async def _in(channel: Channel, writer: asyncio.StreamWriter) -> None:
    while True:
        kind, data = await channel.receive()
        if kind is not Kind.DATA:
            raise ProtocolError(f"{kind} among data")
        if not data:
            break
        writer.write(data)
        await writer.drain()
    if writer.can_write_eof():
        writer.write_eof()
