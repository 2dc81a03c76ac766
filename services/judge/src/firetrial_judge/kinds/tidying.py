"""What a judge does every few minutes: nothing waits for ever, and nothing lies in `sealed` for ever."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import structlog

from firetrial_judge.kinds.lent import Lent
from firetrial_judge.kinds.sealing import Sealing
from firetrial_kit.errors import FiretrialError

_EVERY_S = 300.0


@dataclass(frozen=True, slots=True)
class Tidying:
    sealing: Sealing
    lent: Lent
    log: structlog.typing.FilteringBoundLogger

    async def run(self) -> None:
        """Now and every five minutes, until cancelled. A store or broker that is away is waited for."""
        while True:
            try:
                await self.lent.sweep()
                await self.sealing.expire()
            except FiretrialError as error:
                self.log.warning("not tidied", error=error.message)
            await asyncio.sleep(_EVERY_S)
