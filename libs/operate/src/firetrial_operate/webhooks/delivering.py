"""Getting facts to an endpoint: in order for each resource, tried again until time is up."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Protocol

import structlog

from firetrial_kit.bus import Consumer, Received
from firetrial_kit.clock import Clock
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.events import EVENTS
from firetrial_kit.once import Turns
from firetrial_operate.webhooks.cloud_event import CloudEvent, event_of
from firetrial_operate.webhooks.endpoint import Endpoint
from firetrial_operate.webhooks.metrics import WebhookMetrics
from firetrial_operate.webhooks.sending import Answer, Delivered, Refused

IN_HAND = 256
"""Facts that wait for one endpoint in this process; what comes after them waits at the broker."""
_FIRST, _LONGEST = 1.0, 600.0
"""Seconds of the first pause and of the longest."""
_DELIVERIES = 1000
"""A message comes again where a process was killed or drained, which says nothing against it."""


class Sends(Protocol):
    """What sends one event once."""

    async def send(self, event: CloudEvent, observe: Callable[[float], None]) -> Answer: ...


@dataclass(frozen=True, slots=True)
class Delivering:
    """Takes what one endpoint is to be told. `spread` gives a number from 0 to 1."""

    endpoint: Endpoint
    sender: Sends
    clock: Clock
    metrics: WebhookMetrics
    log: structlog.typing.FilteringBoundLogger
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    spread: Callable[[], float] = random.random
    turns: Turns = field(default_factory=Turns)

    def consumer(self, ack_wait: float) -> Consumer:
        """Its durable consumer, which begins with what is new."""
        return Consumer(
            name=self.endpoint.consumer,
            stream=EVENTS,
            subjects=self.endpoint.subjects,
            handle=self.deliver,
            fail=self.give_up,
            concurrency=IN_HAND,
            ack_wait=ack_wait,
            max_deliver=_DELIVERIES,
            only_new=True,
            in_order=True,
        )

    async def deliver(self, message: Received) -> None:
        """Send the fact, once those before it about the same resource are sent or given up.

        Raises PRECONDITION for one that the endpoint will not take, or did not take in time.
        """
        if not self.endpoint.wants(message.headers.get("ce-subject", "")):
            return
        event = event_of(message.subject, message.headers, message.data)
        with self.metrics.waiting.labels(self.endpoint.name).track_inprogress():
            async with self.turns.of(event.key):
                await self._insist(event)

    async def give_up(self, message: Received, error: FiretrialError) -> None:
        """The message lies among the dead letters by now."""
        self._count("dead")
        self.log.error("given up", endpoint=self.endpoint.name, subject=message.subject, error=error.message)

    async def _insist(self, event: CloudEvent) -> None:
        began, attempts = self.clock.monotonic(), 0
        while True:
            answer = await self.sender.send(event, self.metrics.seconds.labels(self.endpoint.name).observe)
            attempts += 1
            if isinstance(answer, Delivered):
                self._count("delivered")
                return
            if isinstance(answer, Refused):
                raise FiretrialError(Reason.PRECONDITION, f"refused: {answer.why}")
            pause = max(self._pause(attempts), answer.retry_after)
            if self.clock.monotonic() - began + pause > self.endpoint.give_up_after:
                raise FiretrialError(
                    Reason.PRECONDITION,
                    f"not taken in {attempts} attempts over {self.clock.monotonic() - began:.0f} s; "
                    f"the last: {answer.why}",
                )
            self._count("later")
            self.log.warning("later", endpoint=self.endpoint.name, why=answer.why, delay_s=round(pause, 1))
            await self.sleep(pause)

    def _pause(self, attempts: int) -> float:
        """Doubling, and up to a half taken off, so that those who failed together do not come together."""
        longest: float = min(_LONGEST, _FIRST * 2.0 ** min(attempts - 1, 16))
        return longest * (1 - self.spread() / 2)

    def _count(self, result: str) -> None:
        self.metrics.deliveries.labels(self.endpoint.name, result).inc()
