"""Messages as a stream holds them, read without a trace: nothing is settled, no consumer stays."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

import nats.errors
from nats.aio.client import Client
from nats.js import JetStreamContext
from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy
from nats.js.errors import NotFoundError

from firetrial_kit.jetstream import DOWN, reach

_BATCH = 256
_PATIENCE = 5.0
_UNREAD = 30.0


@dataclass(frozen=True, slots=True)
class Stored:
    """One message at `sequence` of its stream, there since `at`."""

    sequence: int
    subject: str
    headers: Mapping[str, str]
    data: bytes
    at: datetime


async def messages(
    js: JetStreamContext, stream: str, subject: str = ">", *, headers_only: bool = False
) -> AsyncIterator[Stored]:
    """All that the stream holds on `subject` now, the oldest first; not for a stream of work.

    None where there is no such stream. Raises UNAVAILABLE.
    """
    config = ConsumerConfig(
        ack_policy=AckPolicy.NONE,
        deliver_policy=DeliverPolicy.ALL,
        headers_only=headers_only,
        inactive_threshold=_UNREAD,
        mem_storage=True,
    )
    try:
        pull = await js.pull_subscribe(subject, stream=stream, config=config)
    except NotFoundError:
        return
    try:
        left = (await reach(stream, pull.consumer_info())).num_pending or 0
        while left > 0:
            for message in await reach(stream, pull.fetch(min(left, _BATCH), timeout=_PATIENCE)):
                about = message.metadata
                left = min(left - 1, about.num_pending)
                headers = message.headers or {}
                yield Stored(about.sequence.stream, message.subject, headers, message.data, about.timestamp)
    finally:
        with suppress(*DOWN, nats.errors.Error):
            await pull.unsubscribe()


async def subjects(client: Client, stream: str) -> AsyncIterator[tuple[str, int]]:
    """Each subject on which the stream holds messages, and how many. Raises UNAVAILABLE."""
    seen = 0
    while True:
        told = json.dumps({"subjects_filter": ">", "offset": seen}).encode()
        info = await reach(stream, client.request(f"$JS.API.STREAM.INFO.{stream}", told, timeout=_PATIENCE))
        page: dict[str, int] = json.loads(info.data).get("state", {}).get("subjects") or {}
        for subject, count in page.items():
            yield subject, count
        if not page:
            return
        seen += len(page)
