"""Schedulers of clusters behind one port."""

from __future__ import annotations

from pathlib import Path

from firetrial_runner.schedulers.port import Job, JobSpec, JobState, JobStatus, Scheduler, SchedulerError

NAMES = ("slurm", "pbs", "lsf", "flux", "local")


def open_scheduler(name: str, folder: Path) -> Scheduler:
    """The scheduler `name`, one of NAMES. What it writes goes below `folder`, which the nodes must share."""
    if name == "flux":
        from firetrial_runner.schedulers.flux import FluxScheduler  # noqa: PLC0415 -- only the one that is used

        return FluxScheduler()
    if name == "local":
        from firetrial_runner.schedulers.local import LocalScheduler  # noqa: PLC0415

        return LocalScheduler(folder)
    from firetrial_runner.schedulers.psij_jobs import PsijScheduler  # noqa: PLC0415

    return PsijScheduler(name, folder)


__all__ = [
    "NAMES",
    "Job",
    "JobSpec",
    "JobState",
    "JobStatus",
    "Scheduler",
    "SchedulerError",
    "open_scheduler",
]
