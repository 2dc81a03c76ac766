"""Bus and state on NATS JetStream."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable
from contextlib import suppress
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
    KeyValueConfig,
    RetentionPolicy,
    StorageType,
    StreamConfig,
)
from nats.js.errors import (
    APIError,
    BadRequestError,
    BucketNotFoundError,
    KeyDeletedError,
    KeyNotFoundError,
    KeyWrongLastSequenceError,
    NotFoundError,
)
from nats.js.kv import KeyValue

from firetrial_kit.bus import Consumer, Outgoing, Received, checked
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.events import EVENTS, STREAMS, WORK
from firetrial_kit.settle import settle
from firetrial_kit.state import Entry

R = TypeVar("R")
# Debian's 2.9 ignores options it does not know, so that what it promises does not hold.
MIN_SERVER = (2, 10)
_START = 10.0
_FETCH = 2.0
_QUIET = 20.0
_DOWN = (nats.errors.Error, APIError, OSError, asyncio.TimeoutError)
_EVENT_AGE = 14 * 24 * 3600.0


async def connect(url: str, *, name: str, user: str = "", password: str = "") -> Client:
    """A connection that comes back by itself. Raises UNAVAILABLE, or PRECONDITION for a server too old."""
    log = structlog.get_logger().bind(service=name)

    async def disconnected() -> None:
        log.warning("nats disconnected")

    async def reconnected() -> None:
        log.info("nats reconnected")

    async def error(fault: Exception) -> None:
        log.debug("nats error", error=_said(fault))

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
    except _DOWN as fault:
        raise FiretrialError(
            Reason.UNAVAILABLE, f"no NATS server answers at {url}: {_said(fault)}"
        ) from fault
    server = client.connected_server_version
    if (server.major, server.minor) < MIN_SERVER:
        await client.close()
        raise FiretrialError(
            Reason.PRECONDITION,
            f"the NATS server at {url} is {client.connected_server_version}; 2.10 or newer is needed",
        )
    return client


def _said(error: Exception) -> str:
    return str(error) or type(error).__name__


async def _reach(what: str, call: Awaitable[R]) -> R:
    try:
        return await call
    except _DOWN as error:
        raise FiretrialError(Reason.UNAVAILABLE, f"NATS did not answer for {what}: {_said(error)}") from error


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
                await _reach(f"stream {name}", self._js.add_stream(config))
            info = await _reach(f"stream {name}", self._js.stream_info(name))
            if info.config.retention != retention or subjects not in (info.config.subjects or []):
                raise FiretrialError(
                    Reason.PRECONDITION,
                    f"stream {name} exists with retention {info.config.retention} and subjects "
                    f"{info.config.subjects}; it must have {retention} and {subjects}",
                )

    async def publish(self, message: Outgoing) -> None:
        checked(message)
        headers = {**message.headers, "Nats-Msg-Id": message.message_id}
        await _reach(message.subject, self._js.publish(message.subject, message.data, headers=headers))

    async def consume(self, consumer: Consumer, stop: asyncio.Event) -> None:
        running: set[asyncio.Task[None]] = set()
        try:
            while not stop.is_set():
                try:
                    await self._pump(consumer, stop, running)
                except _DOWN as error:
                    # The consumer itself may be gone (a wiped broker): made again on the next round.
                    self._log.warning("consumer paused", consumer=consumer.name, error=_said(error))
                    with suppress(asyncio.TimeoutError):
                        await asyncio.wait_for(stop.wait(), 1.0)
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
            with suppress(*_DOWN):
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
        except _DOWN as error:
            # Not settled, so the broker gives it again after the ack wait: the handler is ready for that.
            self._log.warning("not settled", consumer=consumer.name, error=_said(error))


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
        with suppress(*_DOWN):
            await self.message.in_progress()


class JetStreamState:
    """State in one KV bucket."""

    def __init__(self, bucket: KeyValue) -> None:
        self._bucket = bucket

    @classmethod
    async def open(cls, client: Client, bucket: str) -> JetStreamState:
        """The bucket, made where it is missing."""
        js = client.jetstream(timeout=5)
        try:
            return cls(await js.key_value(bucket))
        except (NotFoundError, BucketNotFoundError):
            made = js.create_key_value(KeyValueConfig(bucket=bucket, history=1))
            return cls(await _reach(f"bucket {bucket}", made))

    async def get(self, key: str) -> Entry | None:
        try:
            entry = await self._bucket.get(_encode(key))
        except (KeyNotFoundError, KeyDeletedError):
            return None
        except _DOWN as error:
            raise _down(key, error) from error
        return Entry(key, entry.value or b"", entry.revision or 0)

    async def create(self, key: str, value: bytes) -> int:
        try:
            return await self._bucket.create(_encode(key), value)
        except KeyWrongLastSequenceError as error:
            raise FiretrialError(Reason.ALREADY_EXISTS, f"{key} exists") from error
        except _DOWN as error:
            raise _down(key, error) from error

    async def update(self, key: str, value: bytes, revision: int) -> int:
        try:
            return await self._bucket.update(_encode(key), value, last=revision)
        except KeyWrongLastSequenceError as error:
            raise FiretrialError(Reason.CONFLICT, f"{key} was changed by another") from error
        except _DOWN as error:
            raise _down(key, error) from error

    async def keys(self, prefix: str) -> list[str]:
        # The client's own keys() reads the whole bucket and filters by substring.
        watcher = await _reach(prefix, self._bucket.watch(f"{_encode(prefix)}.>", meta_only=True))
        found = []
        try:
            while (
                entry := await _reach(prefix, watcher.updates(timeout=10))  # type: ignore[no-untyped-call]
            ) is not None:
                if not entry.operation:
                    found.append(_decode(entry.key))
        finally:
            with suppress(*_DOWN):
                await watcher.stop()  # type: ignore[no-untyped-call]
        return sorted(found)

    async def watch(self, key: str) -> AsyncIterator[Entry]:
        subject = f"{_encode(key)}>" if key.endswith(".") else _encode(key)
        seen: dict[str, int] = {}
        while True:
            # Opened anew after each quiet spell: a watcher does not survive every kind of reconnect.
            watcher = await _reach(key, self._bucket.watch(subject))
            try:
                with suppress(nats.errors.TimeoutError):
                    while True:
                        entry = await watcher.updates(timeout=_QUIET)  # type: ignore[no-untyped-call]
                        if (
                            entry is None
                            or entry.operation
                            or (entry.revision or 0) <= seen.get(entry.key, 0)
                        ):
                            continue
                        seen[entry.key] = entry.revision or 0
                        yield Entry(_decode(entry.key), entry.value or b"", entry.revision or 0)
            finally:
                with suppress(*_DOWN):
                    await watcher.stop()  # type: ignore[no-untyped-call]


def _down(key: str, error: Exception) -> FiretrialError:
    return FiretrialError(Reason.UNAVAILABLE, f"NATS did not answer for {key}: {_said(error)}")


def _encode(key: str) -> str:
    """A key in the alphabet that NATS allows; "=" introduces the code of any other character."""
    return re.sub(r"[^A-Za-z0-9_.\-]", lambda match: f"={ord(match[0]):06x}", key)


def _decode(key: str) -> str:
    return re.sub(r"=([0-9a-f]{6})", lambda match: chr(int(match[1], 16)), key)
