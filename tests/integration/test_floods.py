"""Floods of connections, of halves of requests and of large ones, from inside a run: its runner stays whole.

The attacker is a process of its own. What it takes of this process's memory is measured, and another run's
calls go on meanwhile.
"""

from __future__ import annotations

import asyncio
import resource
import socket
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from firetrial_kit.hosts import Network, Reach
from firetrial_runner.egress.egress import Caps, Egress
from firetrial_runner.egress.outside import Outside
from firetrial_runner.egress.policy import Policy
from firetrial_runner.flood import Turnstile
from firetrial_runner.gateway.gateway import FLOW
from firetrial_runner.gateway.server import server
from firetrial_runner.metrics import EgressMetrics
from support import scripted_models as scripted
from support.escapes.lab import FarHosts
from support.gateways import Rig, gateway, upstream
from support.scripted_models import ScriptedModels

MIB = 1024**2
ATTACK = """
import resource, socket, sys, time
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
port, count, most = map(int, sys.argv[1:4])
said, token = sys.argv[4:]
head = b"POST /v1/chat/completions HTTP/1.1\\r\\nhost: x\\r\\n"
admitted = head + b"authorization: Bearer " + token.encode() + b"\\r\\n"
words = {
    "nothing": b"",
    "half a head": head + b"x-a: " + b"a" * 8000,
    "half a body": admitted + b"content-length: 30000\\r\\n\\r\\n" + b"a" * 29000,
    "half a large body": admitted + b"content-length: 30000000\\r\\n\\r\\n" + b"a" * 400000,
}[said]
held, failed = [], 0
for number in range(count):
    s = socket.socket()
    s.settimeout(0.5)
    try:
        s.connect(("127.0.0.1", port))
    except OSError:
        failed += 1
        continue
    held.append(s)
    try:
        s.settimeout(0.001)
        s.sendall(words)
    except OSError:
        pass
def lives(s):
    s.settimeout(0)
    try:
        return bool(s.recv(1))
    except BlockingIOError:
        return True
    except OSError:
        return False
connected, late = count - failed, time.monotonic() + 20
while (live := sum(map(lives, held))) > most and time.monotonic() < late:
    time.sleep(0.1)
print(connected, live)
"""


def rss() -> int:
    """Bytes of memory that this process has now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


async def attack(port: int, count: int, most: int, said: str, token: str = "") -> int:
    """Connections that were made, of which no more than `most` live on."""
    argv = ("-c", ATTACK, str(port), str(count), str(most), said, token)
    child = await asyncio.create_subprocess_exec(sys.executable, *argv, stdout=asyncio.subprocess.PIPE)
    told, _ = await child.communicate()
    made, live = map(int, told.split())
    assert live <= most
    return made


async def going_on(bystander: Rig, during: asyncio.Task[int]) -> tuple[float, int]:
    """(the longest that another run waited for an answer, the most memory meanwhile) until the task ends."""
    longest, most = 0.0, rss()
    while not during.done():
        begun = time.monotonic()
        assert (await bystander.chat("x" * 100_000)).status_code == 200
        longest = max(longest, time.monotonic() - begun)
        most = max(most, rss())
        await asyncio.sleep(0.02)
    return longest, most


@asynccontextmanager
async def two_runs() -> AsyncIterator[tuple[Rig, Rig]]:
    with ScriptedModels(lambda _: scripted.text("yes")) as models:
        async with (
            gateway(upstream(models.base_url)) as attacked,
            gateway(upstream(models.base_url)) as other,
        ):
            assert (await other.chat()).status_code == 200
            yield attacked, other


def port_of(rig: Rig) -> int:
    return int(rig.url.rpartition(":")[2])


@pytest.mark.parametrize(("count", "said"), [(5000, "half a head"), (1500, "half a body"), (1500, "nothing")])
async def test_a_flood_of_connections_is_turned_away_and_counted(count: int, said: str) -> None:
    async with two_runs() as (attacked, other):
        before, session = rss(), attacked.door.session
        flood = attack(port_of(attacked), count, FLOW.at_once, said, session.token)
        flooding = asyncio.create_task(flood)
        longest, most = await going_on(other, flooding)
        assert most - before < 96 * MIB
        assert longest < 5
        turned_away = session.turnstile.turned_away
        assert turned_away >= await flooding - FLOW.at_once > 0
        by_reason = [attacked.metric("turned_away_total", reason=reason) for reason in ("at_once", "rate")]
        assert sum(by_reason) == turned_away
        steps = await attacked.settled()
        told = [step for step in steps if "turned_away" in step]
        assert [step["turned_away"] for step in told] == [turned_away]
        assert told[0]["text"].startswith(f"{turned_away} connections were turned away: ")
        assert len(steps) <= 202
        assert not any("turned_away" in step for step in await other.settled())


async def test_halves_of_large_requests_take_room_of_their_own_run_alone() -> None:
    async with two_runs() as (attacked, other):
        before = rss()
        flood = asyncio.create_task(
            attack(port_of(attacked), 200, 200, "half a large body", attacked.door.session.token)
        )
        longest, most = await going_on(other, flood)
        assert most - before < 160 * MIB
        assert longest < 5
        assert (await other.chat("x" * 3_000_000)).status_code == 200


async def test_heads_have_their_time() -> None:
    app = Starlette(routes=[Route("/", lambda _: PlainTextResponse("here"))])
    answering = server(app, Turnstile(FLOW, lambda _: None), head_s=0.3)
    listener = socket.create_server(("127.0.0.1", 0))
    serving = asyncio.create_task(answering.serve([listener]))
    request = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n"
    for first in (b"", request):
        reader, writer = await asyncio.open_connection(*listener.getsockname())
        writer.write(first)
        if first:
            assert (await reader.readuntil(b"here")).startswith(b"HTTP/1.1 200")
            await asyncio.sleep(0.5)  # between requests it may be silent
        begun = time.monotonic()
        writer.write(request[:20])
        assert await reader.read() == b""
        assert 0.1 < time.monotonic() - begun < 2
        writer.close()
    answering.should_exit = True
    await serving


async def test_a_flood_of_the_egress_is_turned_away_and_told_in_a_line(tmp_path: Path) -> None:
    steps: list[tuple[str, object]] = []

    async def record(text: str, told: object) -> None:
        steps.append((text, told))

    registry = CollectorRegistry()
    caps = Caps()
    far = FarHosts(0)
    policy = Policy(Network(Reach.LISTED, ("good.example",)))
    way = Egress(policy, record, Outside(far.resolve, far.dial), caps, EgressMetrics(registry))
    listener = socket.create_server(("127.0.0.1", 0), backlog=512)
    way.serve(listener)
    before = rss()
    async with two_runs() as (_, other):
        flood = asyncio.create_task(attack(listener.getsockname()[1], 2000, caps.flow.at_once, "half a head"))
        longest, most = await going_on(other, flood)
    await way.aclose()
    assert longest < 5
    assert most - before < 96 * MIB
    (line,) = [text for text, told in steps if "turned away" in text]
    counts = [
        registry.get_sample_value("firetrial_egress_turned_away_total", {"reason": reason}) or 0
        for reason in ("at_once", "rate")
    ]
    assert sum(counts) >= await flood - caps.flow.at_once > 0
    assert line.startswith(f"{sum(counts):.0f} connections were turned away: ")
    assert len(steps) <= 202
