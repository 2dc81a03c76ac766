"""One question for all jobs, fewer where the scheduler is slow or silent, none where there is no job."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from dataclasses import replace

import pytest

from firetrial_runner.sandbox.jobs.watching import Watched, Watching
from firetrial_runner.schedulers.fake import FakeScheduler
from firetrial_runner.schedulers.port import JobState, JobStatus, SchedulerError


class Slow(FakeScheduler):
    """Takes its time, or does not answer."""

    def __init__(self, takes_s: float = 0.0, silent: int = 0) -> None:
        super().__init__()
        self.takes_s, self.silent = takes_s, silent
        self.at: list[float] = []

    async def statuses(self, ids: Collection[str]) -> Mapping[str, JobStatus]:
        self.at.append(asyncio.get_running_loop().time())
        await asyncio.sleep(self.takes_s)
        if len(self.at) <= self.silent:
            raise SchedulerError("no answer", refused=False)
        return dict.fromkeys(ids, JobStatus(JobState.ACTIVE))


def status(state: JobState, **more: object) -> JobStatus:
    return replace(JobStatus(state), **more)  # type: ignore[arg-type]


async def test_all_jobs_are_asked_about_at_once_and_nobody_else() -> None:
    scheduler = Slow()
    look = Watching(scheduler, 60)
    with look.watching("1") as one, look.watching("2") as two:
        await asyncio.gather(one.changed.wait(), two.changed.wait())
        assert len(scheduler.at) == 1
        assert (one.status, two.status) == (status(JobState.ACTIVE),) * 2
    await asyncio.sleep(0.7)
    assert len(scheduler.at) == 1
    await look.aclose()


async def test_whoever_is_in_a_hurry_waits_half_a_second_at_most() -> None:
    scheduler = Slow()
    look = Watching(scheduler, 60)
    with look.watching("1"):
        for _ in range(20):
            look.hurry()
            await asyncio.sleep(0.06)
    await look.aclose()
    assert 2 <= len(scheduler.at) <= 4
    assert all(later - earlier >= 0.5 for earlier, later in zip(scheduler.at, scheduler.at[1:], strict=False))


@pytest.mark.parametrize("scheduler", [Slow(takes_s=0.2), Slow(silent=9)])
async def test_a_slow_or_silent_one_is_asked_less(scheduler: Slow) -> None:
    look = Watching(scheduler, 1)
    with look.watching("1"):
        for _ in range(20):
            look.hurry()
            await asyncio.sleep(0.1)
        assert bool(look.away) == bool(scheduler.silent)
    await look.aclose()
    assert len(scheduler.at) == 2


def test_a_job_that_is_missing_from_one_answer_is_not_gone() -> None:
    watched = Watched("1")
    watched.see(status(JobState.ACTIVE))
    watched.see(status(JobState.UNKNOWN))
    assert not watched.is_over
    watched.see(status(JobState.ACTIVE))
    watched.see(status(JobState.UNKNOWN))
    assert not watched.is_over
    watched.see(status(JobState.UNKNOWN))
    assert watched.is_over


def test_what_ran_is_over_where_its_job_is_put_back() -> None:
    watched = Watched("1")
    watched.see(status(JobState.QUEUED, restarts=1))
    assert watched.was_ended
    assert not watched.is_over


async def test_an_end_is_waited_for_so_long_at_most() -> None:
    look = Watching(Slow(), 60)
    with look.watching("1") as watched:
        begun = asyncio.get_running_loop().time()
        await look.end_of(watched, 0.3)
        assert 0.25 < asyncio.get_running_loop().time() - begun < 2
        assert not watched.was_ended
    await look.aclose()


async def test_one_that_is_away_for_days_is_still_asked() -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await Watching(FakeScheduler(), 5)._pause(took=0.1, unanswered=5_000)
