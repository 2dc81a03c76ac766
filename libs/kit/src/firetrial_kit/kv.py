"""State in a JetStream key-value bucket."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any, cast

from nats.aio.client import Client
from nats.js.api import KeyValueConfig
from nats.js.errors import (
    BucketNotFoundError,
    KeyDeletedError,
    KeyNotFoundError,
    KeyWrongLastSequenceError,
    NotFoundError,
)
from nats.js.kv import KeyValue

from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.jetstream import DOWN, UNREAD_S, heeding, reach, said
from firetrial_kit.kv_marks import Marks
from firetrial_kit.state import Entry

# Seconds without a change after which a watch is opened anew.
_QUIET = 20.0


class JetStreamState:
    """State in one KV bucket."""

    def __init__(self, client: Client, name: str, bucket: KeyValue) -> None:
        self._client, self._name, self._bucket = client, name, bucket
        self._marks = Marks(client, name)

    @classmethod
    async def open(cls, client: Client, bucket: str, replicas: int = 1) -> JetStreamState:
        """The bucket, made where it is missing, to be kept by `replicas` servers."""
        js = client.jetstream(timeout=5)
        try:
            return cls(client, bucket, await js.key_value(bucket))
        except (NotFoundError, BucketNotFoundError):
            made = js.create_key_value(KeyValueConfig(bucket=bucket, history=1, replicas=replicas))
            return cls(client, bucket, await reach(f"bucket {bucket}", made))

    @property
    def name(self) -> str:
        return self._name

    async def get(self, key: str) -> Entry | None:
        try:
            entry = await heeding(self._bucket.get(encode(key)))
        except (KeyNotFoundError, KeyDeletedError):
            return None
        except DOWN as error:
            raise _away(key, error) from error
        return Entry(key, entry.value or b"", entry.revision or 0)

    async def create(self, key: str, value: bytes) -> int:
        try:
            return await heeding(self._bucket.create(encode(key), value))
        except KeyWrongLastSequenceError as error:
            raise FiretrialError(Reason.ALREADY_EXISTS, f"{key} exists") from error
        except DOWN as error:
            raise _away(key, error) from error

    async def update(self, key: str, value: bytes, revision: int) -> int:
        try:
            return await heeding(self._bucket.update(encode(key), value, last=revision))
        except KeyWrongLastSequenceError as error:
            raise FiretrialError(Reason.CONFLICT, f"{key} was changed by another") from error
        except DOWN as error:
            raise _away(key, error) from error

    async def delete(self, key: str) -> None:
        # A mark in the place of the value: a service need not have the right to purge.
        try:
            await heeding(self._bucket.delete(encode(key)))
        except DOWN as error:
            raise _away(key, error) from error

    async def keys(self, prefix: str) -> list[str]:
        # Not by a watch, as the client's own keys(): that misses what is changed while it reads.
        found: list[str] = []
        since = self._marks.upto
        while True:
            info = await self._info(f"{encode(prefix)}.>", len(found))
            page = info["state"].get("subjects") or ()
            found += [subject.removeprefix(f"$KV.{self._name}.") for subject in page]
            if not page:
                break
        if not found:
            return []
        there = await self._marks.without(found, info["created"], info["state"]["last_seq"], since)
        return sorted(set(map(decode, there)))

    async def _info(self, keys: str, offset: int) -> dict[str, Any]:
        """Of the stream as it is at one moment, with the encoded keys from `offset` on: at most 100,000."""
        told = json.dumps({"subjects_filter": f"$KV.{self._name}.{keys}", "offset": offset})
        answer = await reach(
            keys, self._client.request(f"$JS.API.STREAM.INFO.KV_{self._name}", told.encode(), timeout=5)
        )
        info: dict[str, Any] = json.loads(answer.data)
        if "error" in info:
            raise FiretrialError(Reason.UNAVAILABLE, f"NATS told no {keys}: {info['error']}")
        return info

    async def watch(self, key: str) -> AsyncIterator[Entry]:
        subject = f"{encode(key)}>" if key.endswith(".") else encode(key)
        seen: dict[str, int] = {}
        while True:
            # Opened anew after each quiet spell: a watcher does not survive every kind of reconnect.
            watcher = await reach(key, self._bucket.watch(subject, inactive_threshold=UNREAD_S))
            try:
                with suppress(TimeoutError):
                    while True:
                        entry = await _next(watcher)
                        revision = (entry.revision or 0) if entry and not entry.operation else 0
                        if entry and revision > seen.get(entry.key, 0):
                            seen[entry.key] = revision
                            yield Entry(decode(entry.key), entry.value or b"", revision)
            finally:
                with suppress(*DOWN):
                    await watcher.stop()  # type: ignore[no-untyped-call]


async def _next(watcher: KeyValue.KeyWatcher) -> KeyValue.Entry | None:
    """The next change, None once all that was there has come. Raises TimeoutError after a quiet spell.

    Not by the watcher's own `updates`: that uses wait_for, which in Python 3.11 swallows a cancellation
    that meets an entry, and a watch that cannot be cancelled never ends.
    """
    async with asyncio.timeout(_QUIET):
        return cast("KeyValue.Entry | None", await anext(watcher))


def _away(key: str, error: Exception) -> FiretrialError:
    return FiretrialError(Reason.UNAVAILABLE, f"NATS did not answer for {key}: {said(error)}")


def encode(key: str) -> str:
    """A key in the alphabet that NATS allows; "=" introduces the code of any other character."""
    return re.sub(r"[^A-Za-z0-9_.\-]", lambda match: f"={ord(match[0]):06x}", key)


def decode(key: str) -> str:
    """The key that was encoded so."""
    return re.sub(r"=([0-9a-f]{6})", lambda match: chr(int(match[1], 16)), key)
