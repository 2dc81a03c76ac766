"""Streams and consumers as they are, beside what they should be."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from nats.js import JetStreamContext
from nats.js.api import ConsumerConfig, ConsumerInfo, StreamInfo

from firetrial_kit import jetstream
from firetrial_kit.errors import Fault, FiretrialError, Reason
from firetrial_kit.jetstream import found, reach
from firetrial_kit.streams import WATCHER
from firetrial_operate.webhooks.endpoint import PREFIX

_NAME = re.compile(r"[^\s.*>/\\]+")
_STREAM = ("retention", "storage", "subjects", "max_age", "max_bytes", "discard", "duplicate_window")
_PAUSE_S, _LOOK_S = 3.0, 0.25
_CONSUMER = ("ack_policy", "deliver_policy", "max_deliver", "max_ack_pending")


def is_ours(stream: str) -> bool:
    """Whether a stream is Firetrial's, by its name."""
    return stream.startswith(("FT_", "KV_ft_"))


async def stream_infos(js: JetStreamContext) -> list[StreamInfo]:
    """Firetrial's streams, by name."""
    infos: list[StreamInfo] = []
    while page := await reach("streams", js.streams_info(offset=len(infos))):
        infos += page
    return sorted((info for info in infos if is_ours(_name(info))), key=_name)


def _name(info: StreamInfo) -> str:
    return str(info.config.name)


def stream_drift(info: StreamInfo) -> list[str]:
    """In what a stream differs from what the code would make; nothing for one that it knows no better."""
    wanted = {config.name: config for config in jetstream.streams()}.get(info.config.name)
    return list(_differences(wanted, info.config, _STREAM)) if wanted else []


def _differences(wanted: Any, there: Any, names: tuple[str, ...]) -> Iterator[str]:
    for name in names:
        want, have = getattr(wanted, name), getattr(there, name)
        # The broker says -1 or 0 for what has no limit.
        if want != have and not (want in (None, 0, -1) and have in (None, 0, -1)):
            yield f"{name} is {have}, should be {want}"


@dataclass(frozen=True, slots=True)
class Reader:
    """A consumer. `oldest` is when the oldest message came that it has not settled; `waiting` counts those
    that ask it for messages now.
    """

    stream: str
    name: str
    durable: bool
    subjects: tuple[str, ...]
    pending: int
    unsettled: int
    redelivered: int
    waiting: int
    oldest: datetime | None
    active: datetime
    drift: tuple[str, ...]

    def orphan(self, idle: float, now: datetime) -> bool:
        """Whether nobody asks it for messages, and it has been silent for `idle` seconds.

        One with messages in hand is none: a runner whose slots are all taken asks for nothing.
        """
        silent = (now - self.active).total_seconds() >= idle
        return not self.waiting and not self.unsettled and silent


async def readers(js: JetStreamContext, stream: str) -> list[Reader]:
    """The consumers of a stream, by name."""
    infos: list[ConsumerInfo] = []
    while page := await reach(stream, js.consumers_info(stream, offset=len(infos))):
        infos += page
    return sorted([await _reader(js, info) for info in infos], key=lambda reader: reader.name)


async def orphans(js: JetStreamContext, among: Iterable[Reader], idle: float) -> set[tuple[str, str]]:
    """(stream, name) of the orphans. Looked at for some seconds, for readers pause between asking."""
    now, until = datetime.now(UTC), time.monotonic() + _PAUSE_S
    left = {(one.stream, one.name) for one in among if one.orphan(idle, now)}
    while left and time.monotonic() < until:
        await asyncio.sleep(_LOOK_S)
        for stream, name in tuple(left):
            info = await found(stream, js.consumer_info(stream, name))
            if info is None or not (await _reader(js, info)).orphan(idle, now):
                left.discard((stream, name))
    return left


async def reader(js: JetStreamContext, stream: str, name: str) -> Reader:
    """Raises NOT_FOUND."""
    named = _NAME.fullmatch(stream) and _NAME.fullmatch(name)
    info = await found(stream, js.consumer_info(stream, name)) if named else None
    if info is None:
        fault = Fault("name", name, "must be a consumer that `firetrial admin consumers` lists")
        message = f"stream {stream!r} has no consumer {name!r}: `firetrial admin consumers` lists them"
        raise FiretrialError(Reason.NOT_FOUND, message, faults=[fault])
    return await _reader(js, info)


async def _reader(js: JetStreamContext, info: ConsumerInfo) -> Reader:
    config = info.config
    subjects = tuple(config.filter_subjects or filter(None, [config.filter_subject]))
    open_ = bool(info.num_pending or info.num_ack_pending)
    places = (info.delivered, info.ack_floor)
    moments = [info.created, *(place.last_active for place in places if place and place.last_active)]
    return Reader(
        stream=info.stream_name,
        name=info.name,
        durable=bool(config.durable_name),
        subjects=subjects,
        pending=info.num_pending or 0,
        unsettled=info.num_ack_pending or 0,
        redelivered=info.num_redelivered or 0,
        waiting=(info.num_waiting or 0) + bool(info.push_bound),
        oldest=await _oldest(js, info, subjects) if open_ else None,
        active=max(moments),
        drift=tuple(_consumer_drift(config)),
    )


async def _oldest(js: JetStreamContext, info: ConsumerInfo, subjects: tuple[str, ...]) -> datetime | None:
    """When the first message came after those that are all settled."""
    after = (info.ack_floor.stream_seq if info.ack_floor else 0) + 1
    times = []
    for subject in subjects or (">",):
        message = await found(subject, js.get_msg(info.stream_name, after, subject=subject, next=True))
        if message and message.time:
            times.append(message.time)
    return min(times, default=None)


def _consumer_drift(there: ConsumerConfig) -> Iterator[str]:
    if there.durable_name and there.deliver_subject is None:
        only_new = there.durable_name.startswith(PREFIX) or there.durable_name == WATCHER
        wanted = jetstream.durable(there.durable_name, (), there.ack_wait or 0, only_new=only_new)
        yield from _differences(wanted, there, _CONSUMER)


def age(since: datetime | None) -> float | None:
    """Seconds since then."""
    return None if since is None else max(0.0, (datetime.now(UTC) - since).total_seconds())
