"""Schedulers by PSI/J: it writes a job's script for Slurm, PBS or LSF, submits it, and cancels.

Jobs are looked at by a query of our own (see `query`), so PSI/J's polling is put off for good.
"""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import IO, Any

import psij
from psij.descriptor import Descriptor
from psij.executors.batch.batch_scheduler_executor import BatchSchedulerExecutor, BatchSchedulerExecutorConfig

from firetrial_kit.errors import check
from firetrial_runner.schedulers.command import ASKED_S, ask, ask_here, failed, understood
from firetrial_runner.schedulers.port import Job, JobSpec, JobState, JobStatus, SchedulerError
from firetrial_runner.schedulers.query import LsfQuery, PbsQuery, Query, SlurmQuery

_NEVER_S = 10 * 365 * 86400
_QUERIES: dict[str, Callable[[], Query]] = {"slurm": SlurmQuery, "pbs": PbsQuery, "lsf": LsfQuery}
_JOB_NAME = {"slurm": "job-name", "pbs": "N", "lsf": "J"}
_CANCEL = {"slurm": ("scancel", "-Q"), "pbs": ("qdel",), "lsf": ("bkill",)}
# qdel and bkill say so of a job that is over; scancel is told to be quiet.
_OVER = ("finished", "Unknown Job", "no matching job", "already")
_ID = re.compile(r"\d[\w.\[\]-]*")
_LAUNCHER = "firetrial-exec"


class PsijScheduler:
    """The scheduler `name`. Scripts and what jobs write go to `folder`/`name`, which the nodes must share."""

    def __init__(self, name: str, folder: Path) -> None:
        config = BatchSchedulerExecutorConfig(
            work_directory=folder,
            queue_polling_interval=_NEVER_S,
            initial_queue_polling_delay=_NEVER_S,
            keep_files=True,
        )
        executor = psij.JobExecutor.get_instance(name, config=config)
        assert isinstance(executor, BatchSchedulerExecutor)  # noqa: S101 -- those that are named above
        # PSI/J's own call has no deadline: it would hold its thread up for as long as the scheduler hangs.
        executor._run_command = ask_here  # type: ignore[assignment,method-assign] # noqa: SLF001 -- the only way
        _register(executor)
        if name == "pbs":
            executor.generator = _WithGpus(executor.generator)  # type: ignore[attr-defined] # those for PBS have one
        self._name, self._executor, self._query = name, executor, _QUERIES[name]()

    @property
    def name(self) -> str:
        return self._name

    async def submit(self, spec: JobSpec) -> str:
        check("the job", spec.faults())
        job = psij.Job(_spec(self._name, spec))
        submitting = asyncio.create_task(asyncio.to_thread(self._submit, job))
        submitting.add_done_callback(lambda task: task.cancelled() or task.exception())
        done, _ = await asyncio.wait({submitting}, timeout=2 * ASKED_S)
        if not done:  # what comes of it all the same is found by its name
            raise SchedulerError(
                f"{self._name} did not take job {spec.name} in {2 * ASKED_S:g} s", refused=False
            )
        return submitting.result()

    async def statuses(self, ids: Collection[str]) -> Mapping[str, JobStatus]:
        wanted = set(ids)
        if not wanted:
            return {}
        known = {job.id: job.status for job in await self._query.jobs() if job.id in wanted}
        return {id_: JobStatus(JobState.UNKNOWN) for id_ in wanted} | {
            **await self._query.ended(wanted - known.keys()),
            **known,
        }

    async def cancel(self, ids: Collection[str], *, queued_only: bool = False) -> None:
        if not ids:
            return
        only = ("--state=PENDING",) if queued_only and self._name == "slurm" else ()
        try:
            await ask(*_CANCEL[self._name], *only, *sorted(ids))
        except SchedulerError as error:
            if not any(told in error.message for told in _OVER):
                raise

    async def find(self, tag: str) -> list[Job]:
        return [job for job in await self._query.jobs() if job.name.startswith(tag)]

    def _submit(self, job: psij.Job) -> str:
        try:
            with understood("the submission"):
                self._executor.submit(job)
        except psij.SubmitException as error:
            raise failed("the submission", str(error)) from error
        except psij.InvalidJobException as error:
            raise SchedulerError(f"PSI/J takes no such job: {error}", refused=True) from error
        except OSError as error:
            raise SchedulerError(f"no job can be written or submitted here: {error}", refused=True) from error
        finally:
            with suppress(OSError):
                (self._executor.work_directory / f"{job.id}.job").unlink()
        if not _ID.fullmatch(id_ := str(job.native_id)):
            raise SchedulerError(f"{self._name} told no id of job {job.id}: {id_[:100]!r}", refused=False)
        return id_


class _WithGpus:
    """PSI/J's script for PBS, whose template knows no GPUs."""

    def __init__(self, plain: Any) -> None:
        self._plain = plain

    def generate_submit_script(self, job: psij.Job, context: dict[str, object], out: IO[str]) -> None:
        script = StringIO()
        self._plain.generate_submit_script(job, context, script)
        asked = job.spec.resources if job.spec else None
        gpus = asked.gpu_cores_per_process if isinstance(asked, psij.ResourceSpecV1) else None
        place = ":mpiprocs="
        out.write(script.getvalue().replace(place, f":ngpus={gpus}{place}", 1) if gpus else script.getvalue())


def _register(executor: psij.JobExecutor) -> None:
    if _LAUNCHER not in psij.Launcher.get_launcher_names():
        launcher = Descriptor(_LAUNCHER, executor.version, "exec_launcher.ExecLauncher")
        psij.Launcher.register_launcher(launcher, str(Path(__file__).parent))


def _spec(name: str, spec: JobSpec) -> psij.JobSpec:
    """One node and one process there. env(1) sets variables: of PSI/J's own LSF keeps the last."""
    # PSI/J's templates ask for a name where jobs have none.
    attributes = {**spec.attributes, _JOB_NAME[name]: spec.name}
    cores, gpus = spec.cpus, spec.gpus or None
    if name == "lsf" and spec.gpus:
        attributes["gpu"], gpus = f"num={spec.gpus}", None  # PSI/J would ask for so many for each core
    return psij.JobSpec(
        executable="/usr/bin/env",
        arguments=[*(f"{key}={value}" for key, value in spec.env.items()), *spec.argv],
        directory=spec.folder,
        inherit_environment=False,
        launcher=_LAUNCHER,
        resources=psij.ResourceSpecV1(
            node_count=1,
            # What PSI/J's scripts for PBS and LSF call processes are cores there.
            processes_per_node=1 if name == "slurm" else cores,
            cpu_cores_per_process=cores if name == "slurm" else None,
            gpu_cores_per_process=gpus,
            memory=spec.memory_bytes or None,
        ),
        attributes=psij.JobAttributes(
            duration=timedelta(seconds=math.ceil(spec.wall_s)),
            queue_name=spec.queue or None,
            account=spec.account or None,
            custom_attributes={f"{name}.{key}": value for key, value in attributes.items()},
        ),
    )
