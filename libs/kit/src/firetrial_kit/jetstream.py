"""The bus on NATS JetStream, and the connection that it shares with the state."""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
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
    StreamInfo,
)
from nats.js.errors import APIError, BadRequestError, NotFoundError

from firetrial_kit.bus import Consumer, Outgoing, Received, checked
from firetrial_kit.dead import DEAD, SUBJECTS, letter, outgoing
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.events import EVENTS, STREAMS, WORK
from firetrial_kit.settings import BrokerSettings
from firetrial_kit.settle import settle

R = TypeVar("R")
# Debian's 2.9 ignores options it does not know, so that what it promises does not hold.
MIN_SERVER = (2, 10)
_START = 10.0
_FETCH = 2.0
_OVERDUE = 1.0
"""Seconds after its ack wait by which the broker has surely taken a message for lost."""
# What the client raises while the broker is away.
DOWN = (nats.errors.Error, APIError, OSError, asyncio.TimeoutError)
UNREAD_S = 10.0
"""Seconds for which the broker keeps a consumer that nobody reads: it has room for 1,000 a stream."""
_EVENT_AGE = 14 * 24 * 3600.0
_DEAD_AGE = 90 * 24 * 3600.0
# Set aside by the broker at once, and the oldest letters make room.
_DEAD_BYTES = 64 * 1024 * 1024
_DEAD_WINDOW = 24 * 3600.0
# asyncio says so, and goes on well, whenever the broker ends a TLS connection of the client's.
_NOTHING = "returning true from eof_received() has no effect when using ssl"


def _is_something(record: logging.LogRecord) -> bool:
    return record.msg != _NOTHING


async def connected(settings: BrokerSettings, name: str) -> Client:
    """A connection to the broker of the settings. Raises as `connect`."""
    return await connect(
        settings.nats_url,
        name=name,
        user=settings.nats_user,
        password=settings.nats_password.get_secret_value(),
        ca=settings.nats_tls_ca,
    )


