"""The names of facts and work: subjects, message ids and CloudEvents headers, each built in one place.

What a message is called and who may publish it stands in its contract, as the options `fact` and `work` of
`firetrial.event.v1`; nothing else can be published. Headers follow the CloudEvents 1.0 NATS binding in binary
mode.
"""

from __future__ import annotations

import re

from google.protobuf.message import Message

from firetrial.event.v1 import event_pb2
from firetrial_kit import trace
from firetrial_kit.bus import Outgoing
from firetrial_kit.clock import Clock

EVENTS = "FT_EVT"
WORK = "FT_WORK"
STREAMS = {EVENTS: "ft.evt.>", WORK: "ft.work.>"}
ANY = "*"
"""Among the services of a declaration: each of them."""


def subject(service: str, fact: str, key: str = "*") -> str:
    """Where facts of one kind are told: of one resource, or of all."""
    return f"ft.evt.{service}.v1.{fact}.{token(key)}"


def work_subject(kind: str, pool: str) -> str:
    """Where work of one kind waits for a pool."""
    return f"ft.work.{kind}.{pool}"


def token(key: str) -> str:
    """`key` as one token of a subject; what could end a token or a protocol line becomes "_"."""
    return key if key == "*" else re.sub(r"[^A-Za-z0-9_@=-]", "_", key)


def fact(service: str, key: str, payload: Message, *, clock: Clock, attempt: int = 1) -> Outgoing:
    """The fact that `payload` is, about the resource `key`, ready to publish.

    Raises ValueError where its contract does not say that `service` tells such a fact.
    """
    options = payload.DESCRIPTOR.GetOptions().Extensions
    declared = options[event_pb2.fact]
    _declared(payload, service, declared.name, declared)
    message_id = f"{key}:{declared.name}:{attempt}"
    return _outgoing(subject(service, declared.name, key), message_id, service, key, payload, clock=clock)


def work(service: str, pool: str, key: str, payload: Message, *, clock: Clock, attempt: int = 1) -> Outgoing:
    """The work that `payload` is, for `pool` and about the resource `key`, ready to publish.

    Raises ValueError where its contract does not say that `service` asks for such work.
    """
    options = payload.DESCRIPTOR.GetOptions().Extensions
    declared = options[event_pb2.work]
    _declared(payload, service, declared.kind, declared)
    message_id = f"{key}:work.{declared.kind}:{attempt}"
    return _outgoing(work_subject(declared.kind, pool), message_id, service, key, payload, clock=clock)


def _declared(payload: Message, service: str, name: str, by: event_pb2.Fact | event_pb2.Work) -> None:
    if not name or not {service, ANY} & {*by.services}:
        raise ValueError(
            f"{payload.DESCRIPTOR.full_name} cannot be published by {service}: its contract must declare it "
            f"by an option of firetrial.event.v1 (it names {', '.join(by.services) or 'nobody'})"
        )


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
