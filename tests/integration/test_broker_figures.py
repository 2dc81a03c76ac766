"""What a real broker says of itself, and that nothing is said of one that is away."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import structlog
from nats.aio.client import Client
from prometheus_client import CollectorRegistry, generate_latest

from firetrial_analyzer.fleet import Fleet
from firetrial_kit import jetstream
from firetrial_kit.bus import Consumer, Outgoing, Received
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.events import EVENTS, WORK
from firetrial_kit.figures import BrokerFigures, WorkFigures
from firetrial_kit.kv import JetStreamState
from support import servers

pytestmark = pytest.mark.needs("nats-server")
LOG = structlog.get_logger()


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[str]:
    with servers.nats_server(tmp_path / "nats") as url:
        yield url


@pytest.fixture
async def client(broker: str) -> AsyncIterator[Client]:
    client = await jetstream.connect(broker, name="test")
    yield client
    await client.close()


@pytest.fixture
async def bus(client: Client) -> jetstream.JetStreamBus:
    bus = jetstream.JetStreamBus(client, LOG)
    await bus.ensure_streams()
    return bus


async def work(bus: jetstream.JetStreamBus, pool: str, count: int) -> None:
    for number in range(count):
        await bus.publish(Outgoing(f"ft.work.run.{pool}", b"run", f"{pool}-{number}"))


async def dropped(message: Received, error: FiretrialError) -> None:
    pass


def consumer(pool: str, handle: object) -> Consumer:
    name = f"runner-{pool}"
    return Consumer(name, WORK, (f"ft.work.run.{pool}",), handle, dropped, backoff=(30.0,))  # type: ignore[arg-type]


async def test_work_is_seen_without_any_runner(bus: jetstream.JetStreamBus, client: Client) -> None:
    await work(bus, "gpu", 3)
    await asyncio.sleep(0.3)
    (found,) = (await BrokerFigures(client).read()).work
    assert (found.kind, found.pool, found.waiting, found.delivered) == ("run", "gpu", 3, 0)
    assert 0.3 <= found.oldest_s < 5


async def test_what_is_in_hand_waits_no_more(bus: jetstream.JetStreamBus, client: Client) -> None:
    """One under way and one put back are delivered; the oldest of the rest is the third."""
    await work(bus, "gpu", 2)
    begun, stop = asyncio.Semaphore(0), asyncio.Event()

    async def handle(message: Received) -> None:
        begun.release()
        if message.headers["Nats-Msg-Id"] == "gpu-0":
            raise FiretrialError(Reason.UNAVAILABLE, "not now")
        await stop.wait()

    running = asyncio.create_task(bus.consume(replace(consumer("gpu", handle), concurrency=1), stop))
    for _ in range(2):
        await begun.acquire()
    await bus.publish(Outgoing("ft.work.run.gpu", b"run", "gpu-late"))
    await work(bus, "cpu", 1)
    figures = await BrokerFigures(client).read()
    cpu, gpu = figures.work
    assert (cpu.pool, cpu.waiting, cpu.delivered) == ("cpu", 1, 0)
    assert (gpu.pool, gpu.waiting, gpu.delivered) == ("gpu", 1, 2)
    assert gpu.oldest_s < 2
    (one,) = figures.consumers
    assert (one.stream, one.name, one.pending, one.unsettled) == (WORK, "runner-gpu", 1, 2)
    stop.set()
    await running
    await asyncio.sleep(0.1)
    after = (await BrokerFigures(client).read()).work[1]
    assert after.waiting + after.delivered == 2, "one was done"


async def test_a_pool_whose_work_is_done_stays_at_nothing(
    bus: jetstream.JetStreamBus, client: Client
) -> None:
    await work(bus, "gpu", 1)
    stop = asyncio.Event()

    async def handle(_: Received) -> None:
        stop.set()

    await bus.consume(consumer("gpu", handle), stop)
    assert (await BrokerFigures(client).read()).work == (WorkFigures("run", "gpu", 0, 0, 0.0),)


async def test_dead_letters_streams_and_redeliveries(bus: jetstream.JetStreamBus, client: Client) -> None:
    await JetStreamState.open(client, "ft_test")
    for number in range(3):
        await bus.publish(Outgoing(f"ft.evt.runner.v1.run_finished.r-{number}", b"fact", f"m-{number}"))
    stop, given = asyncio.Event(), 0

    async def handle(message: Received) -> None:
        nonlocal given
        given += 1
        if given == 4:
            stop.set()
        reason = Reason.INVALID if message.subject.endswith("r-0") else Reason.UNAVAILABLE
        raise FiretrialError(reason, "no")

    taker = Consumer("taker", EVENTS, ("ft.evt.>",), handle, dropped, backoff=(0.05, 60.0))
    await bus.consume(taker, stop)
    figures = await BrokerFigures(client).read()
    assert figures.dead == {"taker": 1}
    (one,) = figures.consumers
    assert (one.name, one.pending, one.unsettled) == ("taker", 0, 2)
    assert one.redelivered >= 1
    streams = {stream.name: stream for stream in figures.streams}
    assert {"FT_EVT", "FT_WORK", "FT_DEAD", "KV_ft_test"} <= set(streams)
    assert (streams["FT_EVT"].messages, streams["FT_EVT"].limit_bytes) == (3, None)
    assert streams["FT_DEAD"].limit_bytes
    assert figures.bytes >= streams["FT_EVT"].bytes > 0


async def test_ephemeral_readers_are_not_told(bus: jetstream.JetStreamBus, client: Client) -> None:
    async with bus.follow("ft.evt.>"):
        assert (await BrokerFigures(client).read()).consumers == ()


async def test_more_consumers_than_a_page_holds(bus: jetstream.JetStreamBus, client: Client) -> None:
    js = client.jetstream()
    for number in range(300):  # a page of the broker holds 256
        await js.add_consumer(EVENTS, durable_name=f"outside-{number}", filter_subject="ft.evt.>")
    figures = await BrokerFigures(client).read()
    assert len({one.name for one in figures.consumers}) == 300


async def test_a_broker_that_is_away_says_nothing(tmp_path: Path) -> None:
    registry = CollectorRegistry()
    with servers.nats_server(tmp_path / "nats") as url:
        client = await jetstream.connect(url, name="test")
        bus = jetstream.JetStreamBus(client, LOG)
        await bus.ensure_streams()
        await work(bus, "gpu", 2)
        fleet = Fleet(registry, BrokerFigures(client).read, LOG)
        await fleet.look()
        told = generate_latest(registry).decode()
        assert "firetrial_broker_up 1.0" in told
        assert 'firetrial_pool_waiting_runs{pool="gpu"} 2.0' in told
        assert 'firetrial_dead_letters{consumer=""} 0.0' in told
    await fleet.look()
    told = generate_latest(registry).decode()
    assert "firetrial_broker_up 0.0" in told
    assert "firetrial_pool_waiting_runs" not in told
    assert "firetrial_stream_messages" not in told
    await client.close()
