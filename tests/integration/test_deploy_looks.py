"""Looks and sealed tests on the broker as it is deployed: each user may say and hear what they need."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import structlog

from firetrial.judge.v1 import events_pb2 as judge_events
from firetrial.runner.v1 import events_pb2
from firetrial_judge.kinds.lent import Lent
from firetrial_judge.kinds.looking_wire import SandboxedLooker, program
from firetrial_judge.rubric.looking import Ran
from firetrial_judge.rubric.submission import File, Submission
from firetrial_kit import events, jetstream
from firetrial_kit.bus import Consumer, Received
from firetrial_kit.clock import SystemClock
from firetrial_kit.errors import FiretrialError
from firetrial_kit.jetstream import JetStreamBus
from firetrial_kit.kv import JetStreamState
from firetrial_kit.references import ref_to_wire
from firetrial_kit.testing import InMemoryObjects
from support import deployed
from support.deployed import Broker

pytestmark = pytest.mark.needs("nats-server", "openssl")
CLOCK = SystemClock()


@asynccontextmanager
async def taking(user: str, broker: Broker, consumer: Consumer) -> AsyncIterator[None]:
    """The consumer runs, as this user's."""
    async with known_as(user, broker) as bus:
        stop = asyncio.Event()
        running = asyncio.create_task(bus.consume(consumer, stop))
        try:
            yield
        finally:
            stop.set()
            await running


@asynccontextmanager
async def known_as(user: str, broker: Broker) -> AsyncIterator[JetStreamBus]:
    known = {"user": user, "password": broker.password(user), "ca": broker.authority}
    client = await jetstream.connect(broker.url, name=user, **known)  # type: ignore[arg-type]
    try:
        yield JetStreamBus(client, structlog.get_logger())
    finally:
        await client.close()


async def dropped(message: Received, error: FiretrialError) -> None:
    raise AssertionError(f"{message.subject}: {error.message}")


async def test_a_judge_hears_what_came_of_its_looks(tmp_path: Path) -> None:
    objects = InMemoryObjects()
    with deployed.broker(tmp_path) as broker:
        async with known_as("runner", broker) as telling:

            async def answer(message: Received) -> None:
                wanted = message.parse(events_pb2.TestRequested)
                ref = await objects.put(
                    "runs", "looked.json", b'[{"exit":0,"output":"aGk=","cut":false}]', ""
                )
                told = events_pb2.TestFinished(run_id=wanted.run_id, attempt=1, results=ref_to_wire(ref))
                assert list(wanted.command) == program(["ls"])
                await telling.publish(events.fact("runner", wanted.run_id, told, clock=CLOCK))

            work = (events.work_subject("test", "default"),)
            consumer = Consumer("runner-test-default", events.WORK, work, answer, dropped)
            known = {"user": "judge", "password": broker.password("judge"), "ca": broker.authority}
            client = await jetstream.connect(broker.url, name="judge", **known)  # type: ignore[arg-type]
            state = await JetStreamState.open(client, "ft_judge")
            bus = JetStreamBus(client, structlog.get_logger())
            looker = SandboxedLooker(objects, Lent(objects, state, CLOCK, "me"), bus, CLOCK, "default")
            submission = Submission((File("paper/paper.md", ("a",), 2, None),), "0" * 64)
            async with taking("runner", broker, consumer), looker.over(submission) as run:
                assert await run(["ls"]) == [Ran(0, b"hi")]
            assert await objects.keys("sealed", "") == []
            await client.close()


async def test_a_runner_hears_which_tests_were_asked_for(tmp_path: Path) -> None:
    heard: asyncio.Queue[str] = asyncio.Queue()

    async def hear(message: Received) -> None:
        await heard.put(message.parse(judge_events.SealedTestRequested).run_id)

    asked = (events.subject("judge", "test_requested"),)
    consumer = Consumer("runner-test_requested", events.EVENTS, asked, hear, dropped)
    with deployed.broker(tmp_path) as broker:
        async with known_as("judge", broker) as judge, taking("runner", broker, consumer):
            told = judge_events.SealedTestRequested(run_id="r-1", pool="tests", attempt=1)
            await judge.publish(events.fact("judge", "r-1", told, clock=CLOCK))
            async with asyncio.timeout(30):
                assert await heard.get() == "r-1"
