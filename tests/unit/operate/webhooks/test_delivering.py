from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import pairwise

import pytest
import structlog
from prometheus_client import CollectorRegistry

from firetrial.runner.v1 import events_pb2
from firetrial_kit import events
from firetrial_kit.bus import Received
from firetrial_kit.errors import FiretrialError
from firetrial_kit.testing import InMemoryBus, ManualClock
from firetrial_operate.webhooks.cloud_event import CloudEvent
from firetrial_operate.webhooks.delivering import Delivering
from firetrial_operate.webhooks.endpoint import Endpoint
from firetrial_operate.webhooks.metrics import WebhookMetrics
from firetrial_operate.webhooks.sending import Answer, Delivered, Later, Refused

AGAIN = Later("HTTP 503")


class Receiver:
    """Answers by what it was told to for each key, in turn; 200 once that is used up."""

    def __init__(self, **answers: list[Answer]) -> None:
        self.answers = answers
        self.came: list[str] = []

    async def send(self, event: CloudEvent, observe: Callable[[float], None]) -> Answer:
        self.came.append(f"{event.key}")
        await asyncio.sleep(0)
        observe(0.1)
        due = self.answers.get(event.key.replace("-", "_"), [])
        return due.pop(0) if due else Delivered(200)


class World:
    def __init__(self, receiver: Receiver, *, tenant: str = "", give_up_after: float = 3600) -> None:
        self.receiver, self.clock, self.pauses = receiver, ManualClock(), list[float]()
        self.registry = CollectorRegistry()
        endpoint = Endpoint(
            "lab", "https://x.example/", ("ft.evt.runner.v1.>",), (b"k" * 24,), tenant=tenant,
            give_up_after=give_up_after,
        )  # fmt: skip
        metrics, log = WebhookMetrics(self.registry), structlog.get_logger()
        self.delivering = Delivering(
            endpoint, receiver, self.clock, metrics, log, sleep=self.sleep, spread=lambda: 0.0
        )

    async def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.clock.advance(seconds)
        await asyncio.sleep(0)

    def message(self, key: str, attempt: int = 1) -> Received:
        fact = events.fact("runner", key, events_pb2.RunStarted(), clock=self.clock, attempt=attempt)
        return Received(fact.subject, fact.data, fact.headers, 1)

    def count(self, result: str) -> float | None:
        told = {"endpoint": "lab", "result": result}
        return self.registry.get_sample_value("firetrial_webhook_deliveries_total", told)


async def test_pauses_double_and_the_receiver_may_ask_for_longer() -> None:
    world = World(Receiver(r_1=[AGAIN, AGAIN, Later("HTTP 429", 90.0), AGAIN]))
    await world.delivering.deliver(world.message("r-1"))
    assert world.pauses == [1.0, 2.0, 90.0, 8.0]
    assert (world.count("later"), world.count("delivered")) == (4, 1)


async def test_what_is_not_taken_in_time_is_given_up() -> None:
    world = World(Receiver(r_1=[AGAIN] * 100), give_up_after=60)
    with pytest.raises(
        FiretrialError, match=r"not taken in 6 attempts over 31 s; the last: HTTP 503"
    ) as caught:
        await world.delivering.deliver(world.message("r-1"))
    assert not caught.value.retryable
    assert sum(world.pauses) <= 60


async def test_a_receiver_that_asks_for_too_long_is_given_up_at_once() -> None:
    world = World(Receiver(r_1=[Later("HTTP 503", 1e9)]), give_up_after=60)
    with pytest.raises(FiretrialError, match="in 1 attempts"):
        await world.delivering.deliver(world.message("r-1"))
    assert world.pauses == []


async def test_what_is_refused_is_not_tried_again() -> None:
    world = World(Receiver(r_1=[Refused("HTTP 410")]))
    with pytest.raises(FiretrialError, match="refused: HTTP 410"):
        await world.delivering.deliver(world.message("r-1"))
    assert world.receiver.came == ["r-1"]


async def test_what_follows_about_one_resource_waits_and_others_do_not() -> None:
    world = World(Receiver(r_1=[AGAIN, AGAIN, AGAIN]))
    waiting = [
        world.message("r-1", 1),
        world.message("r-1", 2),
        world.message("r-2"),
        world.message("r-1", 3),
    ]
    await asyncio.gather(*map(world.delivering.deliver, waiting))
    assert world.receiver.came.index("r-2") < 2
    assert world.receiver.came.count("r-1") == 6


async def test_order_is_kept_for_each_resource() -> None:
    order: list[tuple[str, str]] = []

    class Notes(Receiver):
        async def send(self, event: CloudEvent, observe: Callable[[float], None]) -> Answer:
            answer = await super().send(event, observe)
            if isinstance(answer, Delivered):
                order.append((event.key, event.body.decode().partition('"id":"')[2].partition('"')[0]))
            return answer

    world = World(Notes(r_1=[AGAIN] * 3, r_2=[AGAIN]))
    told = [world.message(key, attempt) for attempt in range(1, 9) for key in ("r-1", "r-2")]
    await asyncio.gather(*map(world.delivering.deliver, told))
    for key in ("r-1", "r-2"):
        numbers = [int(id_.rpartition(":")[2]) for about, id_ in order if about == key]
        assert len(numbers) == 8
        assert all(one < other for one, other in pairwise(numbers))


async def test_another_tenants_facts_are_passed_over() -> None:
    world = World(Receiver(), tenant="blue")
    for key in ("t-red--r-1", "t-blue--r-1", "r-1"):
        await world.delivering.deliver(world.message(key))
    assert world.receiver.came == ["t-blue--r-1"]


async def test_on_the_bus_what_is_given_up_lies_among_the_dead_letters() -> None:
    world = World(Receiver(r_1=[Refused("HTTP 400")]))
    bus, consumer = InMemoryBus(), world.delivering.consumer(1.0)
    assert await bus.deliver(consumer) == []  # made, before anything is told
    for key in ("r-1", "r-2"):
        await bus.publish(events.fact("runner", key, events_pb2.RunStarted(), clock=world.clock))
    assert await bus.deliver(consumer) == ["failed", "done"]
    assert [(letter.consumer, letter.subject[-3:], letter.error) for letter in bus.dead] == [
        ("webhook-lab", "r-1", "refused: HTTP 400")
    ]
    assert world.count("dead") == 1
