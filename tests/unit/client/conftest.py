"""A fake Firetrial for each test."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from firetrial_client import AsyncFiretrial
from unit.client.fakes import Server, World


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server(World())
    yield server
    server.stop()


@pytest.fixture
def world(server: Server) -> World:
    return server.world


@pytest.fixture
async def client(server: Server) -> AsyncIterator[AsyncFiretrial]:
    async with AsyncFiretrial(server.endpoint, environ={}) as client:
        yield client
