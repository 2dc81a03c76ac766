"""A bus in memory: durable consumers, redelivery, deduplication, the same settling."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime

import structlog

from firetrial_kit.bus import Consumer, Outgoing, Received, checked
from firetrial_kit.dead import Letter, letter
from firetrial_kit.errors import FiretrialError
from firetrial_kit.settle import settle


@dataclass(slots=True)
class _Waiting:
    message: Outgoing
    delivered: int = 0
    not_before: float = 0.0
    in_hand_until: float = 0.0


@dataclass(slots=True)
class _Durable:
    taken: int = 0
    waiting: list[_Waiting] = field(default_factory=list)


class InMemoryBus:
    """Same promises as JetStream, for one process and no longer than it.

    `published` holds every message that was stored, in order; `fail_next` raises an error at the next
    publish, once; `settlements` lists (consumer, subject, result); `dead` holds the dead letters.
    """

    def __init__(self) -> None:
        self.published: list[Outgoing] = []
        self.settlements: list[tuple[str, str, str]] = []
        self.dead: list[Letter] = []
        self.fail_next: FiretrialError | None = None
        self._durables: dict[str, _Durable] = {}
        self._log = structlog.get_logger()

    async def publish(self, message: Outgoing) -> None:
        if self.fail_next:
            error, self.fail_next = self.fail_next, None
            raise error
        checked(message)
        if all(message.message_id != known.message_id for known in self.published):
            self.published.append(message)

    async def consume(self, consumer: Consumer, stop: asyncio.Event) -> None:
        running: set[asyncio.Task[None]] = set()
        try:
            while not stop.is_set():
                while len(running) < consumer.concurrency and (waiting := self._next(consumer)):
                    task = asyncio.create_task(self._settle(waiting, consumer))
                    running.add(task)
                    task.add_done_callback(running.discard)
                await asyncio.sleep(0.005)
            if running:
                await asyncio.wait(running)
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)

    @asynccontextmanager
    async def follow(self, subject: str) -> AsyncIterator[AsyncIterator[Received]]:
        yield self._told(subject, len(self.published))

    async def _told(self, subject: str, seen: int) -> AsyncIterator[Received]:
        while True:
            for message in self.published[seen:]:
                seen += 1
                if _matches(subject, message.subject):
                    yield Received(message.subject, message.data, message.headers, 1)
            await asyncio.sleep(0.005)

    async def deliver(self, consumer: Consumer) -> list[str]:
        """Give the consumer what is due now, one after another; returns how each was settled."""
        results = []
        while waiting := self._next(consumer):
            await self._settle(waiting, consumer)
            results.append(self.settlements[-1][2])
        return results

    def redeliver(self, consumer: Consumer, message: Outgoing) -> None:
        """Have `message` delivered (again), as after a lost ack."""
        durable = self._durables.setdefault(consumer.name, _Durable())
        durable.waiting.append(_Waiting(message, delivered=1))

    def _next(self, consumer: Consumer) -> _Waiting | None:
        begins = len(self.published) if consumer.only_new else 0
        durable = self._durables.setdefault(consumer.name, _Durable(begins))
        for message in self.published[durable.taken :]:
            if any(_matches(pattern, message.subject) for pattern in consumer.subjects):
                durable.waiting.append(_Waiting(message))
        durable.taken = len(self.published)
        now = time.monotonic()
        for waiting in durable.waiting:
            if waiting.not_before <= now and waiting.in_hand_until <= now:
                waiting.delivered += 1
                waiting.in_hand_until = now + consumer.ack_wait
                return waiting
        return None

    async def _settle(self, waiting: _Waiting, consumer: Consumer) -> None:
        delivery = _InMemoryDelivery(self._durables[consumer.name], waiting, consumer, self)
        result = await settle(delivery, consumer, self._log)
        self.settlements.append((consumer.name, waiting.message.subject, result))


@dataclass(frozen=True, slots=True)
class _InMemoryDelivery:
    durable: _Durable
    waiting: _Waiting
    consumer: Consumer
    bus: InMemoryBus

    @property
    def received(self) -> Received:
        message = self.waiting.message
        return Received(message.subject, message.data, message.headers, self.waiting.delivered)

    async def ack(self) -> None:
        self.durable.waiting.remove(self.waiting)

    async def back(self, delay: float) -> None:
        self.waiting.not_before = time.monotonic() + delay
        self.waiting.in_hand_until = 0.0

    async def term(self) -> None:
        self.durable.waiting.remove(self.waiting)

    async def bury(self, consumer: str, error: FiretrialError) -> None:
        message, now = self.waiting.message, datetime.now(UTC)
        found = letter(
            consumer=consumer,
            stream=self.consumer.stream,
            sequence=self.bus.published.index(message) + 1 if message in self.bus.published else 0,
            subject=message.subject,
            headers={**message.headers, "Nats-Msg-Id": message.message_id},
            data=message.data,
            deliveries=self.waiting.delivered,
            sent_at=now,
            error=error,
            at=now,
        )
        if all((known.sequence, known.consumer) != (found.sequence, consumer) for known in self.bus.dead):
            self.bus.dead.append(found)

    async def alive(self) -> None:
        self.waiting.in_hand_until = time.monotonic() + self.consumer.ack_wait


def _matches(pattern: str, subject: str) -> bool:
    wanted, given = pattern.split("."), subject.split(".")
    if wanted[-1] == ">":
        wanted = wanted[:-1]
        given = given[: len(wanted)] if len(given) > len(wanted) else []
    return len(wanted) == len(given) and all(
        token in ("*", part) for token, part in zip(wanted, given, strict=True)
    )
