"""Sees to a pool's pilots: looks, submits, cancels, and writes down before it does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

import structlog

from firetrial_kit.clock import Clock
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.ids import digest
from firetrial_kit.records import Records
from firetrial_runner.pilots.course import Aim, Course, course
from firetrial_runner.pilots.ledger import Ledger
from firetrial_runner.pilots.pilot_metrics import PilotMetrics
from firetrial_runner.schedulers.port import Job, JobSpec, JobState, Scheduler, SchedulerError

_PAUSES_S = (5, 10, 30, 60, 120, 300, 900)
"""Seconds without a submission after the first failure in a row, the second, …; the last goes on."""
_PROVEN_S = 60.0
"""Seconds after which an active pilot shows that pilots can start."""


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
    """`spec` makes the job of a name. `holder` is this process; it holds the pool for `ttl_s` at a time.

    `gone` says of another holder whether it is known to live no more.
    """

    pool: str
    aim: Aim
    scheduler: Scheduler
    work: Work
    ledgers: Records[Ledger]
    spec: Callable[[str], JobSpec]
    clock: Clock
    metrics: PilotMetrics
    log: structlog.typing.FilteringBoundLogger
    holder: str
    ttl_s: float
    gone: Callable[[str], bool] = lambda _: False
    _failures: int = 0
    _not_before: float = 0.0
    # Jobs that were over when they were last looked at, and since when others are active.
    _over: set[str] | None = None
    _active: dict[str, float] = field(default_factory=dict)

    async def go_round(self) -> Round:
        """Look once and do what is to be done. Raises HeldError, SchedulerError, or UNAVAILABLE."""
        ledger = await self._change(lambda ledger: ledger)
        work = await self.work.count(self.pool)
        jobs = await self.scheduler.find(ledger.tag)
        self._learn(jobs)
        todo = course(self.aim, work, jobs, ledger, self.clock.now())
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
                id_ = await self.scheduler.submit(self.spec(name))
            except FiretrialError as error:
                if not isinstance(error, SchedulerError) or error.refused:
                    await self._change(partial(Ledger.without, names=(name,)))
                self._failed()
                self.metrics.submitted("refused" if not error.retryable else "unknown")
                self.log.warning("pilot not submitted", name=name, error=error.message, pause_s=self._pause())
                return tuple(taken), error.message
            await self._change(partial(Ledger.submitted, name=name, job_id=id_))
            self.metrics.submitted("taken")
            self.log.info("pilot submitted", name=name, job=id_, tag=ledger.tag)
            taken.append(id_)
        return tuple(taken), ""

    def _learn(self, jobs: list[Job]) -> None:
        """Pilots that could not do anything make us wait; one that goes on, or ended well, ends that."""
        now = self.clock.monotonic()
        over = {job.id: job for job in jobs if not job.status.state.lives}
        for id_ in over.keys() - (over.keys() if self._over is None else self._over):
            job = over[id_]
            self.metrics.ended(job.status.state)
            self.log.info(
                "pilot ended", name=job.name, job=id_, state=job.status.state, told=job.status.detail
            )
            if job.status.state is JobState.FAILED:
                self._failed()
            elif job.status.state is JobState.DONE:
                self._failures = 0
        self._over = set(over)
        active = [job.id for job in jobs if job.status.state is JobState.ACTIVE]
        self._active = {id_: self._active.get(id_, now) for id_ in active}
        if any(now - since > _PROVEN_S for since in self._active.values()):
            self._failures = 0

    def _failed(self) -> None:
        pause = _PAUSES_S[min(self._failures, len(_PAUSES_S) - 1)]
        self._failures += 1
        self._not_before = self.clock.monotonic() + pause

    def _pause(self) -> float:
        """Seconds for which nothing is submitted."""
        return max(0.0, self._not_before - self.clock.monotonic())

    async def _change(self, change: Callable[[Ledger], Ledger]) -> Ledger:
        """Change the ledger, holding the pool anew. Raises HeldError where another holds it."""
        now = self.clock.now()
        await self.ledgers.create(self.pool, Ledger(self.pool, digest(self.holder, str(now), length=6)))

        def changed(ledger: Ledger) -> Ledger:
            if ledger.held_by_other(self.holder, now) and not self.gone(ledger.holder):
                raise HeldError(ledger)
            return change(ledger.held(self.holder, now, self.ttl_s))

        return await self.ledgers.change(self.pool, changed)
