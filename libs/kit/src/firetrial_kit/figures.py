"""What the broker says of itself: its streams, who reads them, and what waits in them.

Five questions however much there is, and one more for each subject of work that waits: nothing is read of
the messages but when the oldest came.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from nats.aio.client import Client

from firetrial_kit.dead import DEAD
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.events import EVENTS, WORK
from firetrial_kit.jetstream import reach

_TIMEOUT_S = 3.0
_NO_STREAM, _NO_MESSAGE = 10059, 10037  # JetStream's err_code


@dataclass(frozen=True, slots=True)
class StreamFigures:
    """limit_bytes is None where a stream has none."""

    name: str
    messages: int
    bytes: int
    limit_bytes: int | None


@dataclass(frozen=True, slots=True)
class ConsumerFigures:
    """Messages for a durable consumer: pending ones were never delivered, unsettled ones were, redelivered
    ones of those more than once. `last` is the place in the stream of the newest that was delivered.
    """

    stream: str
    name: str
    subjects: tuple[str, ...]
    pending: int
    unsettled: int
    redelivered: int
    last: int


@dataclass(frozen=True, slots=True)
class WorkFigures:
    """Work of one `kind` for a `pool` that has some, or somebody to take it.

    What was never given to anyone, the seconds that the oldest of it has waited, and what was given to
    someone and is not settled.
    """

    kind: str
    pool: str
    waiting: int
    delivered: int
    oldest_s: float


@dataclass(frozen=True, slots=True)
class Figures:
    """Of one moment. `dead` counts dead letters by consumer; bytes are of the account's files."""

    streams: tuple[StreamFigures, ...]
    consumers: tuple[ConsumerFigures, ...]
    work: tuple[WorkFigures, ...]
    dead: Mapping[str, int]
    bytes: int
    limit_bytes: int | None


class BrokerFigures:
    """Asks the broker."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def read(self) -> Figures:
        """Raises UNAVAILABLE where it does not answer."""
        account = await self._ask("INFO")
        streams = [_stream(told) async for told in self._pages("STREAM.LIST", "streams")]
        consumers = [
            _consumer(stream, told)
            for stream in (EVENTS, WORK)
            async for told in self._pages(f"CONSUMER.LIST.{stream}", "consumers")
            if told["config"].get("durable_name")
        ]
        waiting, at = await self._subjects(WORK)
        dead, _ = await self._subjects(DEAD)
        subjects = {subject for c in consumers if c.stream == WORK for subject in c.subjects} | {*waiting}
        work = [await self._work(one, waiting.get(one, 0), at, consumers) for one in sorted(subjects)]
        return Figures(
            tuple(streams),
            tuple(consumers),
            tuple(work),
            {subject.partition("ft.dead.")[2]: count for subject, count in dead.items()},
            account["storage"],
            _limit(account["limits"]["max_storage"]),
        )

    async def _work(
        self, subject: str, messages: int, now: datetime | None, consumers: list[ConsumerFigures]
    ) -> WorkFigures:
        """A subject of work has one consumer at most: such is a work queue."""
        kind, _, pool = subject.removeprefix("ft.work.").partition(".")
        reader = next((c for c in consumers if c.stream == WORK and subject in c.subjects), None)
        waiting = min(messages, reader.pending) if reader else messages
        oldest_s = 0.0
        if waiting:
            came = await self._came(subject, reader.last + 1 if reader else 1)
            oldest_s = max(0.0, (now - came).total_seconds()) if came and now else 0.0
        return WorkFigures(kind, pool, waiting, messages - waiting, oldest_s)

    async def _came(self, subject: str, sequence: int) -> datetime | None:
        """When the first message on `subject` from `sequence` on was sent; None where it is gone by now."""
        told = await self._ask(f"STREAM.MSG.GET.{WORK}", {"seq": sequence, "next_by_subj": subject})
        return _time(told["message"]["time"]) if "message" in told else None

    async def _subjects(self, stream: str) -> tuple[dict[str, int], datetime | None]:
        """(messages by subject, what the broker's clock showed); nothing where there is no such stream."""
        told = await self._ask(f"STREAM.INFO.{stream}", {"subjects_filter": ">"})
        if "state" not in told:
            return {}, None
        return told["state"].get("subjects") or {}, _time(told["ts"])

    async def _pages(self, question: str, of: str) -> AsyncIterator[dict[str, Any]]:
        seen, total = 0, 1
        while seen < total:
            told = await self._ask(question, {"offset": seen})
            page, total = told.get(of) or [], told.get("total", 0)
            if not page:
                return
            seen += len(page)
            for one in page:
                yield one

    async def _ask(self, question: str, said: Mapping[str, Any] | None = None) -> dict[str, Any]:
        body = json.dumps(said).encode() if said else b""
        asked = self._client.request(f"$JS.API.{question}", body, timeout=_TIMEOUT_S)
        told: dict[str, Any] = json.loads((await reach(question, asked)).data)
        error = told.get("error")
        if error and error.get("err_code") not in (_NO_STREAM, _NO_MESSAGE):
            raise FiretrialError(Reason.UNAVAILABLE, f"NATS does not answer {question}: {error}")
        return told


def _stream(told: Mapping[str, Any]) -> StreamFigures:
    config, state = told["config"], told["state"]
    return StreamFigures(
        config["name"], state["messages"], state["bytes"], _limit(config.get("max_bytes", -1))
    )


def _consumer(stream: str, told: Mapping[str, Any]) -> ConsumerFigures:
    config = told["config"]
    one = config.get("filter_subject")
    return ConsumerFigures(
        stream,
        config["durable_name"],
        tuple(config.get("filter_subjects") or ([one] if one else [])),
        told["num_pending"],
        told["num_ack_pending"],
        told["num_redelivered"],
        told["delivered"]["stream_seq"],
    )


def _limit(told: int) -> int | None:
    return told if told > 0 else None


def _time(told: str) -> datetime:
    """The broker tells nanoseconds, of which Python reads the first six digits."""
    return datetime.fromisoformat(told)