async def connect(
    url: str, *, name: str, user: str = "", password: str = "", ca: Path | None = None
) -> Client:
    """A connection that comes back by itself. Raises UNAVAILABLE, or PRECONDITION for a server too old.

    `url` may be several with commas between, of one cluster. `ca` is a PEM file of who signed the server's
    certificate, where the machine's own authorities did not. With a user, answers come to inboxes below
    `_INBOX_<user>`, which a server can keep from all others.
    """
    log = structlog.get_logger().bind(service=name)

    client: Client | None = None

    async def disconnected() -> None:
        if client is None or not client.is_closed:
            log.warning("nats disconnected")

    async def reconnected() -> None:
        log.info("nats reconnected")

    async def error(fault: Exception) -> None:
        # What is refused gets no answer at all: without this line it looks like a broker that is away.
        refused = "permissions violation" in said(fault).lower()
        log.log(logging.WARNING if refused else logging.DEBUG, "nats error", error=said(fault))

    options: dict[str, Any] = {}
    if user:
        options |= {"user": user, "password": password, "inbox_prefix": f"_INBOX_{user}"}
    if ca:
        options["tls"] = authorities(ca)
        logging.getLogger("asyncio").addFilter(_is_something)
    try:
        # The client itself would try for ever, and a service that waits looks like one that works.
        async with asyncio.timeout(_START):
            client = await nats.connect(
                url.split(","),
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


def authorities(ca: Path) -> ssl.SSLContext:
    """Trust in servers whose certificates were signed by one of the file, and in no others."""
    return ssl.create_default_context(cafile=str(ca))


def said(error: Exception) -> str:
    """What the error says, or its kind where it says nothing."""
    return str(error) or type(error).__name__


async def reach(what: str, call: Awaitable[R]) -> R:
    """The call's result. Raises UNAVAILABLE naming `what` where the broker is away."""
    try:
        return await heeding(call)
    except DOWN as error:
        raise FiretrialError(Reason.UNAVAILABLE, f"NATS did not answer for {what}: {said(error)}") from error


async def found(what: str, call: Awaitable[R]) -> R | None:
    """The call's result, None where the broker has no such thing. Raises UNAVAILABLE as `reach` does."""
    try:
        return await heeding(call)
    except NotFoundError:
        return None
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


def streams(replicas: int = 1) -> list[StreamConfig]:
    """The streams that there must be, as they are made where they are missing."""

    def stream(name: str, subjects: str, **told: Any) -> StreamConfig:
        told = {"retention": RetentionPolicy.LIMITS, "duplicate_window": 120, **told}
        return StreamConfig(
            name=name, subjects=[subjects], storage=StorageType.FILE, num_replicas=replicas, **told
        )

    return [
        stream(EVENTS, STREAMS[EVENTS], max_age=_EVENT_AGE),
        stream(WORK, STREAMS[WORK], max_age=0, retention=RetentionPolicy.WORK_QUEUE),
        stream(DEAD, SUBJECTS, max_age=_DEAD_AGE, max_bytes=_DEAD_BYTES, duplicate_window=_DEAD_WINDOW),
    ]


def durable(
    name: str, subjects: tuple[str, ...], ack_wait: float, *, only_new: bool = False
) -> ConsumerConfig:
    """A durable consumer as it is made. The broker is told no maximum of deliveries: see `settle`.

    With one filter the request's subject names it, and a server can hold a user to it.
    """
    told: dict[str, Any] = (
        {"filter_subject": subjects[0]} if len(subjects) == 1 else {"filter_subjects": list(subjects)}
    )
    return ConsumerConfig(
        name=name,
        durable_name=name,
        deliver_policy=DeliverPolicy.NEW if only_new else DeliverPolicy.ALL,
        ack_policy=AckPolicy.EXPLICIT,
        ack_wait=ack_wait,
        max_deliver=-1,
        max_ack_pending=1000,
        **told,
    )


class JetStreamBus:
    """The bus on three streams: FT_EVT keeps facts for two weeks, FT_WORK work until it is done, FT_DEAD what
    was given up, for 90 days.
    """

    def __init__(self, client: Client, log: structlog.typing.FilteringBoundLogger) -> None:
        self._js: JetStreamContext = client.jetstream(timeout=5)
        self._log = log

    async def ensure_streams(self, replicas: int = 1) -> None:
        """Make the streams where they are missing, and see that they are what was asked for.

        Where they are there, this needs no right to make them. `replicas` is how many servers of a cluster
        keep each of those that are made.
        """
        for config in streams(replicas):
            info = await reach(f"stream {config.name}", self._made(config))
            subjects, there = config.subjects or [], info.config.subjects or []
            if info.config.retention != config.retention or not {*subjects} <= {*there}:
                raise FiretrialError(
                    Reason.PRECONDITION,
                    f"stream {config.name} exists with retention {info.config.retention} and subjects "
                    f"{there}; it must have {config.retention} and {', '.join(subjects)}",
                )

    async def _made(self, config: StreamConfig) -> StreamInfo:
        """The stream as it is, kept as its operator set it; made where it is missing."""
        name = str(config.name)
        with suppress(NotFoundError):
            return await heeding(self._js.stream_info(name))
        with suppress(BadRequestError):  # another service made it meanwhile
            await heeding(self._js.add_stream(config))
        return await heeding(self._js.stream_info(name))

    async def publish(self, message: Outgoing) -> None:
        await self._send(checked(message))

    async def _send(self, message: Outgoing) -> None:
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
                    await _pause(stop, 1.0)
            if running:
                await asyncio.wait(running)
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)

    async def _pump(self, consumer: Consumer, stop: asyncio.Event, running: set[asyncio.Task[None]]) -> None:
        info = await self._js.add_consumer(
            consumer.stream,
            durable(consumer.name, consumer.subjects, consumer.ack_wait, only_new=consumer.only_new),
        )
        pull = await self._js.pull_subscribe_bind(durable=consumer.name, stream=consumer.stream)

        def begin(message: Msg) -> None:
            task = asyncio.create_task(self._settle(message, consumer))
            running.add(task)
            task.add_done_callback(running.discard)

        try:
            lost = (info.num_ack_pending or 0) - len(running)
            if consumer.in_order and lost > 0:
                for message in await self._lost(pull, lost, consumer.ack_wait, stop):
                    begin(message)
            while not stop.is_set():
                free = consumer.concurrency - len(running)
                if free <= 0:
                    await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED, timeout=_FETCH)
                    continue
                for message in await self._fetch(pull, free, stop):
                    begin(message)
        finally:
            with suppress(*DOWN):
                await pull.unsubscribe()

    async def _lost(
        self, pull: JetStreamContext.PullSubscription, count: int, ack_wait: float, stop: asyncio.Event
    ) -> list[Msg]:
        """The messages that nobody has in hand any more, in the order in which they were told.

        The broker gives them back as they run out of time, which is no order, but before all that is new.
        """
        await _pause(stop, ack_wait + _OVERDUE)
        found: list[Msg] = []
        while not stop.is_set() and len(found) < count:
            more = await self._fetch(pull, count - len(found), stop)
            if not more:
                break
            found += more
        return sorted(found, key=lambda message: message.metadata.sequence.stream)

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
            await settle(_JetStreamDelivery(message, self._send), consumer, self._log)
        except DOWN as error:
            # Not settled, so the broker gives it again after the ack wait: the handler is ready for that.
            self._log.warning("not settled", consumer=consumer.name, error=said(error))


async def _pause(stop: asyncio.Event, seconds: float) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await stop.wait()


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
    send: Callable[[Outgoing], Awaitable[None]]

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

    async def bury(self, consumer: str, error: FiretrialError) -> None:
        about, received = self.message.metadata, self.received
        kept = letter(
            consumer=consumer,
            stream=about.stream,
            sequence=about.sequence.stream,
            subject=received.subject,
            headers=received.headers,
            data=received.data,
            deliveries=received.delivered,
            sent_at=about.timestamp,
            error=error,
            at=datetime.now(UTC),
        )
        await self.send(outgoing(kept))
