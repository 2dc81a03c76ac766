"""Waiting for jobs: however many are waited for, the scheduler is asked once in a while about all of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import structlog

from firetrial_runner.schedulers.port import JobState, JobStatus, Scheduler, SchedulerError

Log = structlog.typing.FilteringBoundLogger


class JobWatch:
    """`run` asks every `every_s` seconds while somebody waits.

    A job counts as forgotten only when two answers in a row do not know it: some schedulers tell of a new job
    a moment late.
    """

    def __init__(self, scheduler: Scheduler, log: Log, every_s: float = 10.0) -> None:
        self._scheduler, self._log, self._every_s = scheduler, log, every_s
        self._waiting: dict[str, asyncio.Condition] = {}
        self._seen: dict[str, JobStatus] = {}
        self._unknown: dict[str, int] = {}

    async def run(self) -> None:
        """Ask again and again, until cancelled."""
        while True:
            await asyncio.sleep(self._every_s)
            if self._waiting:
                try:
                    await self.look()
                except SchedulerError as error:
                    self._log.warning("scheduler did not tell of jobs", error=error.message)

    async def look(self) -> None:
        """Ask once, about all that are waited for. Raises SchedulerError."""
        for id_, status in (await self._scheduler.statuses(list(self._waiting))).items():
            missed = self._unknown.get(id_, 0) + 1 if status.state is JobState.UNKNOWN else 0
            self._unknown[id_] = missed
            if missed == 1 or id_ not in self._waiting:
                continue
            self._seen[id_] = status
            async with self._waiting[id_]:
                self._waiting[id_].notify_all()

    async def until(self, id_: str, done: Callable[[JobStatus], bool]) -> JobStatus:
        """The first status seen of the job for which `done` is true. Waits without end."""
        condition = self._waiting.setdefault(id_, asyncio.Condition())
        try:
            async with condition:
                await condition.wait_for(lambda: id_ in self._seen and done(self._seen[id_]))
                return self._seen[id_]
        finally:
            for known in (self._waiting, self._seen, self._unknown):
                known.pop(id_, None)

    async def over(self, id_: str) -> JobStatus:
        """The status of a job that is neither queued nor active any more."""
        return await self.until(id_, lambda status: not status.state.lives)
