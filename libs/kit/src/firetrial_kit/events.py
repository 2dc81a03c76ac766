"""The names of facts: subjects, message ids and CloudEvents headers, each built in one place.

Headers follow the CloudEvents 1.0 NATS binding in binary mode.
"""

from __future__ import annotations

import re

from google.protobuf.message import Message

from firetrial_kit import trace
from firetrial_kit.bus import Outgoing
from firetrial_kit.clock import Clock

EVENTS = "FT_EVT"
WORK = "FT_WORK"
STREAMS = {EVENTS: "ft.evt.>", WORK: "ft.work.>"}


def subject(service: str, fact: str, key: str = "*") -> str:
    """Where facts of one kind are told: of one resource, or of all."""
    return f"ft.evt.{service}.v1.{fact}.{token(key)}"


def work_subject(kind: str, pool: str) -> str:
    """Where work of one kind waits for a pool."""
    return f"ft.work.{kind}.{pool}"


def token(key: str) -> str:
    """`key` as one token of a subject; what could end a token or a protocol line becomes "_"."""
    return key if key == "*" else re.sub(r"[^A-Za-z0-9_@=-]", "_", key)


def fact(service: str, name: str, key: str, payload: Message, *, clock: Clock, attempt: int = 1) -> Outgoing:
    """The fact `name` about the resource `key`, ready to publish."""
    return _outgoing(
        subject(service, name, key), f"{key}:{name}:{attempt}", service, key, payload, clock=clock
    )


def work(
    service: str, kind: str, pool: str, key: str, payload: Message, *, clock: Clock, attempt: int = 1
) -> Outgoing:
    """Work of one kind for `pool` about the resource `key`, ready to publish."""
    message_id = f"{key}:work.{kind}:{attempt}"
    return _outgoing(work_subject(kind, pool), message_id, service, key, payload, clock=clock)


def _outgoing(
    to: str, message_id: str, service: str, key: str, payload: Message, *, clock: Clock
) -> Outgoing:
    headers = {
        "ce-specversion": "1.0",
        "ce-id": message_id,
        "ce-source": f"/firetrial/{service}",
        "ce-type": payload.DESCRIPTOR.full_name,
        "ce-subject": key,
        "ce-time": clock.now().isoformat(),
        "content-type": "application/protobuf",
        "traceparent": trace.current(),
    }
    return Outgoing(to, payload.SerializeToString(deterministic=True), message_id, headers)
