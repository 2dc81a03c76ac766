"""Sees to a pool's pilots: looks, submits, cancels, and writes down before it does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import structlog

from firetrial_kit.clock import Clock
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.records import Records
from firetrial_runner.pilots.course import Aim, Course, course
from firetrial_runner.pilots.ledger import Ledger
from firetrial_runner.pilots.pilot_metrics import PilotMetrics
from firetrial_runner.schedulers.port import Job, JobSpec, JobState, Scheduler, SchedulerError

_PAUSES_S = (5, 10, 30, 60, 120, 300, 900)
"""Seconds without a submission after the first pilot in a row that was of no use, the second, …"""


class Work(Protocol):
    """What there is to do."""

    async def count(self, pool: str) -> int:
        """Runs and tests that wait for the pool or are in hand. Raises UNAVAILABLE."""
        ...


class HeldError(FiretrialError):
    """Another sees to the pool."""

    def __init__(self, ledger: Ledger) -> None:
        told = f"the pool {ledger.pool!r} is seen to by another `firetrial pilots`: {ledger.holder}"
        super().__init__(Reason.PRECONDITION, told)


@dataclass(frozen=True, slots=True)
class Round:
    """What was seen and done, to jobs by their ids. For `pause_s` seconds nothing is submitted."""

    course: Course
    work: int
    submitted: tuple[str, ...] = ()
    cancelled: tuple[str, ...] = ()
    trouble: str = ""
    pause_s: float = 0.0


@dataclass(slots=True)
class Fleet:
    """`spec` makes the job of a name and a mark. `holder`, this process, has the pool for `ttl_s` at a time.

    `site` is the same for all of an installation, and another one's is not.

    `gone` says of another holder whether it is known to live no more.
    """

    pool: str
    aim: Aim
    scheduler: Scheduler
    work: Work
    ledgers: Records[Ledger]
    spec: Callable[[str, int], JobSpec]
    clock: Clock
    metrics: PilotMetrics
    log: structlog.typing.FilteringBoundLogger
    site: str
    holder: str
    ttl_s: float
    gone: Callable[[str], bool] = lambda _: False
    _useless: int = 0
    _not_before: float = 0.0
    # What was there when it was last looked: jobs that were over, and work.
    _over: set[str] | None = None
    _work: int = 0

    async def go_round(self) -> Round:
        """Look once and do what is to be done. Raises HeldError, SchedulerError, or UNAVAILABLE."""
        ledger = await self._change(lambda ledger: ledger)
        work = await self.work.count(self.pool)
        jobs = await self.scheduler.find(ledger.tag)
        todo = course(self.aim, work, jobs, ledger, self.clock.now())
        self._learn(jobs, work, wanting=bool(todo.submit))
        if todo.settled:
            await self._change(partial(Ledger.without, names=todo.settled))
        await self.scheduler.cancel(todo.cancel, queued_only=True)
        submitted, trouble = await self._submit(todo.submit)
        self.metrics.seen(todo, len(submitted), work)
        return Round(todo, work, submitted, todo.cancel, trouble, self._pause())

    async def leave(self) -> None:
        """Let go of the pool; its pilots stay, and leave when they are idle."""
        now = self.clock.now()
        if await self.ledgers.find(self.pool) is not None:
            await self.ledgers.change(self.pool, lambda ledger: ledger.let_go(self.holder, now))

    async def _submit(self, names: tuple[str, ...]) -> tuple[tuple[str, ...], str]:
        """The ids of the jobs that were taken, and what was wrong with the one after them."""
        taken: list[str] = []
        for name in names if not self._pause() else ():
            now = self.clock.now()
            ledger = await self._change(partial(Ledger.intending, name=name, now=now))
            try:
                id_ = await self.scheduler.submit(self.spec(name, ledger.marks[name]))
            except FiretrialError as error:
                if not isinstance(error, SchedulerError) or error.refused:
                    await self._change(partial(Ledger.without, names=(name,)))
                self._wait()
                self.metrics.submitted("refused" if not error.retryable else "unknown")
                self.log.warning("pilot not submitted", name=name, error=error.message, pause_s=self._pause())
                return tuple(taken), error.message
            await self._change(partial(Ledger.submitted, name=name, job_id=id_))
            self.metrics.submitted("taken")
            self.log.info("pilot submitted", name=name, job=id_, tag=ledger.tag)
            taken.append(id_)
        return tuple(taken), ""

    def _learn(self, jobs: list[Job], work: int, *, wanting: bool) -> None:
        """Wait longer and longer while pilots are of no use, until work gets less.

        Of no use is one that failed, or that left of its own accord while it was wanted: what waits is
        nothing for such pilots, for want of time, of GPUs or the like.
        """
        over = {job.id: job for job in jobs if not job.status.state.lives}
        ended = [job for id_, job in over.items() if self._over is not None and id_ not in self._over]
        if work < self._work:
            self._useless = 0
        for job in ended:
            told = job.status
            self.metrics.ended(told.state)
            self.log.info("pilot ended", name=job.name, job=job.id, state=told.state, told=told.detail)
        states = {job.status.state for job in ended}
        if JobState.FAILED in states or (JobState.DONE in states and wanting):
            self._wait()
        self._over, self._work = set(over), work

    def _wait(self) -> None:
        self._not_before = self.clock.monotonic() + _PAUSES_S[min(self._useless, len(_PAUSES_S) - 1)]
        self._useless += 1

    def _pause(self) -> float:
        """Seconds for which nothing is submitted."""
        return max(0.0, self._not_before - self.clock.monotonic())

    async def _change(self, change: Callable[[Ledger], Ledger]) -> Ledger:
        """Change the ledger, holding the pool anew. Raises HeldError where another holds it."""
        now = self.clock.now()
        await self.ledgers.create(self.pool, Ledger(self.pool, self.site))

        def changed(ledger: Ledger) -> Ledger:
            if ledger.held_by_other(self.holder, now) and not self.gone(ledger.holder):
                raise HeldError(ledger)
            return change(ledger.held(self.holder, now, self.ttl_s))

        return await self.ledgers.change(self.pool, changed)
