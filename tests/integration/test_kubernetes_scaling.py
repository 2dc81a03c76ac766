"""What KEDA is told by the broker as it is deployed: its scalers ask, work comes, is taken and is done."""

from __future__ import annotations

import asyncio
import json
import math
import os
import re
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import kubernetes_objects
import pytest
from kubernetes_objects import FOLDER, Manifests
from nats.js import JetStreamContext

from firetrial_kit import jetstream
from support import deployed, servers, tls

pytestmark = pytest.mark.needs("kubectl", "nats-server", "openssl")
NATS = FOLDER / "components" / "nats" / "server" / "kubernetes.conf"
CLUSTER = FOLDER / "components" / "nats-cluster" / "kubernetes.conf"


@dataclass(frozen=True, slots=True)
class Broker:
    url: str
    watched: str
    secrets: Path

    def runners(self, *pools: str) -> None:
        """The last step of the job `setup`."""
        environ = {**os.environ, **deployed.user("runner", self.secrets, self.url)}
        environ["FIRETRIAL_OBJECTS_URL"] = "file:///nowhere"
        argv = [sys.executable, "-m", "firetrial_runner.pools", *pools]
        subprocess.run(argv, env=environ, check=True, timeout=60)

    @asynccontextmanager
    async def known_as(self, user: str) -> Any:
        password, ca = (
            (self.secrets / user / "nats-password").read_text(),
            self.secrets / "authority" / "ca.pem",
        )
        client = await jetstream.connect(self.url, name=user, user=user, password=password, ca=ca)
        try:
            yield client.jetstream()
        finally:
            await client.close()

    def lag(self, trigger: dict[str, str]) -> int | None:
        """As KEDA's nats-jetstream scaler reads it (2.9 and later); None where there is no such consumer."""
        asked = urlencode({"acc": trigger["account"], "consumers": "true", "config": "true"})
        with urllib.request.urlopen(f"http://{self.watched}/jsz?{asked}", timeout=5) as answer:
            told = json.load(answer)
        for account in told.get("account_details", []):
            for stream in account.get("stream_detail", []):
                for consumer in stream.get("consumer_detail", []):
                    names = (account["name"], stream["name"], consumer["name"])
                    if names == (trigger["account"], trigger["stream"], trigger["consumer"]):
                        return int(consumer["num_pending"] + consumer["num_ack_pending"])
        return None


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    secrets, folder = tls.secrets(tmp_path_factory.mktemp("secrets")), tmp_path_factory.mktemp("nats")
    (folder / "kubernetes.conf").write_text(NATS.read_text())
    with deployed.nats(folder, secrets, "kubernetes.conf") as url:
        deployed.make_streams(secrets, url)
        # Other pods ask it, so the loopback would not do.
        found = re.search(r"Starting http monitor on 0\.0\.0\.0:(\d+)", (folder / "nats.log").read_text())
        assert found
        yield Broker(url, f"127.0.0.1:{found[1]}", secrets)


@pytest.fixture(scope="module")
def triggers() -> dict[str, dict[str, str]]:
    """What the scalers of the pools ask, by consumer."""
    made = Manifests(kubernetes_objects.render(FOLDER / "overlays" / "external"), {})
    asked = [trigger["metadata"] for one in made.of("ScaledObject") for trigger in one["spec"]["triggers"]]
    return {each["consumer"]: each for each in asked}


async def test_scalers_see_what_waits_and_what_is_in_hand(
    broker: Broker, triggers: dict[str, dict[str, str]]
) -> None:
    def seen() -> dict[str, int | None]:
        return {name: broker.lag(trigger) for name, trigger in triggers.items()}

    def wanted(consumer: str) -> int:
        return math.ceil((broker.lag(triggers[consumer]) or 0) / int(triggers[consumer]["lagThreshold"]))

    runs, tests = "runner-default", "runner-test-gpu"
    assert seen() == dict.fromkeys(triggers)  # of what is not there, KEDA knows nothing
    broker.runners("default", "gpu")
    assert seen() == dict.fromkeys(triggers, 0)
    async with broker.known_as("runner") as js, broker.known_as("judge") as judge:
        for _ in range(5):
            await js.publish("ft.work.run.default", b"run")
        await judge.publish("ft.work.test.gpu", b"test")
        assert (seen(), wanted(runs), wanted(tests)) == (
            dict.fromkeys(triggers, 0) | {runs: 5, tests: 1},
            3,
            1,
        )
        taken = await _take(js, runs, 4)
        assert seen()[runs] == 5  # work in hand keeps its runners
        for message in taken[:3]:
            await message.ack_sync()
        assert (seen()[runs], wanted(runs)) == (2, 1)
        await taken[3].nak(delay=60)  # put back to wait: for GPUs, say
        (last,) = await _take(js, runs, 1)
        await last.ack_sync()
        assert (seen()[runs], wanted(runs)) == (1, 1)


async def _take(js: JetStreamContext, consumer: str, count: int) -> list[Any]:
    pull = await js.pull_subscribe_bind(durable=consumer, stream="FT_WORK")
    try:
        return list(await pull.fetch(count, timeout=5))
    finally:
        await pull.unsubscribe()


async def test_a_runner_finds_its_consumers_made(broker: Broker) -> None:
    """Made twice, or by a runner first, they are the same; what waits in them stays."""
    async with broker.known_as("runner") as js:
        await js.publish("ft.work.run.gpu", b"run")
        for _ in range(2):
            await asyncio.to_thread(broker.runners, "gpu")
        made = await js.add_consumer(
            "FT_WORK", jetstream.durable("runner-gpu", ("ft.work.run.gpu",), ack_wait=30)
        )
        assert made.num_pending == 1


def test_three_servers_are_watched_in_the_same_way(broker: Broker, tmp_path: Path) -> None:
    for name in ("nats.conf", "cluster.conf"):
        (tmp_path / name).write_text((tls.DEPLOY / "nats" / name).read_text())
    (tmp_path / "kubernetes.conf").write_text(CLUSTER.read_text())
    (tmp_path / "secrets").symlink_to(broker.secrets / "nats")
    argv = [str(servers.BIN / "nats-server"), "-t", "-c", str(tmp_path / "kubernetes.conf")]
    told = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stderr
    assert NATS.read_text().splitlines()[-1] == CLUSTER.read_text().splitlines()[-1] == 'http: "0.0.0.0:8222"'
