"""Jobs that are processes of this machine."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Collection
from pathlib import Path

import pytest

from firetrial_runner.schedulers import (
    JobSpec,
    JobState,
    JobStatus,
    Scheduler,
    SchedulerError,
    open_scheduler,
)

TAG = f"ft-local-{os.getpid()}-"


def job(folder: Path, name: str, program: str, wall_s: float = 60) -> JobSpec:
    return JobSpec(
        TAG + name, (sys.executable, "-c", program), folder, wall_s, env={"GREETING": "hello there"}
    )


async def over(scheduler: Scheduler, ids: Collection[str]) -> dict[str, JobStatus]:
    for _ in range(200):
        found = dict(await scheduler.statuses(ids))
        if not any(status.state.lives for status in found.values()):
            return found
        await asyncio.sleep(0.05)
    raise TimeoutError


async def test_how_jobs_end(tmp_path: Path) -> None:
    scheduler = open_scheduler("local", tmp_path)
    well = await scheduler.submit(job(tmp_path, "a", "import os; print(os.environ['GREETING'])"))
    ill = await scheduler.submit(job(tmp_path, "b", "exit(3)"))
    found = await over(scheduler, [well, ill, "1-1"])
    assert (found[well].state, found[well].exit_code) == (JobState.DONE, 0)
    assert (found[ill].state, found[ill].exit_code) == (JobState.FAILED, 3)
    assert found["1-1"].state is JobState.UNKNOWN
    assert (tmp_path / "local" / f"{TAG}a.out").read_text() == "hello there\n"


async def test_another_process_finds_and_cancels_them(tmp_path: Path) -> None:
    first, second = open_scheduler("local", tmp_path), open_scheduler("local", tmp_path)
    id_ = await first.submit(job(tmp_path, "c", "import time; time.sleep(60)"))
    for _ in range(100):  # until the program is the one that was asked for
        if await second.find(TAG):
            break
        await asyncio.sleep(0.05)
    assert [(found.id, found.status.state) for found in await second.find(TAG)] == [(id_, JobState.ACTIVE)]
    await second.cancel([id_], queued_only=True)
    assert (await second.statuses([id_]))[id_].state is JobState.ACTIVE
    await second.cancel([id_])
    assert (await over(first, [id_]))[id_].exit_code == 143


async def test_one_whose_time_is_over_is_told_to_end(tmp_path: Path) -> None:
    scheduler = open_scheduler("local", tmp_path)
    id_ = await scheduler.submit(job(tmp_path, "d", "import time; time.sleep(60)", wall_s=1))
    assert (await over(scheduler, [id_]))[id_].state is JobState.FAILED


async def test_a_program_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SchedulerError) as refused:
        await open_scheduler("local", tmp_path).submit(JobSpec(TAG + "e", ("/nowhere",), tmp_path, 60))
    assert refused.value.refused


async def test_a_disk_that_is_full_is_a_refusal(tmp_path: Path) -> None:
    (tmp_path / "local").write_text("no folder can be made here")
    with pytest.raises(SchedulerError) as refused:
        await open_scheduler("local", tmp_path).submit(job(tmp_path, "f", ""))
    assert refused.value.refused


def pretender(until: str, *before: str) -> subprocess.Popen[bytes]:
    """A process with a job's environment that leads its session, once it says so."""
    told = [f"FIRETRIAL_JOB_NAME={TAG}pretender", f"FIRETRIAL_JOB_UNTIL={until}"]
    argv = [*before, "setsid", "env", *told, "sh", "-c", "echo up; read go"]
    process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None
    if process.stdout.readline() != b"up\n":
        process.communicate()
        pytest.skip(f"no {before} here")
    return process


@pytest.mark.parametrize(
    ("until", "before"),
    [("whenever", ()), ("9e9", ("unshare", "--user", "--pid", "--fork", "--map-root-user"))],
)
async def test_a_stranger_that_looks_like_a_job_is_none(
    tmp_path: Path, until: str, before: tuple[str, ...]
) -> None:
    """As an agent in its sandbox could: its environment is its own, and it leads a session if it likes."""
    process = await asyncio.to_thread(pretender, until, *before)
    try:
        assert await open_scheduler("local", tmp_path).find(f"{TAG}pretender") == []
    finally:
        process.communicate()
