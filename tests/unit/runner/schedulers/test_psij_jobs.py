"""The scripts that PSI/J writes for a job."""

from __future__ import annotations

import os
import shlex
from io import StringIO
from pathlib import Path

import psij
import pytest

from firetrial_kit.errors import FiretrialError
from firetrial_runner.schedulers import JobSpec, SchedulerError, open_scheduler
from firetrial_runner.schedulers.psij_jobs import PsijScheduler, _spec

SPEC = JobSpec(
    "ft-gpu-1", ("/opt/python", "-m", "x", "it's"), Path("/shared"), 5400, cpus=4, memory_bytes=2**31, gpus=2,
    queue="long", account="lab", attributes={"qos": "low"}, env={"A": "1 2", "B": "$HOME"},
)  # fmt: skip


def script(name: str, folder: Path, spec: JobSpec = SPEC) -> list[str]:
    scheduler = open_scheduler(name, folder)
    assert isinstance(scheduler, PsijScheduler)
    executor, out, job = scheduler._executor, StringIO(), psij.Job(_spec(name, spec))
    executor.generate_submit_script(job, executor._create_script_context(job), out)
    return [line.strip() for line in out.getvalue().splitlines() if line.strip()]


def directives(lines: list[str], sign: str) -> set[str]:
    return {line.removeprefix(sign).strip() for line in lines if line.startswith(sign)}


def test_slurm(tmp_path: Path) -> None:
    lines = script("slurm", tmp_path)
    assert directives(lines, "#SBATCH") >= {
        '--job-name="ft-gpu-1"', '--chdir="/shared"', "--nodes=1", "--ntasks-per-node=1", "--cpus-per-task=4",
        "--gpus-per-task=2", "--mem=2097152K", "--time=1:30:0", '--partition="long"', '--account="lab"',
        '--qos="low"', "--export=NONE",
    }  # fmt: skip


def test_pbs(tmp_path: Path) -> None:
    lines = script("pbs", tmp_path)
    select = "-l select=1:ncpus=4:ngpus=2:mpiprocs=4:mem=2147483648"
    assert directives(lines, "#PBS") >= {'-N "ft-gpu-1"', select, "-l walltime=1:30:0", "-q long", "-A lab"}
    assert not any("-V" in line for line in directives(lines, "#PBS"))


def test_lsf(tmp_path: Path) -> None:
    told = directives(script("lsf", tmp_path), "#BSUB")
    assert told >= {'-J "ft-gpu-1"', "-n 4", '-gpu "num=2"', "-W 1:30", '-q "long"', "-env none"}


@pytest.mark.parametrize("name", ["slurm", "pbs", "lsf"])
def test_the_script_becomes_the_program(name: str, tmp_path: Path) -> None:
    launch = next(line for line in script(name, tmp_path) if line.startswith("exec /"))
    assert shlex.split(launch) == ["exec", "/usr/bin/env", "A=1 2", "B=$HOME", *SPEC.argv]


async def test_every_fault_of_a_job_is_told_at_once(tmp_path: Path) -> None:
    wrong = JobSpec(
        "1 job", ("python",), Path("x"), 0, cpus=0, memory_bytes=5, gpus=-1, queue="a b",
        attributes={"--x": 'a"b'}, env={"FIRETRIAL_S3_SECRET_KEY": "s3cr3t"},
    )  # fmt: skip
    with pytest.raises(FiretrialError) as refused:
        await open_scheduler("slurm", tmp_path).submit(wrong)
    assert {fault.field.partition("[")[0] for fault in refused.value.faults} == {
        "name", "argv", "folder", "wall_s", "cpus", "memory_bytes", "gpus", "queue", "attributes", "env",
    }  # fmt: skip
    assert "s3cr3t" not in refused.value.message


@pytest.mark.parametrize("script", ["", "echo Welcome to the cluster", "kill -9 $$"])
async def test_a_submission_that_tells_no_id_may_have_been_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str
) -> None:
    (tmp_path / "sbatch").write_text(f"#!/bin/sh\n{script}\n")
    (tmp_path / "sbatch").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(SchedulerError) as caught:
        await open_scheduler("slurm", tmp_path / "spool").submit(SPEC)
    assert not caught.value.refused
