"""One suite for the bus, in memory and on a real JetStream: delivery, settling, draining."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
import structlog
from google.protobuf.timestamp_pb2 import Timestamp

from firetrial_kit import events, trace
from firetrial_kit.bus import Bus, Consumer, Outgoing, Received
from firetrial_kit.dead import DEAD, HEADER, Letter, read
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.jetstream import JetStreamBus, connect
from firetrial_kit.testing import InMemoryBus


@pytest.fixture(params=["memory", pytest.param("jetstream", marks=pytest.mark.needs("nats-server"))])
async def bus(request: pytest.FixtureRequest) -> AsyncIterator[Bus]:
    if request.param == "memory":
        yield InMemoryBus()
        return
    client = await connect(request.getfixturevalue("nats_url"), name="test")
    real = JetStreamBus(client, structlog.get_logger())
    await real.ensure_streams()
    yield real
    await client.close()


@pytest.fixture
def fact() -> str:
    """A fact of this test's own, for the real stream is shared."""
    return f"thing_{secrets.token_hex(4)}"


class Taker:
    """Remembers what it was given and what it had to give up; `does` is what it does with a message."""

    def __init__(self, fact: str, does: Callable[[Received], Awaitable[None]] | None = None) -> None:
        self.given: list[tuple[str, int]] = []
        self.failed: list[tuple[str, Reason]] = []
        self._fact, self._does = fact, does

    async def handle(self, message: Received) -> None:
        self.given.append((message.headers["ce-subject"], message.delivered))
        if self._does:
            await self._does(message)

    async def fail(self, message: Received, error: FiretrialError) -> None:
        self.failed.append((message.headers["ce-subject"], error.reason))

    def consumer(self, **kwargs: object) -> Consumer:
        options: dict[str, object] = {"ack_wait": 1.0, "backoff": (0.05,), "max_deliver": 3, **kwargs}
        return Consumer(
            name=f"taker-{self._fact}",
            stream=events.EVENTS,
            subjects=(events.subject("tests", self._fact),),
            handle=self.handle,
            fail=self.fail,
            **options,  # type: ignore[arg-type]
        )


def outgoing(fact: str, key: str) -> Outgoing:
    headers = {
        "ce-specversion": "1.0",
        "ce-type": Timestamp.DESCRIPTOR.full_name,
        "ce-subject": key,
        "traceparent": trace.current(),
    }
    data = Timestamp(seconds=1).SerializeToString()
    return Outgoing(events.subject("tests", fact, key), data, f"{key}:{fact}:1", headers)


@asynccontextmanager
async def consuming(bus: Bus, consumer: Consumer) -> AsyncIterator[asyncio.Event]:
    stop = asyncio.Event()
    task = asyncio.create_task(bus.consume(consumer, stop))
    try:
        yield stop
    finally:
        stop.set()
        await asyncio.wait_for(task, 10)


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(15):
        while not true():
            await asyncio.sleep(0.01)


async def test_a_fact_arrives_once_with_its_headers(bus: Bus, fact: str) -> None:
    got: list[Received] = []

    async def keep(message: Received) -> None:
        got.append(message)

    taker = Taker(fact, keep)
    async with consuming(bus, taker.consumer()):
        await bus.publish(outgoing(fact, "a"))
        await bus.publish(outgoing(fact, "a"))
        await bus.publish(outgoing(fact, "b"))
        await until(lambda: len(got) == 2)
        await asyncio.sleep(0.2)
    assert taker.given == [("a", 1), ("b", 1)]
    assert got[0].parse(Timestamp) == Timestamp(seconds=1)
    assert got[0].headers["ce-specversion"] == "1.0"
    assert got[0].headers["ce-type"] == "google.protobuf.Timestamp"
    assert got[0].headers["traceparent"].startswith("00-")


async def test_a_durable_goes_on_where_it_stopped(bus: Bus, fact: str) -> None:
    taker = Taker(fact)
    await bus.publish(outgoing(fact, "before"))
    async with consuming(bus, taker.consumer()):
        await until(lambda: len(taker.given) == 1)
    await bus.publish(outgoing(fact, "between"))
    async with consuming(bus, taker.consumer()):
        await until(lambda: len(taker.given) == 2)
    assert [key for key, _ in taker.given] == ["before", "between"]


