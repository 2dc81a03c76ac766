"""The bus on NATS JetStream, and the connection that it shares with the state."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, TypeVar

import nats
import nats.errors
import structlog
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.js import JetStreamContext
from nats.js.api import (
    AckPolicy,
    ConsumerConfig,
    DeliverPolicy,
    RetentionPolicy,
    StorageType,
    StreamConfig,
)
from nats.js.errors import APIError, BadRequestError

from firetrial_kit.bus import Consumer, Outgoing, Received, checked
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.events import EVENTS, STREAMS, WORK
from firetrial_kit.settle import settle

R = TypeVar("R")
# Debian's 2.9 ignores options it does not know, so that what it promises does not hold.
MIN_SERVER = (2, 10)
_START = 10.0
_FETCH = 2.0
# What the client raises while the broker is away.
DOWN = (nats.errors.Error, APIError, OSError, asyncio.TimeoutError)
UNREAD_S = 10.0
"""Seconds for which the broker keeps a consumer that nobody reads: it has room for 1,000 a stream."""
_EVENT_AGE = 14 * 24 * 3600.0


async def connect(url: str, *, name: str, user: str = "", password: str = "") -> Client:
    """A connection that comes back by itself. Raises UNAVAILABLE, or PRECONDITION for a server too old."""
    log = structlog.get_logger().bind(service=name)

    async def disconnected() -> None:
        log.warning("nats disconnected")

    async def reconnected() -> None:
        log.info("nats reconnected")

    async def error(fault: Exception) -> None:
        log.debug("nats error", error=said(fault))

    options: dict[str, Any] = {"user": user, "password": password} if user else {}
    try:
        # The client itself would try for ever, and a service that waits looks like one that works.
        async with asyncio.timeout(_START):
            client = await nats.connect(
                url,
                name=name,
                max_reconnect_attempts=-1,
                reconnect_time_wait=0.25,
                connect_timeout=5,
                allow_reconnect=True,
                disconnected_cb=disconnected,
                reconnected_cb=reconnected,
                error_cb=error,
                **options,
            )
    except DOWN as fault:
        raise FiretrialError(Reason.UNAVAILABLE, f"no NATS server answers at {url}: {said(fault)}") from fault
    server = client.connected_server_version
    if (server.major, server.minor) < MIN_SERVER:
        await client.close()
        raise FiretrialError(
            Reason.PRECONDITION,
            f"the NATS server at {url} is {client.connected_server_version}; 2.10 or newer is needed",
        )
    return client


def said(error: Exception) -> str:
    """What the error says, or its kind where it says nothing."""
    return str(error) or type(error).__name__


async def reach(what: str, call: Awaitable[R]) -> R:
    """The call's result. Raises UNAVAILABLE naming `what` where the broker is away."""
    try:
        return await heeding(call)
    except DOWN as error:
        raise FiretrialError(Reason.UNAVAILABLE, f"NATS did not answer for {what}: {said(error)}") from error


async def heeding(call: Awaitable[R]) -> R:
    """The result of a call of the client, unless this task was cancelled meanwhile.

    The client waits by wait_for, which in Python 3.11 swallows a cancellation that meets its answer: a loop
    of calls would go on for ever, and so would whoever waits for its end.
    """
    result = await call
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError
    return result


