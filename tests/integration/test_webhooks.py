"""`firetrial webhooks` as a process on a real broker, with receivers that are slow, broken or hostile."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import signal
import subprocess
import time
import urllib.request
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import structlog
from click.testing import CliRunner

from firetrial.runner.v1 import events_pb2, run_pb2
from firetrial_kit import events
from firetrial_kit.clock import SystemClock
from firetrial_kit.errors import FiretrialError
from firetrial_kit.jetstream import JetStreamBus, connect
from firetrial_operate.webhooks import signing
from firetrial_operate.webhooks.cli import webhooks
from support import pki, servers
from support.receiver import Receiver, receiving

pytestmark = [pytest.mark.needs("nats-server"), pytest.mark.timeout(120)]
NEW, OLD = b"new secret of 24 bytes..", b"old secret of 24 bytes.."
FIRETRIAL = [str(servers.BIN / "firetrial")]
# What the kernel may hold of a connection at both ends; who reads takes hundreds of megabytes in a second.
_BUFFERS = 2 * sum(int(Path(f"/proc/sys/net/ipv4/tcp_{way}mem").read_text().split()[2]) for way in ("r", "w"))


@dataclass(slots=True)
class Hooks:
    """The process, its configuration and the broker it is on."""

    folder: Path
    nats_url: str
    receiver: Receiver
    environ: dict[str, str] = field(default_factory=dict)
    process: subprocess.Popen[bytes] | None = None

    def endpoint(self, name: str, *ways: str, **more: object) -> None:
        """An endpoint of the receiver; `ways` are how it answers."""
        if ways:
            self.receiver.ways[name] = list(ways)
        told = {
            "name": name,
            "url": self.receiver.url(name),
            "events": ["runner.*"],
            "secrets": ["env:NEW", "env:OLD"],
            "allow": ["127.0.0.0/8"],
            "timeout_s": 1,
            **more,
        }
        there = json.loads(self.config.read_text())["endpoint"] if self.config.exists() else []
        self.config.write_text(json.dumps({"endpoint": [*there, told]}))

    @property
    def config(self) -> Path:
        return self.folder / "hooks.json"

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text()

    def start(self) -> None:
        ports = self.folder / "ports.json"
        ports.unlink(missing_ok=True)
        environ = {**self.environ, "FIRETRIAL_PORTS_FILE": str(ports)}
        argv = [*FIRETRIAL, "webhooks", "--config", str(self.config)]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(argv, env=environ, stdout=log, stderr=log, cwd=self.folder)
        servers.wait_for(lambda: ports.exists() or self._ended(), "webhooks", 30)
        time.sleep(0.5)  # until its consumers are made

    def _ended(self) -> bool:
        if self.process is not None and self.process.poll() is not None:
            raise RuntimeError(self.log)
        return False

    def end(self, number: int = signal.SIGTERM) -> int:
        assert self.process is not None
        servers.end(self.process, number)
        return self.process.returncode

    def say(self, *arguments: str, code: int = 0, data: bytes = b"") -> Any:
        """What a subcommand answers with --json; run here, for `firetrial` itself takes a second to start."""
        argv = ["--config", str(self.config), *arguments, "--json"]
        runner = CliRunner(env=self.environ)
        with ThreadPoolExecutor(1) as other:  # a thread without an event loop
            done = other.submit(runner.invoke, webhooks, argv, input=data).result(60)
        if isinstance(done.exception, FiretrialError):
            raise done.exception
        assert done.exit_code == code, done.output
        return json.loads(done.stdout)

    def metric(self, name: str, **labels: str) -> float:
        address = json.loads((self.folder / "ports.json").read_text())["metrics"]
        with urllib.request.urlopen(f"http://{address}/metrics") as page:
            text = page.read().decode()
        told = ",".join(f'{key}="{value}"' for key, value in sorted(labels.items()))
        line = next(line for line in text.splitlines() if line.startswith(f"{name}{{{told}}}"))
        return float(line.split()[-1])


@pytest.fixture
def hooks(tmp_path: Path) -> Iterator[Hooks]:
    with servers.nats_server(tmp_path / "nats") as url, receiving() as receiver:
        environ = {
            **os.environ,
            "FIRETRIAL_NATS_URL": url,
            "FIRETRIAL_ACK_WAIT": "1",
            "FIRETRIAL_DRAIN": "1",
            "NEW": signing.PREFIX + base64.b64encode(NEW).decode(),
            "OLD": signing.PREFIX + base64.b64encode(OLD).decode(),
        }
        found = Hooks(tmp_path, url, receiver, environ)
        yield found
        if found.process is not None:
            found.end()


@pytest.fixture
async def bus(hooks: Hooks) -> AsyncIterator[JetStreamBus]:
    client = await connect(hooks.nats_url, name="test")
    found = JetStreamBus(client, structlog.get_logger())
    await found.ensure_streams()
    yield found
    await client.close()


async def tell(bus: JetStreamBus, *keys: str, attempt: int = 1) -> None:
    for key in keys:
        payload = events_pb2.RunStarted(run=run_pb2.Run(id=key, attempt=attempt))
        await bus.publish(events.fact("runner", key, payload, clock=SystemClock(), attempt=attempt))


async def test_a_fact_arrives_signed_and_can_be_verified(hooks: Hooks, bus: JetStreamBus) -> None:
    hooks.endpoint("lab", headers={"X-Lab": "env:NEW"})
    await tell(bus, "r-before")
    hooks.start()
    await tell(bus, "r-1")
    servers.wait_for(lambda: hooks.receiver.came, "the webhook")
    ((_, headers, body),) = hooks.receiver.came
    assert headers["content-type"] == "application/cloudevents+json"
    assert headers["x-lab"] == hooks.environ["NEW"]
    assert json.loads(body)["data"]["run"]["id"] == "r-1"
    for secret in (NEW, OLD):
        signing.verify([secret], headers, body, time.time())
    names = [f"--{name}={headers[f'webhook-{name}']}" for name in ("id", "timestamp", "signature")]
    assert hooks.say("verify", "--secret", "env:OLD", *names, data=body) == [{"valid": True}]
    (told,) = hooks.say("verify", "--secret", "env:OLD", *names, data=body + b" ", code=1)
    assert "no signature" in told["why"]
    assert hooks.metric("firetrial_webhook_deliveries_total", endpoint="lab", result="delivered") == 1
    assert hooks.metric("firetrial_webhook_seconds_count", endpoint="lab") == 1
    assert hooks.end() == 0
    for name in ("NEW", "OLD"):
        assert hooks.environ[name].removeprefix(signing.PREFIX) not in hooks.log


async def test_receivers_that_do_what_they_like_hold_up_nobody_else(hooks: Hooks, bus: JetStreamBus) -> None:
    bad = {
        "hangs": "hang",
        "drips": "drip",
        "fails": "500",
        "closes": "close",
        "huge": "huge",
        "moves": "redirect",
    }
    for name, way in bad.items():
        hooks.endpoint(name, way, give_up_after_s=6, at_once=1)
    hooks.endpoint("metadata", url="https://169.254.169.254/latest", allow=[])
    hooks.endpoint("inside", allow=[])
    hooks.endpoint("nobody", url=f"http://127.0.0.1:{servers.free_port()}/", give_up_after_s=3)
    hooks.endpoint("good")
    hooks.start()
    began = time.monotonic()
    await tell(bus, *(f"r-{number}" for number in range(20)))
    servers.wait_for(lambda: len(hooks.receiver.ids("good")) == 20, "the good one's webhooks", 10)
    assert time.monotonic() - began < 5
    await tell(bus, "r-last")
    servers.wait_for(lambda: len(hooks.receiver.ids("good")) == 21, "one more", 5)
    servers.wait_for(lambda: len(hooks.receiver.endless) >= 3, "answers without end to be left", 20)
    # It is taken for the status that it began with, and read no further than what buffers hold.
    assert max(hooks.receiver.endless) < _BUFFERS
    servers.wait_for(lambda: hooks.say("dead", "list", "fails"), "what failed to be given up", 30)
    why = {row["endpoint"]: row["error"] for row in hooks.say("dead", "list")}
    assert "HTTP 500" in why["fails"]
    assert "307, a redirect, which is not followed" in why["moves"]
    assert "where clouds hand out credentials" in why["metadata"]
    assert "this machine itself" in why["inside"]
    assert {"good", "huge"} & set(why) == set()
    assert hooks.receiver.ids("inside") == []
    rest = {"hangs", "drips", "closes", "nobody"}
    servers.wait_for(lambda: rest <= {row["endpoint"] for row in hooks.say("dead", "list")}, "the rest", 30)


async def test_a_receiver_is_known_by_the_certificate_of_its_name(hooks: Hooks, bus: JetStreamBus) -> None:
    ours = pki.authority(hooks.folder)
    with receiving(pki.signed(hooks.folder, "lab", ours)) as receiver:
        allow = ["127.0.0.0/8", "::1/128"]
        for name, ca in (("known", ours.cert), ("unknown", "")):
            url = f"https://localhost:{receiver.port}/{name}"
            hooks.endpoint(name, url=url, ca=str(ca), allow=allow, give_up_after_s=1)
        hooks.start()
        await tell(bus, "r-1")
        servers.wait_for(lambda: receiver.ids("known"), "the webhook")
        servers.wait_for(lambda: hooks.say("dead", "list", "unknown"), "what is not sent")
        (row,) = hooks.say("dead", "list")
        assert "CERTIFICATE_VERIFY_FAILED" in row["error"]
        assert receiver.ids("unknown") == []


async def test_what_failed_is_tried_again_with_the_same_id_when_the_receiver_says(
    hooks: Hooks, bus: JetStreamBus
) -> None:
    hooks.endpoint("lab", "503+2", "408", "200")
    hooks.start()
    await tell(bus, "r-1")
    began = time.monotonic()
    servers.wait_for(lambda: len(hooks.receiver.came) == 1, "the first attempt")
    await tell(bus, "r-1", attempt=2)
    servers.wait_for(lambda: len(hooks.receiver.came) == 4, "both events", 15)
    assert time.monotonic() - began > 2.5
    first, *_ = ids = hooks.receiver.ids("lab")
    assert ids[:3] == [first] * 3
    assert [event["data"]["run"]["attempt"] for event in hooks.receiver.events("lab")] == [1, 1, 1, 2]
    stamps = [int(headers["webhook-timestamp"]) for _, headers, _ in hooks.receiver.came]
    assert stamps[1] > stamps[0]


async def test_what_was_given_up_is_sent_again_by_hand(hooks: Hooks, bus: JetStreamBus) -> None:
    hooks.endpoint("lab", "400", "400", "503", "200")
    hooks.start()
    await tell(bus, "r-1", "r-2")
    servers.wait_for(lambda: len(hooks.say("dead", "list", "lab")) == 2, "dead letters")
    places = [row["place"] for row in hooks.say("dead", "list", "lab")]
    (told,) = hooks.say("dead", "resend", "lab", str(places[0]), code=1)
    assert (told["result"], told["why"]) == ("later", "HTTP 503")
    assert [row["result"] for row in hooks.say("dead", "resend", "lab", "--all")] == [
        "delivered",
        "delivered",
    ]
    assert hooks.say("dead", "list") == []
    assert sorted(hooks.receiver.ids("lab")[-2:]) == sorted(hooks.receiver.ids("lab")[:2])
    with pytest.raises(FiretrialError, match=f"lab has no dead letter at {places[0]}"):
        hooks.say("dead", "resend", "lab", str(places[0]))
    (told,) = hooks.say("test", "lab")
    assert (told["result"], hooks.receiver.events("lab")[-1]["type"]) == ("delivered", "firetrial.ping")


async def test_killed_in_the_middle_nothing_is_lost(hooks: Hooks, bus: JetStreamBus) -> None:
    hooks.endpoint("lab", at_once=2)
    hooks.endpoint("late", "503", "503", "503", "503", "200")
    hooks.start()
    keys = [f"r-{number}" for number in range(60)]
    await tell(bus, *keys[:30])
    servers.wait_for(lambda: len(hooks.receiver.came) > 5, "some")
    hooks.end(signal.SIGKILL)
    await tell(bus, *keys[30:])
    hooks.start()
    servers.wait_for(lambda: len({*hooks.receiver.ids("lab")}) == 60, "all of them", 30)
    servers.wait_for(
        lambda: len({event["subject"] for event in hooks.receiver.events("late")}) == 60, "late ones", 30
    )
    ids = hooks.receiver.ids("lab")
    assert len(ids) < 90  # what came twice has the id it had
    assert hooks.end() == 0


async def test_killed_in_the_middle_the_order_of_each_resource_holds(hooks: Hooks, bus: JetStreamBus) -> None:
    """What the killed process had in hand arrives before what is told later, and as it was told."""
    hooks.environ["FIRETRIAL_ACK_WAIT"] = "3"
    keys, first, later = [f"r-{number}" for number in range(8)], range(1, 6), range(6, 9)
    hooks.endpoint("lab", "503")
    hooks.start()
    for attempt in first:
        await tell(bus, *keys, attempt=attempt)
        await asyncio.sleep(0.3)  # so that they do not run out of time in the order in which they came
    servers.wait_for(lambda: hooks.metric("firetrial_webhook_waiting", endpoint="lab") == 40, "all in hand")
    hooks.end(signal.SIGKILL)
    for attempt in later:
        await tell(bus, *keys, attempt=attempt)
    hooks.receiver.ways["lab"] = ["200"]
    hooks.receiver.came.clear()
    hooks.start()
    servers.wait_for(lambda: len({*hooks.receiver.ids("lab")}) == 64, "all of them", 60)
    came: dict[str, list[int]] = {key: [] for key in keys}
    for event in hooks.receiver.events("lab"):
        came[event["subject"]].append(event["data"]["run"]["attempt"])
    assert {key: list(dict.fromkeys(told)) for key, told in came.items()} == {
        key: [*first, *later] for key in keys
    }


def test_what_is_wrong_is_told_before_anything_starts(hooks: Hooks) -> None:
    hooks.endpoint("lab", url="http://hooks.example/", secrets=["env:NOWHERE"], events=["runner.run_finishd"])
    argv = [*FIRETRIAL, "webhooks", "--config", str(hooks.config)]
    done = subprocess.run(argv, env=hooks.environ, capture_output=True, text=True)
    assert done.returncode == 2
    for place in ("endpoint[0].url", "endpoint[0].secrets.0", "endpoint[0].events"):
        assert place in done.stderr
    assert "Traceback" not in done.stderr