async def test_one_that_is_for_what_is_new_begins_when_it_is_made(bus: Bus, fact: str) -> None:
    taker = Taker(fact)
    await bus.publish(outgoing(fact, "before"))
    async with consuming(bus, taker.consumer(only_new=True)):
        await asyncio.sleep(0.5)  # until it is made
        await bus.publish(outgoing(fact, "after"))
        await until(lambda: len(taker.given) == 1)
    await bus.publish(outgoing(fact, "between"))
    async with consuming(bus, taker.consumer(only_new=True)):
        await until(lambda: len(taker.given) == 2)
    assert [key for key, _ in taker.given] == ["after", "between"]


async def test_later_comes_again_until_it_is_given_up(bus: Bus, fact: str) -> None:
    async def busy(_: Received) -> None:
        raise FiretrialError(Reason.UNAVAILABLE, "not now")

    taker = Taker(fact, busy)
    async with consuming(bus, taker.consumer()):
        await bus.publish(outgoing(fact, "a"))
        await until(lambda: bool(taker.failed))
        await asyncio.sleep(0.3)
    assert taker.given == [("a", 1), ("a", 2), ("a", 3)]
    assert taker.failed == [("a", Reason.UNAVAILABLE)]


async def test_permanent_is_given_up_at_once_and_a_bug_is_tried_again(bus: Bus, fact: str) -> None:
    async def choose(message: Received) -> None:
        if message.headers["ce-subject"] == "bad":
            raise FiretrialError(Reason.INVALID, "never")
        raise ZeroDivisionError

    taker = Taker(fact, choose)
    async with consuming(bus, taker.consumer()):
        await bus.publish(outgoing(fact, "bad"))
        await bus.publish(outgoing(fact, "bug"))
        await until(lambda: len(taker.failed) == 2)
    assert taker.given.count(("bad", 1)) == 1
    assert ("bad", 2) not in taker.given
    assert taker.failed == [("bad", Reason.INVALID), ("bug", Reason.INTERNAL)]
    assert ("bug", 3) in taker.given


async def test_a_failure_that_cannot_be_told_comes_back(bus: Bus, fact: str) -> None:
    told: list[str] = []

    class Shy(Taker):
        async def fail(self, message: Received, error: FiretrialError) -> None:
            told.append(error.message)
            if len(told) == 1:
                raise FiretrialError(Reason.UNAVAILABLE, "the bus is down")

    async def never(_: Received) -> None:
        raise FiretrialError(Reason.INVALID, "never")

    taker = Shy(fact, never)
    async with consuming(bus, taker.consumer()):
        await bus.publish(outgoing(fact, "a"))
        await until(lambda: len(told) == 2)


async def test_long_work_stays_in_hand(bus: Bus, fact: str) -> None:
    async def slow(_: Received) -> None:
        await asyncio.sleep(2.5)

    taker = Taker(fact, slow)
    async with consuming(bus, taker.consumer(concurrency=2)):
        await bus.publish(outgoing(fact, "a"))
        await asyncio.sleep(3.2)
    assert taker.given == [("a", 1)]


async def test_no_more_than_its_capacity_is_taken(bus: Bus, fact: str) -> None:
    now, most = 0, 0

    async def count(_: Received) -> None:
        nonlocal now, most
        now += 1
        most = max(most, now)
        await asyncio.sleep(0.05)
        now -= 1

    taker = Taker(fact, count)
    async with consuming(bus, taker.consumer(concurrency=3)):
        for number in range(9):
            await bus.publish(outgoing(fact, str(number)))
        await until(lambda: len(taker.given) == 9)
    assert most == 3


async def test_one_who_only_looks_sees_what_is_told_from_then_on(bus: Bus, fact: str) -> None:
    await bus.publish(outgoing(fact, "before"))
    async with bus.follow(f"ft.evt.tests.v1.{fact}.>") as told:
        for key in ("a", "b"):
            await bus.publish(outgoing(fact, key))
        await bus.publish(outgoing(f"{fact}_other", "c"))
        await bus.publish(outgoing(fact, "d"))
        async with asyncio.timeout(10):
            seen = [await anext(told) for _ in range(3)]
    assert [message.headers["ce-subject"] for message in seen] == ["a", "b", "d"]
    assert seen[0].parse(Timestamp) == Timestamp(seconds=1)


