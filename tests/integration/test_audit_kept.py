"""The audit on a real broker: it outlives the facts, and nobody takes a single call out of it."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import structlog
from nats.aio.client import Client
from nats.js.errors import APIError

from firetrial_kit.audit import STREAM, Audit, Call
from firetrial_kit.clock import SystemClock
from firetrial_kit.events import EVENTS
from firetrial_kit.jetstream import JetStreamBus, connect
from firetrial_kit.tokens import Means, Principal, Scope
from support import servers

pytestmark = [pytest.mark.needs("nats-server"), pytest.mark.timeout(60)]
CI = Principal("acme-ci", "acme", frozenset({Scope.SUBMIT}), Means.TOKEN)


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    with servers.nats_server(tmp_path / "nats") as url:
        found = await connect(url, name="test")
        yield found
        await found.close()


def environ(client: Client) -> dict[str, str]:
    url = str(client.servers[0].geturl())
    return {**os.environ, "FIRETRIAL_NATS_URL": url, "FIRETRIAL_OBJECTS_URL": "file:///nowhere"}


def make(client: Client, *more: str) -> None:
    argv = [sys.executable, "-m", "firetrial_kit.streams", "make", *more]
    subprocess.run(argv, env=environ(client), check=True, timeout=30)


def listed(client: Client) -> list[dict[str, Any]]:
    argv = [str(servers.BIN / "firetrial"), "admin", "audit", "--json"]
    done = subprocess.run(argv, env=environ(client), capture_output=True, check=True, timeout=30)
    return list(json.loads(done.stdout))


async def tell(client: Client) -> None:
    clock, log = SystemClock(), structlog.get_logger()
    method = "/firetrial.runner.v1.RunnerService/CancelRun"
    call = Call(method, "ipv4:127.0.0.1:1", clock.now(), clock.monotonic(), "a" * 32, CI, "acme")
    await Audit(JetStreamBus(client, log), clock, log).tell(call, "OK")


async def test_it_is_kept_when_the_facts_are_gone(client: Client) -> None:
    bus, js = JetStreamBus(client, structlog.get_logger()), client.jetstream()
    await bus.ensure_streams()
    await tell(client)  # before there was a stream for it
    assert [one["principal"] for one in listed(client)] == ["acme-ci"]
    make(client)
    await tell(client)
    while (await js.stream_info(STREAM)).state.messages < 2:
        await asyncio.sleep(0.02)
    await js.purge_stream(EVENTS)
    assert [one["principal"] for one in listed(client)] == ["acme-ci"] * 2


async def test_no_call_can_be_taken_out_of_it_and_it_is_kept_as_long_as_one_likes(client: Client) -> None:
    js = client.jetstream()
    make(client)
    await tell(client)
    while not (await js.stream_info(STREAM)).state.messages:
        await asyncio.sleep(0.02)
    for attempt in (js.delete_msg(STREAM, 1), js.purge_stream(STREAM)):
        with pytest.raises(APIError):
            await attempt
    make(client)
    assert (await js.stream_info(STREAM)).config.max_age == 400 * 86_400
    make(client, "--audit-days", "3650")
    info = await js.stream_info(STREAM)
    assert (info.config.max_age, info.state.messages) == (3650 * 86_400, 1)


async def test_a_call_that_is_there_twice_is_listed_once(client: Client) -> None:
    """As after a restore, when the broker copies once more what was restored."""
    js = client.jetstream()
    await JetStreamBus(client, structlog.get_logger()).ensure_streams()
    await tell(client)
    (message,) = await (await js.pull_subscribe("ft.evt.>", stream=EVENTS)).fetch(1)
    await js.publish(message.subject, message.data)
    assert [one["principal"] for one in listed(client)] == ["acme-ci"]
