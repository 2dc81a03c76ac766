"""Dead letters: what they are, and how they are sent again or dropped."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import import_module
from importlib.util import find_spec
from pkgutil import iter_modules
from typing import Any

from google.protobuf import descriptor_pool
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass
from nats.js import JetStreamContext

from firetrial_kit.dead import DEAD, LINEAGE, Letter, read
from firetrial_kit.errors import Fault, FiretrialError, Reason
from firetrial_kit.events import EVENTS, WORK, token
from firetrial_kit.ids import digest
from firetrial_kit.jetstream import found, reach
from firetrial_kit.state import State
from firetrial_operate.admin.stored import Stored, messages

_TYPE = re.compile(r"(firetrial(?:\.[a-z_]+)*\.v\d+)\.[A-Z][A-Za-z]*")
_NEVER = datetime(1970, 1, 1, tzinfo=UTC)
_SHOWN = 4096
"""Bytes that are shown of what cannot be decoded."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A letter at its place in FT_DEAD, and how often it was sent again."""

    place: int
    letter: Letter
    requeued: int = 0


class DeadLetters:
    """Those of an installation. `state` remembers for good which were sent again."""

    def __init__(self, js: JetStreamContext, state: State) -> None:
        self._js = js
        self._state = state

    async def all(self, consumer: str = "") -> AsyncIterator[Kept]:
        """Those of one consumer, or of all, the oldest first and without their data."""
        subject = f"ft.dead.{token(consumer)}" if consumer else "ft.dead.>"
        sent = {key: await self._count(key) for key in await self._state.keys("requeued")}
        async for message in messages(self._js, DEAD, subject, headers_only=True):
            letter = told(message)
            yield Kept(message.sequence, letter, sent.get(_key(letter), 0))

    async def get(self, place: int) -> Kept:
        """Raises NOT_FOUND."""
        message = await found(DEAD, self._js.get_msg(DEAD, place))
        if message is None:
            raise _missing(place)
        letter = told(
            Stored(place, message.subject or "", message.headers or {}, message.data or b"", _NEVER)
        )
        return Kept(place, letter, await self._count(_key(letter)))

    async def requeue(self, place: int, *, again: bool = False, unverified: bool = False) -> bool:
        """Send the message again where it was; False, and nothing done, where that was done before.

        The mark is made first and says whether the message was stored, so that a crash in between is made
        good by the next call; for two minutes the broker drops what that would double. Raises NOT_FOUND, and
        PRECONDITION for a message that was too large to be kept whole, and for a fact that its stream does
        not hold as the letter has it, unless `unverified`.
        """
        kept = await self.get(place)
        if not kept.letter.whole:
            raise FiretrialError(
                Reason.PRECONDITION,
                f"dead letter {place} holds {len(kept.letter.data)} of {kept.letter.size} bytes: it cannot "
                "be sent again; drop it",
            )
        _check_headers(kept)
        if not unverified:
            await self._check_origin(kept)
        key = _key(kept.letter)
        await _made(self._state, key)
        entry = await self._state.get(key)
        mark = _mark(entry.value if entry else b"{}")
        if mark["stored"] and not again:
            return False
        number = mark["count"] + 1
        headers = {
            **{name: value for name, value in kept.letter.headers.items() if not name.startswith("Nats-")},
            LINEAGE: str(place),
            "Nats-Msg-Id": f"{key}:{number}",
        }
        await reach(
            kept.letter.subject,
            self._js.publish(
                kept.letter.subject, kept.letter.data, headers=headers, stream=kept.letter.stream
            ),
        )
        stored = json.dumps({"count": number, "stored": True, "at": datetime.now(UTC).isoformat()})
        await self._state.update(key, stored.encode(), entry.revision if entry else 0)
        return True

    async def drop(self, place: int) -> None:
        """Remove a letter. Raises NOT_FOUND."""
        await self.get(place)
        await reach(DEAD, self._js.delete_msg(DEAD, place))

    async def _check_origin(self, kept: Kept) -> None:
        """Who may write letters could put a fact into another's mouth: the stream says what was told.

        Work is gone from its stream once it is given up, and only who may ask for it gains by a false one.
        """
        letter = kept.letter
        if letter.stream == WORK and letter.subject.startswith("ft.work."):
            return
        if letter.stream == EVENTS:
            original = await found(EVENTS, self._js.get_msg(EVENTS, letter.sequence))
            if original and (original.subject, original.data or b"") == (letter.subject, letter.data):
                return
        raise FiretrialError(
            Reason.PRECONDITION,
            f"dead letter {kept.place} cannot be sent again: {letter.stream or 'no stream'} does not hold it "
            f"at {letter.sequence} (any more), and who may write letters could have made it up; if you know "
            "better, --unverified",
        )

    async def _count(self, key: str) -> int:
        entry = await self._state.get(key)
        return int(_mark(entry.value)["count"]) if entry else 0


