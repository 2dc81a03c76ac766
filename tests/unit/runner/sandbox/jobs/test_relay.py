"""A runner hears those who show the secret of a run, and a job shows it to nobody else."""

from __future__ import annotations

import asyncio
import gc
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from firetrial_runner.sandbox.jobs.dialing import dial
from firetrial_runner.sandbox.jobs.frames import Channel, Kind
from firetrial_runner.sandbox.jobs.order import Caller
from firetrial_runner.sandbox.jobs.relay import Relay
from firetrial_runner.sandbox.port import SandboxError


def outward() -> str:
    """An address of this machine that is not the loopback's; no packet is sent for it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            pytest.skip("this machine has no address but the loopback's")
        return str(probe.getsockname()[0])


class Answering:
    """Says what was asked for, and hangs up."""

    async def control(self, channel: Channel) -> None:
        await channel.send(Kind.GO)

    async def way(self, port: int, channel: Channel) -> None:
        await channel.send(Kind.DATA, str(port).encode())


@asynccontextmanager
async def relayed(address: str = "") -> AsyncIterator[Caller]:
    relay = Relay(address)
    await asyncio.gather(*(relay.open() for _ in range(3)))
    try:
        with relay.expecting("r-1", Answering()) as caller:
            yield caller
    finally:
        await relay.aclose()


async def heard(caller: Caller, run: str = "r-1", way: int | None = None) -> tuple[Kind, bytes] | None:
    """What is answered; None where nothing is."""
    channel = await dial(caller, run, way)
    try:
        return await channel.receive()
    except (EOFError, ConnectionError):
        return None
    finally:
        await channel.aclose()


@pytest.mark.parametrize("far", [False, True])
async def test_who_knows_the_secret_is_heard(far: bool) -> None:
    async with relayed(outward() if far else "") as caller:
        assert bool(caller.fingerprint) is far
        assert await heard(caller) == (Kind.GO, b"")
        assert await heard(caller, way=8463) == (Kind.DATA, b"8463")


async def test_others_are_not() -> None:
    async with relayed() as caller:
        assert await heard(replace(caller, secret="a guess")) is None
        assert await heard(replace(caller, secret="")) is None
        assert await heard(caller, run="r-2") is None
        reader, writer = await asyncio.open_connection(caller.host, caller.port)
        writer.write(b"GET / HTTP/1.1\r\nhost: login1\r\n\r\n")
        assert await reader.read() == b""
        writer.close()


async def test_a_run_that_is_over_is_not_heard_any_more() -> None:
    relay = Relay()
    await relay.open()
    with relay.expecting("r-1", Answering()) as caller:
        pass
    assert await heard(caller) is None
    await relay.aclose()


async def test_a_secret_is_shown_to_no_other_certificate() -> None:
    async with relayed(outward()) as caller:
        with pytest.raises(ConnectionError, match="is not the runner"):
            await dial(replace(caller, fingerprint="00" * 32), "r-1")


async def test_no_plain_word_is_heard_from_outside() -> None:
    async with relayed(outward()) as caller:
        assert await heard(replace(caller, fingerprint="")) is None


@pytest.mark.parametrize("address", ["192.0.2.77", "no-such-host.invalid:8470"])
async def test_an_address_that_is_not_here_is_refused(address: str) -> None:
    relay = Relay(address)
    for _ in range(2):
        with pytest.raises(SandboxError, match="FIRETRIAL_RUNNER_JOB_ADDRESS"):
            await relay.open()
    await relay.aclose()


@pytest.mark.parametrize(
    "body",
    [b"[" * 200_000, rb'{"run": "r-1", "secret": "\ud800"}', rb'{"run": ["r-1"], "secret": {}}', b"\xff"],
)
async def test_a_strangers_nonsense_is_no_trouble(body: bytes) -> None:
    troubles: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, told: troubles.append(told))
    async with relayed() as caller:
        reader, writer = await asyncio.open_connection(caller.host, caller.port)
        channel = Channel(reader, writer)
        await channel.send(Kind.HELLO, body)
        assert await reader.read() == b""
        await channel.aclose()
        await asyncio.sleep(0)
    gc.collect()
    assert troubles == []
