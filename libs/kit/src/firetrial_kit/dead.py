"""Dead letters: messages that were given up, kept as they came for an operator to read and send again.

The message's bytes are the letter's; all else about it stands in one header as JSON, so that no header of a
stranger's message can pass for one of the letter's.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

from firetrial_kit.bus import Outgoing
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.events import token

DEAD = "FT_DEAD"
SUBJECTS = "ft.dead.>"
HEADER = "ft-dead-letter"
LINEAGE = "ft-requeued-from"
"""Header of a message that was sent again: the place of its letter in FT_DEAD."""
MAX_DATA = 512 * 1024
"""Bytes of a message that are kept: ours have 64 KiB at most, a stranger's may be as large as a letter."""
_MAX_TOLD = 2000
_MAX_HEADERS = 64 * 1024
_TIMES = ("sent_at", "at")


@dataclass(frozen=True, slots=True)
class Letter:
    """A message that `consumer` gave up, and why. `sequence` is its place in `stream`, `size` its bytes, and
    `at` when it was given up.

    `data` is cut where the message was larger than MAX_DATA, `headers` are empty where they were too many.
    """

    consumer: str
    stream: str
    sequence: int
    subject: str
    reason: str
    error: str
    deliveries: int
    sent_at: datetime
    at: datetime
    size: int
    headers: Mapping[str, str] = field(default_factory=dict)
    data: bytes = b""

    @property
    def whole(self) -> bool:
        """Whether the message can be sent again as it was."""
        return len(self.data) == self.size


def letter(
    *,
    consumer: str,
    stream: str,
    sequence: int,
    subject: str,
    headers: Mapping[str, str],
    data: bytes,
    deliveries: int,
    sent_at: datetime,
    error: FiretrialError,
    at: datetime,
) -> Letter:
    """The letter of a message that failed by `error`, within what can be kept."""
    fits = sum(len(name) + len(value) for name, value in headers.items()) <= _MAX_HEADERS
    return Letter(
        consumer=consumer,
        stream=stream,
        sequence=sequence,
        subject=subject,
        reason=str(error.reason),
        error=error.message[:_MAX_TOLD],
        deliveries=deliveries,
        sent_at=sent_at,
        at=at,
        size=len(data),
        headers=dict(headers) if fits else {},
        data=data[:MAX_DATA],
    )


def outgoing(found: Letter) -> Outgoing:
    """The letter as it is sent to FT_DEAD. Its id is the message's place, so that it is kept once."""
    told: dict[str, Any] = {**asdict(found), **{name: getattr(found, name).isoformat() for name in _TIMES}}
    del told["data"]
    message_id = f"{found.stream}:{found.sequence}:{found.sent_at.isoformat()}:{found.consumer}"
    # ASCII alone: no line ends the header early, and lone surrogates can travel.
    headers = {HEADER: json.dumps(told, ensure_ascii=True)}
    return Outgoing(f"ft.dead.{token(found.consumer)}", found.data, message_id, headers)


def read(headers: Mapping[str, str], data: bytes) -> Letter:
    """The letter that was sent so. Raises CORRUPT for what is none."""
    try:
        told = json.loads(headers[HEADER])
        times = {name: datetime.fromisoformat(told[name]) for name in _TIMES}
        return Letter(**{**told, **times, "data": data})
    except (KeyError, ValueError, TypeError) as error:
        raise FiretrialError(Reason.CORRUPT, f"a message in {DEAD} is no dead letter: {error!r}") from error
