"""A task's network, as a run sees it and as it is written down afterwards."""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from firetrial.plan.v1 import plan_pb2
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.hosts import Address, Network, Reach
from firetrial_runner.egress.contacts import Contact
from firetrial_runner.egress.egress import Caps, Egress
from firetrial_runner.egress.outside import Outside
from firetrial_runner.egress.policy import Policy
from firetrial_runner.metrics import EgressMetrics
from firetrial_runner.run import Outcome, Run, RunState
from firetrial_runner.wire import result_to_domain, result_to_json, run_to_wire
from support.escapes import Attempt
from support.escapes.lab import FarHosts, Lab, lab

LISTED = {"reach": "REACH_LISTED", "hosts": ["good.example"], "denied": ["paper.example"]}
VISITS = Attempt(
    "visits",
    "what is allowed, by the variables that programs read",
    source="""
print(urllib.request.urlopen('http://good.example/', timeout=10).read())
print(ask('hello'))
""",
    lines=(
        "urllib.request.urlopen('http://other.example/', timeout=10)",
        "urllib.request.urlopen('https://paper.example/abs/1', timeout=10)",
        "urllib.request.urlopen('https://elsewhere.example/', timeout=10)",
    ),
    network=LISTED,
)
CUT_OFF = Attempt(
    "cut-off", "a host that it needs", lines=("proxied('GET http://good.example/')",), network=LISTED
)


async def submitted(found: Lab, attempt: Attempt, **plan: Any) -> Run:
    run = await found.submit(attempt)
    if not plan:
        return run
    experiment = await found.world.experiments.submit(
        "again", (run.task_id,), plan_pb2.Plan(agents=[run.agent_id], repeats=1, max_attempts=1, **plan)
    )
    (record,) = await found.world.experiments.runs(experiment)
    return record.run


@pytest.mark.needs("bwrap")
async def test_every_contact_is_written_down(tmp_path: Path) -> None:
    async with lab("bubblewrap", tmp_path) as found:
        (run,) = await found.conduct(await found.submit(VISITS))
        steps = await found.steps(run)
        assert await found.conclusion(run) == "held 3", steps
        assert [(c.host, c.requests, c.refused, c.denied) for c in run.contacts] == [
            ("good.example", 1, False, False),
            ("other.example", 1, True, False),
            ("paper.example", 1, True, True),
            ("elsewhere.example", 1, True, False),
        ]
        assert run.contacts[0].bytes > 100
        told = [step["contact"] for step in steps if step["kind"] == "event" and "contact" in step]
        assert [(t["host"], t["port"], "refused" in t) for t in told] == [
            ("good.example", 80, False),
            ("other.example", 80, True),
            ("paper.example", 443, True),
            ("elsewhere.example", 443, True),
        ]
        assert found.far.dialled == ["93.184.215.14:80"]
        record = await found.world.books.runs.get(run.id)
        assert result_to_domain(result_to_json(run), record).contacts == run.contacts
        assert [contact.denied for contact in run_to_wire(run).contacts] == [False, False, True, False]


@pytest.mark.needs("bwrap")
async def test_a_plan_denies_beside_the_task(tmp_path: Path) -> None:
    async with lab("bubblewrap", tmp_path) as found:
        run = await submitted(found, CUT_OFF, denied_hosts=["good.example"])
        (run,) = await found.conduct(run)
        assert run.contacts == (Contact("good.example", 0, 1, refused=True, denied=True, port=80),)
        assert found.far.dialled == []
        with pytest.raises(FiretrialError) as caught:
            await submitted(found, CUT_OFF, denied_hosts=["a b"])
        assert [fault.field for fault in caught.value.faults] == ["plan.denied_hosts[0]"]


@pytest.mark.needs("bwrap")
async def test_what_an_operator_does_not_allow_is_refused_before_the_run(tmp_path: Path) -> None:
    asks = replace(CUT_OFF, network={"reach": "REACH_LISTED", "hosts": ["good.example", "git.example:22"]})
    async with lab("bubblewrap", tmp_path) as found:
        with pytest.raises(FiretrialError) as caught:
            await found.submit(asks)
        assert caught.value.reason is Reason.PRECONDITION
        (fault,) = caught.value.faults
        assert (fault.field, fault.value) == ("network of t-cut-off.hosts[1]", "git.example:22")
        assert "FIRETRIAL_RUNNER_NETWORK" in fault.cure
        with pytest.raises(FiretrialError) as caught:
            await found.submit(
                replace(CUT_OFF, name="bad", network={"reach": "REACH_LISTED", "hosts": ["a b"]})
            )
        assert [fault.value for fault in caught.value.faults] == ["a b"]