async def test_looking_takes_nothing_from_those_who_work(bus: Bus, fact: str) -> None:
    taker = Taker(fact)
    async with consuming(bus, taker.consumer()), bus.follow(f"ft.evt.tests.v1.{fact}.*") as told:
        await bus.publish(outgoing(fact, "a"))
        async with asyncio.timeout(10):
            assert (await anext(told)).headers["ce-subject"] == "a"
        await until(lambda: bool(taker.given))
    assert taker.given == [("a", 1)]


async def test_drain_ends_what_is_in_hand(bus: Bus, fact: str) -> None:
    done: list[str] = []

    async def slow(message: Received) -> None:
        await asyncio.sleep(0.4)
        done.append(message.headers["ce-subject"])

    taker = Taker(fact, slow)
    async with consuming(bus, taker.consumer()) as stop:
        await bus.publish(outgoing(fact, "a"))
        await bus.publish(outgoing(fact, "b"))
        await until(lambda: len(taker.given) == 1)
        stop.set()
    assert done == ["a"]


async def test_cancelled_work_goes_to_another_at_once(bus: Bus, fact: str) -> None:
    async def hang(_: Received) -> None:
        await asyncio.sleep(60)

    stuck = Taker(fact, hang)
    task = asyncio.create_task(bus.consume(stuck.consumer(ack_wait=30.0), asyncio.Event()))
    await bus.publish(outgoing(fact, "a"))
    await until(lambda: bool(stuck.given))
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    other = Taker(fact)
    async with consuming(bus, other.consumer(ack_wait=30.0)):
        await until(lambda: bool(other.given))
    assert other.given == [("a", 2)]


async def test_a_body_does_not_travel(bus: Bus, fact: str) -> None:
    with pytest.raises(FiretrialError, match="send a reference") as fault:
        await bus.publish(Outgoing(events.subject("tests", fact, "a"), b"x" * 70_000, "a"))
    assert fault.value.reason is Reason.TOO_LARGE


async def letters(bus: Bus, consumer: Consumer) -> list[Letter]:
    """What is kept of the messages that `consumer` gave up."""
    if isinstance(bus, InMemoryBus):
        return [found for found in bus.dead if found.consumer == consumer.name]
    assert isinstance(bus, JetStreamBus)
    pull = await bus._js.pull_subscribe(f"ft.dead.{consumer.name}", stream=DEAD)
    try:
        return [read(m.headers or {}, m.data) for m in await pull.fetch(10, timeout=0.3)]
    except TimeoutError:
        return []
    finally:
        await pull.unsubscribe()


async def test_what_is_given_up_is_kept_as_it_came(bus: Bus, fact: str) -> None:
    async def does(message: Received) -> None:
        raise FiretrialError(Reason.INVALID, "not one\nof ours \udcff")

    taker = Taker(fact, does)
    sent = outgoing(fact, "hostile")
    sent = replace(sent, data=b"\xff\x00\r\nNATS/1.0", headers={**sent.headers, HEADER: "forged"})
    await bus.publish(sent)
    async with consuming(bus, taker.consumer()):
        await until(lambda: bool(taker.failed))
    (found,) = await letters(bus, taker.consumer())
    assert (found.subject, found.data, found.whole) == (sent.subject, sent.data, True)
    assert {**sent.headers, "Nats-Msg-Id": sent.message_id} == found.headers
    assert (found.reason, found.error, found.deliveries) == ("INVALID", "not one\nof ours \udcff", 1)


async def test_a_message_whose_failure_is_told_late_is_kept_once(bus: Bus, fact: str) -> None:
    async def does(_: Received) -> None:
        raise FiretrialError(Reason.INVALID, "no")

    class Reluctant(Taker):
        async def fail(self, message: Received, error: FiretrialError) -> None:
            await super().fail(message, error)
            if len(self.failed) < 3:
                raise RuntimeError("not yet")

    taker = Reluctant(fact, does)
    await bus.publish(outgoing(fact, "k"))
    async with consuming(bus, taker.consumer()):
        await until(lambda: len(taker.failed) == 3)
    (found,) = await letters(bus, taker.consumer())
    assert found.deliveries == 1
