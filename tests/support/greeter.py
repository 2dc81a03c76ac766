"""Who answers inside a sandbox, where no model is needed for it."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Mapping


class Greeter:
    """A gateway that greets whoever comes."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._servers: list[asyncio.Task[asyncio.Server]] = []

    def environment(self, url: str) -> Mapping[str, str]:
        return {"GATEWAY": url, "GIVEN": "by the gateway"}

    def serve(self, listener: socket.socket) -> None:
        self._servers.append(asyncio.create_task(asyncio.start_server(self._greet, sock=listener)))

    async def _greet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        body = f"hello from {self._name}".encode()
        writer.write(b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: %d\r\n\r\n" % len(body) + body)
        await writer.drain()
        writer.close()

    async def aclose(self) -> None:
        assert len(self._servers) == 1
        server = await self._servers[0]
        server.close()
        await server.wait_closed()
