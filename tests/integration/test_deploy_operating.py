"""Who is no service, as deployed: the operator may do what `firetrial admin` does, webhooks their own."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import structlog
from nats.aio.client import Client

from firetrial.runner.v1 import events_pb2, run_pb2
from firetrial_kit import events
from firetrial_kit.bus import Consumer, Received
from firetrial_kit.clock import SystemClock
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.jetstream import JetStreamBus, connect
from firetrial_kit.kv import JetStreamState
from support import deployed, servers
from support.deployed import Broker
from support.operating import asked
from support.receiver import receiving

pytestmark = pytest.mark.needs("nats-server", "openssl")
JUDGE = "judge-run_finished"
Admin = Callable[..., Any]
# What a command prints is read: nothing else is to be printed meanwhile.
QUIET = structlog.wrap_logger(structlog.ReturnLogger())


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    with deployed.broker(tmp_path_factory.mktemp("broker")) as found:
        yield found


@asynccontextmanager
async def connected(user: str, broker: Broker) -> AsyncIterator[Client]:
    password, ca = broker.password(user), broker.authority
    client = await connect(broker.url, name=user, user=user, password=password, ca=ca)
    try:
        yield client
    finally:
        await client.close()


async def finish(client: Client, run: str) -> None:
    """A runner tells that a run has ended."""
    fact = events_pb2.RunFinished(run=run_pb2.Run(id=run))
    await JetStreamBus(client, QUIET).publish(events.fact("runner", run, fact, clock=SystemClock()))


@asynccontextmanager
async def a_judge_who_gives_up(broker: Broker) -> AsyncIterator[list[Received]]:
    """What it was given, all of which becomes dead letters."""
    given: list[Received] = []

    async def handle(message: Received) -> None:
        given.append(message)
        raise FiretrialError(Reason.INVALID, "not one of ours")

    async def fail(_: Received, __: FiretrialError) -> None:
        """Nobody is told."""

    subject = events.subject("runner", "run_finished")
    async with connected("judge", broker) as client:
        bus = JetStreamBus(client, QUIET)
        consumer = Consumer(JUDGE, events.EVENTS, (subject,), handle, fail)
        task = asyncio.create_task(bus.consume(consumer, asyncio.Event()))
        yield given
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def operator(broker: Broker, objects: Path) -> Admin:
    """Runs `firetrial admin …`."""
    told = broker.settings("operator") | {"FIRETRIAL_OBJECTS_URL": f"file://{objects}"}
    return partial(asked, told)


async def letters(ask: Admin, consumer: str, count: int) -> list[dict[str, Any]]:
    """All of a consumer's, once there are so many."""
    async with asyncio.timeout(10):
        while len(found := await ask("dead", "list", "--consumer", consumer)) < count:
            await asyncio.sleep(0.05)
    return list(found)


async def test_the_operator_may_do_what_admin_does(broker: Broker, tmp_path: Path) -> None:
    ask = operator(broker, tmp_path / "objects")
    async with connected("runner", broker) as runner, a_judge_who_gives_up(broker) as given:
        await (await JetStreamState.open(runner, "ft_runner")).create("thing.kept", b"{}")
        await finish(runner, "r-1")
        (first,) = await letters(ask, JUDGE, 1)
        assert (await ask("dead", "show", str(first["place"])))["payload"]["message"]["run"]["id"] == "r-1"
        assert [one["done"] for one in await ask("dead", "requeue", str(first["place"]), "--yes")] == [True]
        _, second = await letters(ask, JUDGE, 2)
        await ask("dead", "drop", str(second["place"]), "--yes")
        assert [message.subject for message in given] == ["ft.evt.runner.v1.run_finished.r-1"] * 2
    (read,) = [one for one in await ask("consumers", "--idle", "0") if one["name"] == JUDGE]
    assert (read["orphan"], read["drift"]) == (True, [])
    gone = ("consumers", "delete", "FT_EVT", JUDGE, "--idle", "0", "--lose-pending", "--yes")
    assert (await ask(*gone))["deleted"]
    for command in (
        ("rebuild-state", "all", "--yes"),
        ("gc", "--yes"),
        ("retention", "--older-than", "9d", "--yes"),
    ):
        await ask(*command)
    assert await ask("runners") == await ask("audit") == []
    before = {one["name"]: one["messages"] for one in await ask("streams") if not one["drift"]}
    assert before["FT_EVT"] == 2
    await ask("backup", str(tmp_path / "backup"))
    with deployed.broker(tmp_path / "other", broker.secrets) as other:
        anew = operator(other, tmp_path / "other-objects")
        assert (await anew("restore", str(tmp_path / "backup"), "--yes"))["restored"]
        assert {one["name"]: one["messages"] for one in await anew("streams")} == before


@contextmanager
def sending(broker: Broker, folder: Path, to: str) -> Iterator[subprocess.Popen[bytes]]:
    """`firetrial webhooks` with one endpoint, ended in good order; its log is `folder`/log."""
    (folder / "secret").write_bytes(base64.b64encode(bytes(32)))
    endpoint = {"name": "lab", "url": to, "secrets": [f"file:{folder}/secret"], "allow": ["127.0.0.0/8"]}
    told = {**endpoint, "events": ["runner.run_finished", "judge.*"]}
    (folder / "webhooks.json").write_text(json.dumps({"endpoint": [told]}))
    ports = folder / "ports.json"
    environ = {**os.environ, **broker.settings("webhooks"), "FIRETRIAL_PORTS_FILE": str(ports)}
    argv = [str(servers.BIN / "firetrial"), "webhooks", "--config", str(folder / "webhooks.json")]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(argv, env=environ, stdout=log, stderr=log)
    try:
        servers.wait_for(ports.exists, "webhooks", 30)
        yield process
    finally:
        servers.end(process)


async def test_webhooks_send_and_give_up_as_the_user_that_they_are(broker: Broker, tmp_path: Path) -> None:
    ask = operator(broker, tmp_path / "objects")
    with receiving() as receiver:
        receiver.ways["lab"] = ["200", "400"]
        with sending(broker, tmp_path, receiver.url("lab")) as process:
            async with asyncio.timeout(10):  # facts from before its consumer are not told
                while "webhook-lab" not in [one["name"] for one in await ask("consumers")]:
                    await asyncio.sleep(0.05)
            async with connected("runner", broker) as runner:
                await finish(runner, "w-1")
                await finish(runner, "w-2")
            await letters(ask, "webhook-lab", 1)
        assert process.returncode == 0
        told = {event["data"]["run"]["id"] for event in receiver.events("lab")}
        assert told == {"w-1", "w-2"}
    assert "permissions violation" not in (tmp_path / "log").read_text().lower()