GIVES_UP = replace(CUT_OFF, source="refused(lambda: proxied('GET http://good.example/'))\nsys.exit(1)")


@pytest.mark.needs("bwrap")
@pytest.mark.parametrize(
    ("fails", "outcome"),
    [
        (OSError(errno.ENETUNREACH, "Network is unreachable"), Outcome.INFRA_FAILED),
        (socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution"), Outcome.INFRA_FAILED),
        (socket.gaierror(socket.EAI_NONAME, "no such name"), Outcome.AGENT_FAILED),
        (ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused"), Outcome.AGENT_FAILED),
    ],
)
async def test_no_network_at_all_is_not_the_agents_doing(
    tmp_path: Path, fails: OSError, outcome: Outcome
) -> None:
    async def fail(*_: object) -> Any:
        raise fails

    async def known(_: str) -> list[Address]:
        return [ip_address("93.184.215.14")]

    outside = Outside(fail if isinstance(fails, socket.gaierror) else known, fail)
    async with lab("bubblewrap", tmp_path, outside=outside) as found:
        (run,) = await found.conduct(await found.submit(GIVES_UP))
        assert (run.state, run.outcome) == (RunState.ENDED, outcome), run.reason
        assert ("no network" in run.reason) is (outcome is Outcome.INFRA_FAILED)


@asynccontextmanager
async def egress(far: FarHosts, caps: Caps, steps: list[str]) -> AsyncIterator[tuple[Egress, int]]:
    """An egress on the loopback, and its port."""

    async def record(text: str, _: object) -> None:
        steps.append(text)

    policy = Policy(Network(Reach.LISTED, ("good.example",), ("paper.example",)))
    way = Egress(policy, record, Outside(far.resolve, far.dial), caps, EgressMetrics(CollectorRegistry()))
    listener = socket.create_server(("127.0.0.1", 0))
    way.serve(listener)
    yield way, listener.getsockname()[1]
    await way.aclose()


async def said(port: int, line: str) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"{line} HTTP/1.1\r\nhost: x\r\n\r\n".encode())
    answer = await reader.read()
    writer.close()
    return answer


@asynccontextmanager
async def endless() -> AsyncIterator[int]:
    """A host that answers without an end."""

    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        try:
            while True:
                writer.write(bytes(65536))
                await writer.drain()
        except OSError:
            writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        yield server.sockets[0].getsockname()[1]


async def test_bytes_have_a_cap() -> None:
    steps: list[str] = []
    async with endless() as far, egress(FarHosts(far), Caps(bytes=2_000_000), steps) as (way, port):
        first = await said(port, "GET http://good.example/")
        assert 1_800_000 < len(first) <= 2_000_000
        assert b"has had its 2000000 bytes" in await said(port, "GET http://good.example/")
        assert sum(contact.bytes for contact in way.contacts) <= 2_070_000
    assert any("has had its 2000000 bytes" in step for step in steps)


async def test_steps_are_bounded_and_denied_hosts_are_told_of_whatever_else_there_was() -> None:
    steps: list[str] = []
    async with egress(FarHosts(0), Caps(), steps) as (way, port):
        for number in range(300):
            await said(port, f"GET http://h{number}.example/")
        await said(port, "GET http://paper.example/")
    assert any(contact.denied for contact in way.contacts)
    assert len(steps) == 202
    assert "paper.example" in steps[200]
    assert steps[201] == "100 more contacts"


async def test_a_run_that_is_over_has_no_way_out(tmp_path: Path) -> None:
    steps: list[str] = []
    async with endless() as far, egress(FarHosts(far), Caps(), steps) as (way, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET http://good.example/ HTTP/1.1\r\nhost: x\r\n\r\n")
        await reader.readexactly(100_000)
        await way.aclose()
        with pytest.raises(OSError):  # noqa: PT011 -- reset or refused, as it comes
            await asyncio.open_connection("127.0.0.1", port)
        writer.close()
    assert "bytes sent" in steps[0]
