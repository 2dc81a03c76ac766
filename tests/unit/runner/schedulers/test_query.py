"""What schedulers tell of jobs. Slurm's answers are recorded; PBS's and LSF's follow their manuals."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from firetrial_runner.schedulers import JobState, JobStatus, Scheduler, SchedulerError, open_scheduler
from firetrial_runner.schedulers.query import LsfQuery, lsf_job, pbs_job, slurm_job


def slurm(state: object, **more: object) -> JobStatus:
    told = {"job_id": 7, "name": "ft-1", "job_state": state, "state_reason": "None", "nodes": "", **more}
    job = slurm_job(told)
    assert (job.id, job.name) == ("7", "ft-1")
    return job.status


@pytest.mark.parametrize(
    ("word", "state"),
    [
        ("PENDING", JobState.QUEUED),
        ("REQUEUE_HOLD", JobState.QUEUED),
        ("RUNNING", JobState.ACTIVE),
        ("COMPLETING", JobState.ACTIVE),
        ("COMPLETED", JobState.DONE),
        ("OUT_OF_MEMORY", JobState.FAILED),
        ("CANCELLED", JobState.CANCELLED),
        ("PREEMPTED", JobState.PREEMPTED),
        ("TIMEOUT", JobState.TIMEOUT),
        ("NODE_FAIL", JobState.NODE_FAIL),
    ],
)
def test_states_of_slurm(word: str, state: JobState) -> None:
    assert slurm(word).state is state
    assert slurm([word]).state is state


def test_a_state_that_nobody_knows_may_be_a_job_that_runs() -> None:
    assert slurm("HIBERNATING").state is JobState.ACTIVE


def test_one_that_is_being_ended_still_has_its_node() -> None:
    assert slurm(["COMPLETED", "COMPLETING"]).state is JobState.ACTIVE


@pytest.mark.parametrize(
    ("told", "code"),
    [
        (0, 0),
        (256, 1),
        (768, 3),
        (15, 143),
        ({"status": ["ERROR"], "return_code": {"set": True, "infinite": False, "number": 3}}, 3),
        ({"return_code": {"set": False, "number": 0}, "signal": {"id": {"set": True, "number": 9}}}, 137),
    ],
)
def test_exit_codes_of_slurm(told: Any, code: int) -> None:
    assert slurm("COMPLETED" if code == 0 else "FAILED", exit_code=told).exit_code == code
    assert slurm("CANCELLED", exit_code=told).exit_code is None


def test_a_requeued_job_waits_again() -> None:
    old = slurm("PENDING", restart_cnt=2, state_reason="BeginTime")
    assert (old.state, old.restarts, old.detail) == (JobState.QUEUED, 2, "PENDING: BeginTime")
    assert slurm(["PENDING"], restart_cnt={"set": True, "number": 2}).restarts == 2


@pytest.mark.parametrize(
    ("told", "state", "code"),
    [
        ({"job_state": "Q"}, JobState.QUEUED, None),
        ({"job_state": "H"}, JobState.QUEUED, None),
        ({"job_state": "R", "exec_host": "n1/0"}, JobState.ACTIVE, None),
        ({"job_state": "F", "Exit_status": 0}, JobState.DONE, 0),
        ({"job_state": "F", "Exit_status": 3}, JobState.FAILED, 3),
        ({"job_state": "F", "Exit_status": 271}, JobState.CANCELLED, None),
        ({"job_state": "F"}, JobState.CANCELLED, None),
        (
            {"job_state": "F", "Exit_status": 271, "comment": "job killed: walltime 61 exceeded limit 60"},
            JobState.TIMEOUT,
            None,
        ),
    ],
)
def test_jobs_of_pbs(told: dict[str, Any], state: JobState, code: int | None) -> None:
    job = pbs_job("12.server", {"Job_Name": "ft-1", "run_count": 2, **told})
    assert (job.id, job.name) == ("12.server", "ft-1")
    assert (job.status.state, job.status.exit_code, job.status.restarts) == (state, code, 1)


@pytest.mark.parametrize(
    ("word", "code", "reason", "state"),
    [
        ("PEND", "", "", JobState.QUEUED),
        ("RUN", "", "", JobState.ACTIVE),
        ("DONE", "", "", JobState.DONE),
        ("EXIT", "3", "", JobState.FAILED),
        ("EXIT", "130", "TERM_OWNER: job killed by owner", JobState.CANCELLED),
        ("EXIT", "140", "TERM_RUNLIMIT: job killed after reaching LSF run time limit", JobState.TIMEOUT),
        ("EXIT", "140", "TERM_PREEMPT: job killed after preemption", JobState.PREEMPTED),
    ],
)
def test_jobs_of_lsf(word: str, code: str, reason: str, state: JobState) -> None:
    told = {"JOBID": "5", "STAT": word, "JOB_NAME": "ft-1", "EXIT_CODE": code, "EXIT_REASON": reason}
    found = lsf_job({**told, "EXEC_HOST": "n1"})
    assert (found.name, found.status.state) == ("ft-1", state)
    assert found.status.exit_code == {JobState.DONE: 0, JobState.FAILED: 3}.get(state)


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Makes a program of a scheduler that does what a script says."""
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")

    def make(name: str, script: str) -> None:
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)

    return make


@pytest.mark.parametrize(
    ("scheduler", "program", "said"),
    [
        ("slurm", "squeue", '{"jobs": [{"job_id": 7}]}'),
        ("slurm", "squeue", '{"jobs": null}'),
        ("slurm", "squeue", '{"jobs": ["7"]}'),
        ("pbs", "qstat", '{"Jobs": {"7.pbs": "R"}}'),
        ("lsf", "bjobs", '{"RECORDS": [{"JOBID": "7"}]}'),
        ("flux", "flux", '{"jobs": [{"id": "f1", "state": "INACTIVE"}]}'),
        ("flux", "flux", '{"jobs": [{"id": "f0O", "state": "RUN", "name": "x"}]}'),
    ],
)
async def test_what_makes_no_sense_is_no_answer(
    command: Callable[[str, str], None], tmp_path: Path, scheduler: str, program: str, said: str
) -> None:
    command(program, f"echo '{said}'")
    found: Scheduler = open_scheduler(scheduler, tmp_path / "spool")
    with pytest.raises(SchedulerError, match="no sense") as caught:
        await found.find("ft-")
    assert not caught.value.refused


async def test_who_has_no_jobs_in_lsf_is_told_so_by_a_failure(command: Callable[[str, str], None]) -> None:
    command("bjobs", "echo 'No job found' >&2; exit 255")
    assert await LsfQuery().jobs() == []
