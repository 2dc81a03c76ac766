"""What a judge puts into the bucket `sealed` for a while, so that nothing lies there for ever.

It is written down before it is put there, under the name of the process. What one leaves that is killed,
another removes; what could not be removed in its time, this one later.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

from firetrial_kit.clock import Clock
from firetrial_kit.errors import FiretrialError
from firetrial_kit.objects import ObjectRef, Objects
from firetrial_kit.records import Records
from firetrial_kit.state import State

KIND = "lent"
BUCKET = "sealed"
GONE_S = 3600.0
"""Seconds without a word after which a process is held to be gone."""


@dataclass(frozen=True, slots=True)
class Lying:
    """What one process has there, by key, and when it last said so."""

    keys: tuple[str, ...]
    seen_at: datetime


class Lent:
    """Objects of `instance`, this process, which has to `sweep` at least every half hour to be held alive."""

    def __init__(self, objects: Objects, state: State, clock: Clock, instance: str) -> None:
        self._objects, self._state, self._clock, self._instance = objects, state, clock, instance
        self._records = Records(state, KIND, Lying, shared=True)
        self._there: set[str] = set()
        self._needed: set[str] = set()

    async def put(self, key: str, data: bytes) -> ObjectRef:
        """Write it down, and put it there. Raises UNAVAILABLE."""
        self._needed.add(key)
        self._there.add(key)
        await self._tell()
        return await self._objects.put(BUCKET, key, data, "application/x-tar")

    async def remove(self, key: str) -> None:
        """It is needed no more: removed now, or by a sweep where the store or the broker is away."""
        self._needed.discard(key)
        with suppress(FiretrialError):
            await self._remove_mine()

    async def sweep(self) -> None:
        """Remove what is needed no more: of this process, and all of those that are gone.

        Raises UNAVAILABLE.
        """
        await self._remove_mine()
        for id_ in await self._records.ids():
            known = await self._records.find(id_)
            gone = known and self._clock.now() - known.seen_at > timedelta(seconds=GONE_S)
            if known and gone and id_ != self._instance:
                for key in known.keys:
                    await self._objects.delete(f"{BUCKET}/{key}")
                await self._state.delete(f"{KIND}.{id_}")

    async def _remove_mine(self) -> None:
        if not self._there:
            return
        for key in self._there - self._needed:
            await self._objects.delete(f"{BUCKET}/{key}")
            self._there.discard(key)
        await self._tell()

    async def _tell(self) -> None:
        def told() -> Lying:
            return Lying(tuple(sorted(self._there)), self._clock.now())

        if not await self._records.create(self._instance, told()):
            await self._records.change(self._instance, lambda _: told())
