"""What the scheduler says of a runner's jobs: one question for all of them, as often as it can bear."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from firetrial_runner.schedulers.port import JobState, JobStatus, Scheduler, SchedulerError

EVERY_S = 5.0
_MOST_S = 60.0
_LEAST_S = 0.5
"""Seconds between two questions, however much someone wants to know."""
_SHARE = 20
"""Of the time, the part that may go into answering: a controller that takes a second is asked every 20."""
_DOUBLED = 10
"""How often the pause doubles for a scheduler that does not answer, which may be away for days."""
_FORGOTTEN = 2
"""Answers in a row without a job that is not found any more: a new one may be missing from one."""


class Watched:
    """A job that is watched; `status` is the newest answer, and None before the first."""

    def __init__(self, id_: str) -> None:
        self.id = id_
        self.status: JobStatus | None = None
        self.changed = asyncio.Event()
        self._missing = 0

    def see(self, status: JobStatus) -> None:
        self._missing = self._missing + 1 if status.state is JobState.UNKNOWN else 0
        if status == self.status or 0 < self._missing < _FORGOTTEN:
            return
        self.status = status
        self.changed.set()

    @property
    def is_over(self) -> bool:
        """Whether nothing of it lives."""
        return self.status is not None and not self.status.state.lives

    @property
    def was_ended(self) -> bool:
        """The same of what it ran: one that is put back into the queue starts with nothing."""
        return self.is_over or (self.status is not None and self.status.restarts > 0)


class Watching:
    """Asks while anyone watches. `every_s` is the pace of a scheduler that answers at once."""

    def __init__(self, scheduler: Scheduler, every_s: float = EVERY_S) -> None:
        self._scheduler, self._every_s = scheduler, every_s
        self._watched: set[Watched] = set()
        self._wanted = asyncio.Event()
        self._asking: asyncio.Task[None] | None = None
        self.away = ""

    @contextmanager
    def watching(self, id_: str) -> Iterator[Watched]:
        """Keep an eye on a job while inside."""
        watched = Watched(id_)
        self._watched.add(watched)
        if self._asking is None or self._asking.done():
            self._asking = asyncio.create_task(self._ask())
        self.hurry()
        try:
            yield watched
        finally:
            self._watched.discard(watched)

    def hurry(self) -> None:
        """Something has happened: the next question is due."""
        self._wanted.set()

    async def end_of(self, watched: Watched, patience_s: float, *, for_good: bool = False) -> None:
        """Wait for the end of what a job ran, or of the job `for_good`; so long at most."""
        with suppress(TimeoutError):
            async with asyncio.timeout(patience_s):
                while not (watched.is_over if for_good else watched.was_ended):
                    self.hurry()
                    with suppress(TimeoutError):
                        async with asyncio.timeout(_LEAST_S):
                            await watched.changed.wait()
                    watched.changed.clear()

    async def aclose(self) -> None:
        if self._asking is not None:
            self._asking.cancel()
            await asyncio.gather(self._asking, return_exceptions=True)

    async def _ask(self) -> None:
        loop, unanswered = asyncio.get_running_loop(), 0
        while self._watched:
            self._wanted.clear()
            begun = loop.time()
            try:
                answers = await self._scheduler.statuses([watched.id for watched in self._watched])
            except SchedulerError as e:
                self.away, unanswered = e.message, unanswered + 1
            else:
                self.away, unanswered = "", 0
                for watched in list(self._watched):
                    if watched.id in answers:
                        watched.see(answers[watched.id])
            took = loop.time() - begun
            await self._pause(took, unanswered)

    async def _pause(self, took: float, unanswered: int) -> None:
        """Until the next question is due: soon where it is wanted, unless the scheduler is slow or silent."""
        times = 2 ** min(unanswered, _DOUBLED)
        usual = min(_MOST_S, max(self._every_s, _SHARE * took) * times)
        soonest = min(usual, max(_LEAST_S, _SHARE * took / 4) * times)
        await asyncio.sleep(soonest)
        with suppress(TimeoutError):
            async with asyncio.timeout(usual - soonest):
                await self._wanted.wait()
