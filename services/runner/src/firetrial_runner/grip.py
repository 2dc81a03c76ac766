"""A runner's grip on a run that it carries out: how long it holds, and whether it is to let go."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime

from firetrial_kit.clock import Clock
from firetrial_runner.sandbox.port import Waits


async def untold(what: str) -> None:
    """Tell nobody what the run waits for."""


@dataclass(slots=True)
class Grip:
    """`until` is the end of the lease as it was last renewed; `cancelled` is set when it is to end early.

    `waits` is told what the run waits for although it is carried out: a place for its sandbox.
    """

    until: datetime
    clock: Clock
    cancelled: asyncio.Event = field(default_factory=asyncio.Event)
    waits: Waits = untold

    def holds(self) -> bool:
        """Whether the run is nobody else's for certain: past its lease, another may have made a new attempt.

        A runner that stood still finds that out only some time after it goes on.
        """
        return self.clock.now() < self.until

    @asynccontextmanager
    async def letting_go_within(self, seconds: float) -> AsyncIterator[None]:
        """What is inside has so long to end once the run is cancelled; then raises TimeoutError."""
        async with asyncio.timeout(None) as limit:
            cutter = asyncio.create_task(self._cut(limit, seconds))
            try:
                yield
            finally:
                cutter.cancel()

    async def _cut(self, limit: asyncio.Timeout, seconds: float) -> None:
        await self.cancelled.wait()
        limit.reschedule(asyncio.get_running_loop().time() + seconds)
