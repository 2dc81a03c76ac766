"""The settings of a runner whose sandbox is a scheduler's job."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Literal

from pydantic import Field, field_validator

from firetrial_kit.settings import Settings
from firetrial_runner.sandbox.jobs.job import Terms
from firetrial_runner.sandbox.jobs.order import Inner
from firetrial_runner.sandbox.jobs.sandbox import JobSandbox
from firetrial_runner.sandbox.port import SandboxError
from firetrial_runner.schedulers import open_scheduler


class JobSettings(Settings):
    # Of sandbox "job" (docs/sandboxes.md): the scheduler; "local" starts jobs as processes of this machine.
    scheduler: Literal["slurm", "pbs", "lsf", "flux", "local"] = "slurm"
    # Where its jobs go, who is charged, and options of its own: name=value, with spaces between.
    scheduler_partition: str = ""
    scheduler_account: str = ""
    scheduler_attributes: str = ""
    # Seconds between two questions about all jobs; more where it is slow.
    scheduler_poll_s: float = Field(default=5.0, ge=1)
    # The host (and :port) of this machine that nodes call. Unset: jobs run on this machine.
    job_address: str = ""
    # What keeps commands on nodes, and the Python there, which has this package. Unset: as here.
    job_sandbox: Literal["bubblewrap", "apptainer"] = "bubblewrap"
    job_python: str = ""
    # GPUs that one run may be given with its job, at most.
    job_gpus: int = Field(default=0, ge=0, le=64)
    # The longest that a job may wait in the scheduler's queue, in seconds.
    job_wait_s: float = Field(default=7 * 86400.0, gt=0)

    @field_validator("scheduler_attributes")
    @classmethod
    def _pairs(cls, value: str) -> str:
        if any("=" not in pair for pair in value.split()):
            raise ValueError("must be name=value, with spaces between")
        return value

    async def open_jobs(self, work_dir: Path, apptainer_image: str) -> JobSandbox:
        """Raises SandboxError where it does not work."""
        terms = Terms(
            python=self.job_python or sys.executable,
            inner=Inner(self.job_sandbox, apptainer_image),
            queue=self.scheduler_partition,
            account=self.scheduler_account,
            attributes=dict(pair.split("=", 1) for pair in self.scheduler_attributes.split()),
            queue_s=self.job_wait_s,
        )
        scheduler, spool = open_scheduler(self.scheduler, work_dir / "scheduler"), work_dir / "jobs"
        sandbox = JobSandbox(scheduler, spool, terms, address=self.job_address, every_s=self.scheduler_poll_s)
        try:
            await sandbox.probe()
        except SandboxError:
            await sandbox.aclose()
            raise
        return sandbox
