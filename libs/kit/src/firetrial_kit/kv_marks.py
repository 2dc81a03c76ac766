"""Which keys of a bucket are deleted: a mark stands in the place of each, and stays."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.js.api import ConsumerConfig, DeliverPolicy

from firetrial_kit.jetstream import DOWN, heeding

# Seconds in which new marks are looked for once at most, where none of those known is in question.
_EVERY = 30.0
_PATIENCE = 2.0
# Seconds that the broker keeps a look that is over: it has room for 1,000 of a bucket.
_UNREAD = 1.0
_MARKED = ("KV-Operation", "Nats-Marker-Reason")


class Marks:
    """Those that are known, `upto` a place in the bucket. A look reads what changed since, without values."""

    def __init__(self, client: Client, bucket: str) -> None:
        self._client, self._stream, self._prefix = client, f"KV_{bucket}", f"$KV.{bucket}."
        self._lock = asyncio.Lock()
        self._known: set[str] = set()
        self.upto, self._next = 0, 0.0
        self._era: tuple[str, int] = ("", 0)

    async def without(self, keys: list[str], created: str, last: int, since: int) -> list[str]:
        """Encoded `keys` of the bucket that was `created` then, as it is at `last`, without deleted ones.

        `since` is `upto` as it was before the broker was asked for the keys. Some deleted ones may be left,
        all where the broker does not show what changed up to `last`: what is hidden is known to be deleted.
        """
        async with self._lock:
            # A broker that comes back may have lost the newest, and give its numbers to others.
            era = (created, self._client.stats["reconnects"])
            if era != self._era or last < since:
                self._known, self.upto, self._next, self._era = set(), 0, 0.0, era
            now = asyncio.get_running_loop().time()
            if self.upto < last and (now >= self._next or not self._known.isdisjoint(keys)):
                self._next = now + _EVERY
                with suppress(*DOWN):
                    await self._look(last)
                if self.upto < last:
                    return keys
            return [key for key in keys if key not in self._known]

    async def _look(self, last: int) -> None:
        """Read on up to `last`, or as far as this server of a cluster has it."""
        js = self._client.jetstream(timeout=_PATIENCE)
        config = ConsumerConfig(
            deliver_policy=DeliverPolicy.BY_START_SEQUENCE,
            opt_start_seq=self.upto + 1,
            headers_only=True,
            inactive_threshold=_UNREAD,
        )
        done = asyncio.Event()

        async def heed(message: Msg) -> None:
            self._heed(message)
            if self.upto >= last or not message.metadata.num_pending:
                done.set()

        subject = f"{self._prefix}>"
        changes = await heeding(
            js.subscribe(subject, stream=self._stream, config=config, ordered_consumer=True, cb=heed)
        )
        try:
            info = await heeding(changes.consumer_info())
            if info.num_pending or (info.delivered and info.delivered.consumer_seq):
                async with asyncio.timeout(_PATIENCE):
                    await done.wait()
        finally:
            await changes.unsubscribe()

    def _heed(self, message: Msg) -> None:
        place, key = message.metadata.sequence.stream, message.subject.removeprefix(self._prefix)
        if place <= self.upto:  # of a look that is over
            return
        if any(name in (message.headers or {}) for name in _MARKED):
            self._known.add(key)
        else:
            self._known.discard(key)
        self.upto = place
