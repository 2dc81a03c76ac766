"""The bus: facts and work that services send each other, delivered at least once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from google.protobuf.message import DecodeError, Message

from firetrial_kit.errors import FiretrialError, Reason

P = TypeVar("P", bound=Message)
# What an event may carry. Bodies go to the object store and travel as references.
MAX_PAYLOAD = 64 * 1024


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A message to send. `message_id` is a function of what happened, so that sending twice sends once."""

    subject: str
    data: bytes
    message_id: str
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Received:
    """A message as a handler sees it. `delivered` counts its deliveries, this one included."""

    subject: str
    data: bytes
    headers: Mapping[str, str]
    delivered: int

    def parse(self, type_: type[P]) -> P:
        """The payload as `type_`. Raises INVALID for bytes that are not one."""
        try:
            return type_.FromString(self.data)
        except DecodeError as error:
            raise FiretrialError(
                Reason.INVALID, f"the message on {self.subject} is no {type_.DESCRIPTOR.full_name}"
            ) from error

    def parsed(self, type_: type[P]) -> P | None:
        """The same for those that tell of a failure: None for bytes that are not one."""
        try:
            return self.parse(type_)
        except FiretrialError:
            return None


Handle = Callable[[Received], Awaitable[None]]
Fail = Callable[[Received, FiretrialError], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Consumer:
    """A durable consumer: what it takes, what it does with it, and how it says that it cannot.

    `handle` begins with "already done? then announce again", because every message can come twice.
    `fail` announces that the thing will not happen; it is called once, for a permanent error or after
    `max_deliver` deliveries, and the message is not delivered again. Raising FiretrialError with a
    retryable reason means "later"; any other exception is a bug and is tried again too.
    """

    name: str
    stream: str
    subjects: tuple[str, ...]
    handle: Handle
    fail: Fail
    concurrency: int = 1
    ack_wait: float = 30.0
    max_deliver: int = 10
    # Seconds before delivery 2, 3, …; the last one goes on.
    backoff: tuple[float, ...] = (0.5, 2.0, 5.0, 15.0, 30.0, 60.0)
    # Begins with what is told after it was first made, not with all that the stream holds.
    only_new: bool = False
    # What a killed process had in hand comes first, in its order, and nothing before its `ack_wait` is over.
    in_order: bool = False
    # Told how each delivery was settled: "done", "later" or "failed".
    settled: Callable[[str], None] = lambda _: None


class Bus(Protocol):
    """Publishes facts and work, and runs consumers."""

    async def publish(self, message: Outgoing) -> None:
        """Send, and wait until the broker has stored it. Raises UNAVAILABLE, or TOO_LARGE over 64 KiB."""
        ...

    async def consume(self, consumer: Consumer, stop: asyncio.Event) -> None:
        """Run `consumer` until `stop` is set; return once nothing is in hand.

        Cancelling gives what is in hand back to the broker at once.
        """
        ...

    def follow(self, subject: str) -> AbstractAsyncContextManager[AsyncIterator[Received]]:
        """Facts on `subject` (which may hold wildcards) from now on, for one who only looks.

        What is told after entering is seen; nothing is kept or settled. The iterator raises UNAVAILABLE where
        the broker is away for long.
        """
        ...


def checked(message: Outgoing) -> Outgoing:
    """`message`, where it is small enough to travel. Raises TOO_LARGE."""
    if len(message.data) > MAX_PAYLOAD:
        raise FiretrialError(
            Reason.TOO_LARGE,
            f"the message on {message.subject} has {len(message.data)} bytes, at most {MAX_PAYLOAD} may "
            "travel: store the body and send a reference",
        )
    return message
