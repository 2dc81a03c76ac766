"""What is to be done about a pool's pilots, from what there is of work and of jobs."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from firetrial_runner.pilots.ledger import HELD_S, Ledger
from firetrial_runner.schedulers.port import Job, JobState


@dataclass(frozen=True, slots=True)
class Aim:
    """How many pilots there may be.

    slots: runs that one has in hand at a time. beside: runs that the pool's runners which are no pilots have
    room for.
    """

    most: int
    least: int = 0
    slots: int = 1
    beside: int = 0

    def wanted(self, work: int) -> int:
        """Pilots for so much work, waiting or in hand."""
        return min(self.most, max(self.least, math.ceil(max(0, work - self.beside) / self.slots)))


@dataclass(frozen=True, slots=True)
class Course:
    """`submit` are names, `cancel` ids of jobs; `settled` are names whose jobs are there, or will not be."""

    wanted: int
    queued: tuple[Job, ...]
    active: tuple[Job, ...]
    intended: tuple[str, ...]
    submit: tuple[str, ...]
    cancel: tuple[str, ...]
    settled: tuple[str, ...]


def course(aim: Aim, work: int, jobs: Iterable[Job], ledger: Ledger, now: datetime) -> Course:
    """What to do. Active pilots are left alone whatever comes: they leave when they are idle.

    Never more than `aim.most` are submitted, active or intended; a queued job is given up where its berth is
    taken by another job, where it is above the maximum, or where there is no work for it.
    """
    jobs = [job for job in jobs if ledger.number(job.name)]
    jobs.sort(key=lambda job: (ledger.number(job.name), job.id))
    active = [job for job in jobs if job.status.state is JobState.ACTIVE]
    queued = [job for job in jobs if job.status.state is JobState.QUEUED]
    settled = [name for name in ledger.intended if _clear(name, jobs, ledger, now)]
    intended = [name for name in ledger.intended if name not in settled]
    wanted = aim.wanted(work)
    taken = {job.name for job in active} | set(intended)
    cancel: list[str] = []
    kept = 0
    for job in queued:
        beyond = len(active) + len(intended) + kept >= wanted
        if job.name in taken or ledger.number(job.name) > aim.most or beyond:
            cancel.append(job.id)
        else:
            kept += 1
            taken.add(job.name)
    # A job that is being cancelled has its name until the next look.
    named = {ledger.number(job.name) for job in (*active, *queued)} | set(map(ledger.number, intended))
    free = [number for number in range(1, aim.most + 1) if number not in named]
    short = max(0, wanted - len(active) - kept - len(intended))
    submit = [ledger.berth(number) for number in free[:short]]
    return Course(
        wanted, tuple(queued), tuple(active), tuple(intended), tuple(submit), tuple(cancel), tuple(settled)
    )


def _clear(name: str, jobs: list[Job], ledger: Ledger, now: datetime) -> bool:
    """Whether the job is there by now, or has never been submitted."""
    intention = ledger.intended[name]
    if abs((now - intention.at).total_seconds()) > HELD_S:  # it is long ago, or the clock was set back
        return True
    if intention.job_id:
        return any(job.id == intention.job_id for job in jobs)
    return any(job.name == name and job.status.state.lives for job in jobs)
