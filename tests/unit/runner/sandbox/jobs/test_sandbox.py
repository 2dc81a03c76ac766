"""Jobs that never begin, and those of which a dead runner has left only their names."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Collection
from pathlib import Path

import pytest

from firetrial_runner.sandbox.jobs import job as jobs
from firetrial_runner.sandbox.jobs.job import ID, LOG, OWN_BYTES, Terms, tag
from firetrial_runner.sandbox.jobs.order import Inner
from firetrial_runner.sandbox.jobs.sandbox import JobSandbox
from firetrial_runner.sandbox.port import MIB, Limits, SandboxError, SandboxSpec
from firetrial_runner.schedulers.fake import FakeScheduler
from firetrial_runner.schedulers.port import Job, JobSpec, JobState, SchedulerError
from support.greeter import Greeter

FOLDER = "r-1.lease-1"


@pytest.fixture
def scheduler() -> FakeScheduler:
    return FakeScheduler()


@pytest.fixture
async def sandbox(scheduler: FakeScheduler, tmp_path: Path) -> AsyncIterator[JobSandbox]:
    terms = Terms(sys.executable, Inner("bubblewrap"), "gpu", "lab", {"qos": "low"}, queue_s=2, again_s=0.05)
    found = JobSandbox(scheduler, tmp_path / "jobs", terms, every_s=0.5)
    yield found
    await found.aclose()


def spec(folder: Path, **more: object) -> SandboxSpec:
    limits = Limits(wall_s=100, cpus=1.5, memory_bytes=100 * MIB)
    return SandboxSpec("r-1", "lease-1", ("true",), folder, limits=limits, **more)  # type: ignore[arg-type]


async def submitted(scheduler: FakeScheduler) -> str:
    """The id of the one job, once there is one."""
    async with asyncio.timeout(20):
        while not scheduler.jobs:
            await asyncio.sleep(0.01)
    (id_,) = scheduler.jobs
    return id_


async def asked_for(sandbox: JobSandbox, scheduler: FakeScheduler, spec: SandboxSpec) -> JobSpec:
    starting = asyncio.create_task(sandbox.start(spec))
    asked = scheduler.specs[await submitted(scheduler)]
    starting.cancel()
    await asyncio.gather(starting, return_exceptions=True)
    return asked


async def test_a_job_asks_for_what_its_run_may_use_and_what_keeps_it(
    sandbox: JobSandbox, scheduler: FakeScheduler, tmp_path: Path
) -> None:
    asked = await asked_for(sandbox, scheduler, spec(tmp_path))
    assert (asked.cpus, asked.memory_bytes, asked.wall_s) == (2, 100 * MIB + OWN_BYTES, 100 + jobs.GRACE_S)
    assert (asked.queue, asked.account, asked.attributes) == ("gpu", "lab", {"qos": "low"})
    assert asked.name.startswith(tag("r-1", "lease-1"))
    assert set(asked.env) == {"PATH"}
    assert not scheduler.living()


async def test_one_whose_clock_may_stand_has_twice_the_time(
    sandbox: JobSandbox, scheduler: FakeScheduler, tmp_path: Path
) -> None:
    asked = await asked_for(sandbox, scheduler, spec(tmp_path, gateway=Greeter("one")))
    assert asked.wall_s == 200 + jobs.GRACE_S


async def test_a_job_that_ends_before_it_calls_says_why(
    sandbox: JobSandbox, scheduler: FakeScheduler, tmp_path: Path
) -> None:
    starting = asyncio.create_task(sandbox.start(spec(tmp_path)))
    id_ = await submitted(scheduler)
    (tmp_path / "jobs" / FOLDER / LOG).write_text("ConnectionRefusedError: login1:8470")
    scheduler.put(id_, JobState.FAILED)
    with pytest.raises(SandboxError, match=r"fake's job 1 ended before it called: FAILED: Connection.*8470"):
        await starting
    assert await sandbox.leftovers() == []


async def test_a_job_that_gets_no_place_is_given_up(
    sandbox: JobSandbox, scheduler: FakeScheduler, tmp_path: Path
) -> None:
    waits: list[str] = []

    async def note(what: str) -> None:
        waits.append(what)

    with pytest.raises(SandboxError, match="no place within 2 s"):
        await sandbox.start(spec(tmp_path, waits=note))
    assert waits == ["its place as fake's job 1 (QUEUED)"]
    assert not scheduler.living()
    assert await sandbox.leftovers() == []


async def test_a_refusal_is_told(sandbox: JobSandbox, scheduler: FakeScheduler, tmp_path: Path) -> None:
    scheduler.trouble = SchedulerError("no such account", refused=True)
    with pytest.raises(SandboxError, match="no such account"):
        await sandbox.start(spec(tmp_path))
    assert await sandbox.leftovers() == []


@pytest.mark.parametrize("taken", [False, True])
async def test_a_submission_without_an_answer_makes_one_job(
    sandbox: JobSandbox,
    scheduler: FakeScheduler,
    tmp_path: Path,
    taken: bool,
) -> None:
    scheduler.trouble, scheduler.taken_all_the_same = SchedulerError("no answer", refused=False), taken
    await asked_for(sandbox, scheduler, spec(tmp_path))
    assert len(scheduler.jobs) == 1
    assert not scheduler.living()
    assert await sandbox.leftovers() == []


@pytest.mark.parametrize("noted", [False, True])
async def test_a_job_of_a_dead_runner_is_found_and_cancelled(
    sandbox: JobSandbox,
    scheduler: FakeScheduler,
    tmp_path: Path,
    noted: bool,
) -> None:
    for lease in ("lease-1", "lease-2"):
        name = f"{tag('r-1', lease)}-r-1"
        id_ = await scheduler.submit(JobSpec(name, (sys.executable,), tmp_path, 60))
        folder = tmp_path / "jobs" / f"r-1.{lease}"
        folder.mkdir(parents=True)
        if noted:
            (folder / jobs.ID).write_text(id_)
    (gone,) = await sandbox.reap({"lease-1"})
    assert (gone.run_key, gone.lease, gone.what) == ("r-1", "lease-1", "job 1" if noted else "job")
    assert [job.id for job in scheduler.living()] == ["2"]
    assert {left.lease for left in await sandbox.leftovers()} == {"lease-2"}


class Deaf(FakeScheduler):
    """Takes jobs, and does not end them until it hears."""

    hears = False

    async def cancel(self, ids: Collection[str], *, queued_only: bool = False) -> None:
        if self.hears:
            await super().cancel(ids, queued_only=queued_only)


async def test_a_job_that_cannot_be_ended_is_ended_later(tmp_path: Path) -> None:
    scheduler = Deaf()
    terms = Terms(sys.executable, Inner("bubblewrap"), queue_s=0.2, ended_s=0.2)
    sandbox = JobSandbox(scheduler, tmp_path / "jobs", terms, every_s=0.5)
    with pytest.raises(SandboxError, match="no place"):
        await sandbox.start(spec(tmp_path))
    assert len(await sandbox.leftovers()) == len(scheduler.living()) == 1
    scheduler.hears = True
    assert [left.lease for left in await sandbox.reap(())] == ["lease-1"]
    assert not scheduler.living()
    assert await sandbox.reap(()) == await sandbox.leftovers() == []
    await sandbox.aclose()


async def test_a_run_is_not_started_twice_under_one_lease(sandbox: JobSandbox, tmp_path: Path) -> None:
    (tmp_path / "jobs" / FOLDER).mkdir(parents=True)
    with pytest.raises(SandboxError, match="already here"):
        await sandbox.start(spec(tmp_path))


async def test_a_disk_that_is_full_loses_no_job(
    sandbox: JobSandbox, scheduler: FakeScheduler, tmp_path: Path
) -> None:
    """Its id cannot be noted: it is seen to all the same."""
    starting = asyncio.create_task(sandbox.start(spec(tmp_path)))
    noted = tmp_path / "jobs" / FOLDER / ID
    async with asyncio.timeout(20):
        while not noted.parent.exists():
            await asyncio.sleep(0)
    noted.mkdir()
    await submitted(scheduler)
    starting.cancel()
    await asyncio.gather(starting, return_exceptions=True)
    assert not scheduler.living()
    assert not noted.parent.exists()


class Away(FakeScheduler):
    """Answers nothing."""

    async def find(self, tag: str) -> list[Job]:
        raise SchedulerError("no answer", refused=False)


async def test_what_a_dead_runner_left_waits_for_a_scheduler_that_is_away(tmp_path: Path) -> None:
    (tmp_path / "jobs" / FOLDER).mkdir(parents=True)
    found = JobSandbox(Away(), tmp_path / "jobs", Terms(sys.executable, Inner("bubblewrap")), every_s=0.5)
    assert await found.reap({"lease-1"}) == []
    assert len(await found.leftovers()) == 1
    await found.aclose()


async def test_all_that_a_dead_runner_left_are_waited_for_together(tmp_path: Path) -> None:
    scheduler = Deaf()
    terms = Terms(sys.executable, Inner("bubblewrap"), ended_s=1)
    found = JobSandbox(scheduler, tmp_path / "jobs", terms, every_s=0.5)
    for number in range(30):
        id_ = await scheduler.submit(JobSpec(f"ft-{number}", ("/bin/true",), tmp_path, 60))
        (folder := tmp_path / "jobs" / f"r-{number}.lease-1").mkdir(parents=True)
        (folder / ID).write_text(id_)
    async with asyncio.timeout(20):
        assert await found.reap({"lease-1"}) == []
    await found.aclose()