class JetStreamBus:
    """The bus on two streams: FT_EVT keeps facts for two weeks, FT_WORK keeps work until it is done."""

    def __init__(self, client: Client, log: structlog.typing.FilteringBoundLogger) -> None:
        self._js: JetStreamContext = client.jetstream(timeout=5)
        self._log = log

    async def ensure_streams(self) -> None:
        """Make both streams where they are missing, and see that they are what was asked for."""
        for name, subjects in STREAMS.items():
            retention = RetentionPolicy.WORK_QUEUE if name == WORK else RetentionPolicy.LIMITS
            config = StreamConfig(
                name=name,
                subjects=[subjects],
                retention=retention,
                storage=StorageType.FILE,
                max_age=_EVENT_AGE if name == EVENTS else 0,
                duplicate_window=120,
            )
            with suppress(BadRequestError):  # it exists, made by another version: kept as its operator set it
                await reach(f"stream {name}", self._js.add_stream(config))
            info = await reach(f"stream {name}", self._js.stream_info(name))
            if info.config.retention != retention or subjects not in (info.config.subjects or []):
                raise FiretrialError(
                    Reason.PRECONDITION,
                    f"stream {name} exists with retention {info.config.retention} and subjects "
                    f"{info.config.subjects}; it must have {retention} and {subjects}",
                )

    async def publish(self, message: Outgoing) -> None:
        checked(message)
        headers = {**message.headers, "Nats-Msg-Id": message.message_id}
        await reach(message.subject, self._js.publish(message.subject, message.data, headers=headers))

    @asynccontextmanager
    async def follow(self, subject: str) -> AsyncIterator[AsyncIterator[Received]]:
        following = await reach(
            subject,
            self._js.subscribe(
                subject,
                stream=EVENTS,
                ordered_consumer=True,
                deliver_policy=DeliverPolicy.NEW,
                inactive_threshold=UNREAD_S,
            ),
        )
        try:
            yield _told(subject, following)
        finally:
            with suppress(*DOWN):
                await following.unsubscribe()

    async def consume(self, consumer: Consumer, stop: asyncio.Event) -> None:
        running: set[asyncio.Task[None]] = set()
        try:
            while not stop.is_set():
                try:
                    await self._pump(consumer, stop, running)
                except DOWN as error:
                    # The consumer itself may be gone (a wiped broker): made again on the next round.
                    self._log.warning("consumer paused", consumer=consumer.name, error=said(error))
                    with suppress(TimeoutError):
                        async with asyncio.timeout(1.0):
                            await stop.wait()
            if running:
                await asyncio.wait(running)
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)

    async def _pump(self, consumer: Consumer, stop: asyncio.Event, running: set[asyncio.Task[None]]) -> None:
        await self._js.add_consumer(
            consumer.stream,
            ConsumerConfig(
                durable_name=consumer.name,
                ack_policy=AckPolicy.EXPLICIT,
                ack_wait=consumer.ack_wait,
                max_deliver=-1,
                filter_subjects=list(consumer.subjects),
                max_ack_pending=1000,
            ),
        )
        pull = await self._js.pull_subscribe_bind(durable=consumer.name, stream=consumer.stream)
        try:
            while not stop.is_set():
                free = consumer.concurrency - len(running)
                if free <= 0:
                    await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED, timeout=_FETCH)
                    continue
                for message in await self._fetch(pull, free, stop):
                    task = asyncio.create_task(self._settle(message, consumer))
                    running.add(task)
                    task.add_done_callback(running.discard)
        finally:
            with suppress(*DOWN):
                await pull.unsubscribe()

    async def _fetch(
        self, pull: JetStreamContext.PullSubscription, count: int, stop: asyncio.Event
    ) -> list[Msg]:
        fetch = asyncio.create_task(pull.fetch(batch=count, timeout=_FETCH))
        halt = asyncio.create_task(stop.wait())
        try:
            await asyncio.wait({fetch, halt}, return_when=asyncio.FIRST_COMPLETED)
            if not fetch.done():
                # The fetch ends by itself; what it still brings is taken, for no other would get it soon.
                await asyncio.wait({fetch})
            return fetch.result()
        except (TimeoutError, nats.errors.TimeoutError):
            return []
        finally:
            halt.cancel()
            fetch.cancel()

    async def _settle(self, message: Msg, consumer: Consumer) -> None:
        try:
            await settle(_JetStreamDelivery(message), consumer, self._log)
        except DOWN as error:
            # Not settled, so the broker gives it again after the ack wait: the handler is ready for that.
            self._log.warning("not settled", consumer=consumer.name, error=said(error))


async def _told(subject: str, following: JetStreamContext.PushSubscription) -> AsyncIterator[Received]:
    """What the subscription brings; an ordered consumer makes itself anew after a gap or a restart."""
    while True:
        try:
            message = await following.next_msg(timeout=_FETCH)
        except (TimeoutError, nats.errors.TimeoutError):
            continue
        except DOWN as error:
            raise FiretrialError(
                Reason.UNAVAILABLE, f"NATS did not answer for {subject}: {said(error)}"
            ) from error
        yield Received(message.subject, message.data, message.headers or {}, 1)


@dataclass(frozen=True, slots=True)
class _JetStreamDelivery:
    message: Msg

    @property
    def received(self) -> Received:
        return Received(
            self.message.subject,
            self.message.data,
            self.message.headers or {},
            self.message.metadata.num_delivered or 1,
        )

    async def ack(self) -> None:
        await self.message.ack_sync(timeout=5)

    async def back(self, delay: float) -> None:
        await self.message.nak(delay=delay or None)

    async def term(self) -> None:
        await self.message.term()

    async def alive(self) -> None:
        with suppress(*DOWN):
            await self.message.in_progress()
