"""Waiting for many jobs by one question."""

from __future__ import annotations

import asyncio
from pathlib import Path

import structlog

from firetrial_runner.schedulers import JobSpec, JobState
from firetrial_runner.schedulers.fake import FakeScheduler
from firetrial_runner.schedulers.watch import JobWatch


async def submitted(scheduler: FakeScheduler, count: int) -> list[str]:
    return [await scheduler.submit(JobSpec("ft-1", ("/bin/true",), Path("/"), 60)) for _ in range(count)]


async def test_one_question_for_all() -> None:
    scheduler = FakeScheduler()
    watch, ids = JobWatch(scheduler, structlog.get_logger()), await submitted(scheduler, 5)
    waiting = [asyncio.create_task(watch.over(id_)) for id_ in ids]
    await asyncio.sleep(0)
    await watch.look()
    for id_ in ids:
        scheduler.put(id_, JobState.DONE)
    await watch.look()
    assert {(await one).state for one in waiting} == {JobState.DONE}
    assert scheduler.asked == 2
    await watch.look()


async def test_a_job_is_forgotten_only_when_it_is_missed_twice() -> None:
    scheduler = FakeScheduler()
    watch, (id_,) = JobWatch(scheduler, structlog.get_logger()), await submitted(scheduler, 1)
    waiting = asyncio.create_task(watch.over(id_))
    await asyncio.sleep(0)
    job = scheduler.jobs[id_]
    scheduler.forget(id_)
    await watch.look()
    scheduler.jobs[id_] = job
    await watch.look()
    scheduler.forget(id_)
    await watch.look()
    await asyncio.sleep(0)
    assert not waiting.done()
    await watch.look()
    assert (await waiting).state is JobState.UNKNOWN
