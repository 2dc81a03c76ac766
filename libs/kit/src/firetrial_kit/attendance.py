"""Who of a service is there: each process says so every few seconds, and is told there to take nothing new.

It stands in the service's own state, so that a word to a process that is cut off from the broker for a while
is still there when it comes back.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from importlib.metadata import version
from typing import TYPE_CHECKING

from firetrial_kit.clock import Clock
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.records import Records
from firetrial_kit.state import State

if TYPE_CHECKING:
    from firetrial_kit.service import Parts

KIND = "attendant"
BEAT_S = 3.0
MISSING_S = 15.0
"""Seconds without a word after which a process is held to be gone."""


@dataclass(frozen=True, slots=True)
class Attendant:
    """One process. `slots` is how much of its pool's work it has in hand at most, `busy` how much now.

    `alone` is False where it shares its process with other services, which cannot end by itself. An operator
    sets `drain_asked`; `draining` is the process's own word. `takes` are the kinds of work of its pool, as in
    ft.work.<kind>.<pool>, that it takes; None where it is of a version that does not tell. `page` is where
    others reach its metrics, as host:port; empty where they do not.
    """

    instance: str
    host: str
    version: str
    pool: str
    slots: int
    since: datetime
    seen_at: datetime
    busy: int = 0
    alone: bool = True
    drain_asked: bool = False
    draining: bool = False
    takes: tuple[str, ...] | None = None
    page: str = ""

    def there(self, now: datetime) -> bool:
        return now - self.seen_at < timedelta(seconds=MISSING_S)

    def would_take(self, kind: str) -> bool:
        """Whether it takes new work of this kind, for all that is known."""
        return not self.draining and (self.takes is None or kind in self.takes)


def attendants(state: State) -> Records[Attendant]:
    """All that were there, in the state of their service; some may be gone."""
    return Records(state, KIND, Attendant)


def of(
    parts: Parts, pool: str, slots: int, busy: Callable[[], int], takes: tuple[str, ...] | None = None
) -> Attendance:
    """Of a service that takes work of `pool`."""
    now = parts.clock.now()
    me = Attendant(
        instance=parts.instance,
        host=socket.gethostname(),
        version=version(f"firetrial-{parts.service}"),
        pool=pool,
        slots=slots,
        since=now,
        seen_at=now,
        alone=parts.retire is not None,
        takes=takes,
        page=parts.page,
    )
    return Attendance(parts.state, parts.clock, me, busy, parts.retire)


@dataclass(frozen=True, slots=True)
class Attendance:
    """Says that `me` is there, with as much in hand as `busy` tells; where a drain was asked, retires."""

    state: State
    clock: Clock
    me: Attendant
    busy: Callable[[], int]
    retire: asyncio.Event | None

    async def run(self) -> None:
        """Until cancelled; then takes leave. A broker that is away is waited for."""
        try:
            while True:
                with suppress(FiretrialError):
                    await self.beat()
                await asyncio.sleep(BEAT_S)
        finally:
            with suppress(FiretrialError):
                await self.state.delete(f"{KIND}.{self.me.instance}")

    async def beat(self) -> None:
        """Say it once, and heed what was asked. Raises UNAVAILABLE."""
        records, now = attendants(self.state), self.clock.now()

        def seen(known: Attendant) -> Attendant:
            asked = known.drain_asked and self.retire is not None
            draining = asked or (self.retire is not None and self.retire.is_set())
            return replace(known, seen_at=now, busy=self.busy(), draining=draining)

        try:
            known = await records.change(self.me.instance, seen)
        except FiretrialError as error:
            if error.reason is not Reason.NOT_FOUND:
                raise
            await records.create(self.me.instance, seen(self.me))
            return
        if known.draining and self.retire is not None:
            self.retire.set()