def told(message: Stored) -> Letter:
    """The letter that a message of FT_DEAD is; what is none is told as one that says so."""
    try:
        return read(message.headers, message.data)
    except FiretrialError as error:
        consumer = message.subject.removeprefix("ft.dead.")
        return Letter(
            consumer=consumer,
            stream="",
            sequence=0,
            subject="",
            reason=str(error.reason),
            error=error.message,
            deliveries=0,
            sent_at=message.at,
            at=message.at,
            size=len(message.data) + 1,
            headers=message.headers,
            data=message.data,
        )


def _check_headers(kept: Kept) -> None:
    """Raises PRECONDITION for headers that the protocol cannot carry, which a stranger may have sent."""
    for name, value in kept.letter.headers.items():
        try:
            f"{name}{value}".encode()
        except UnicodeEncodeError as error:
            raise FiretrialError(
                Reason.PRECONDITION,
                f"dead letter {kept.place} cannot be sent again: its header {name!a} is no text",
            ) from error


def _key(letter: Letter) -> str:
    return (
        f"requeued.{digest(letter.stream, letter.sequence, str(letter.sent_at), letter.consumer, length=32)}"
    )


def _mark(value: bytes) -> dict[str, Any]:
    return {"count": 0, "stored": False, **json.loads(value)}


async def _made(state: State, key: str) -> None:
    try:
        await state.create(key, b"{}")
    except FiretrialError as error:
        if error.reason is not Reason.ALREADY_EXISTS:
            raise


def _missing(place: int) -> FiretrialError:
    fault = Fault("place", str(place), "must be one that `firetrial admin dead list` shows")
    message = f"there is no dead letter {place} (any more): `firetrial admin dead list` shows which there are"
    return FiretrialError(Reason.NOT_FOUND, message, faults=[fault])


def decoded(letter: Letter) -> dict[str, Any]:
    """The message by its ce-type, {"type", "message"}; else {"type", "bytes"}, its beginning as text.

    What a stranger named as the type is looked up among our contracts and nowhere else.
    """
    name = letter.headers.get("ce-type", "")
    try:
        message = GetMessageClass(_descriptor(name)).FromString(letter.data)
    except (KeyError, DecodeError):
        return {"type": name, "bytes": letter.data[:_SHOWN].decode("ascii", "backslashreplace")}
    return {"type": name, "message": MessageToDict(message, preserving_proto_field_name=True)}


def _descriptor(name: str) -> Any:
    """Raises KeyError for what is none of our messages."""
    match = _TYPE.fullmatch(name)
    package = find_spec(match[1]) if match and _there(match[1]) else None
    if match is None or package is None:
        raise KeyError(name)
    for module in iter_modules(package.submodule_search_locations):
        if module.name.endswith("_pb2"):
            import_module(f"{match[1]}.{module.name}")
    return descriptor_pool.Default().FindMessageTypeByName(name)


def _there(package: str) -> bool:
    parts = package.split(".")
    return all(find_spec(".".join(parts[: count + 1])) for count in range(len(parts)))
