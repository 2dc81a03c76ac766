"""Flux by its own commands.

PSI/J's executor for Flux gives a job neither a name nor variables nor a folder, and needs Flux's Python
bindings, which come with Flux only.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from firetrial_kit.errors import check
from firetrial_runner.schedulers.command import ask, ask_json, understood
from firetrial_runner.schedulers.port import Job, JobSpec, JobState, JobStatus

_STATES = {
    "DEPEND": JobState.QUEUED, "PRIORITY": JobState.QUEUED, "SCHED": JobState.QUEUED,
    "RUN": JobState.ACTIVE, "CLEANUP": JobState.ACTIVE,
    "COMPLETED": JobState.DONE, "FAILED": JobState.FAILED, "CANCELED": JobState.CANCELLED,
    "TIMEOUT": JobState.TIMEOUT,
}  # fmt: skip
_BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


class FluxScheduler:
    """Submits to the Flux instance that surrounds this process, or that FLUX_URI names."""

    name = "flux"

    async def submit(self, spec: JobSpec) -> str:
        check("the job", spec.faults())
        said = await ask("flux", "submit", *options(spec), "--", *spec.argv)
        with understood("flux submit"):
            return str(int(decimal(said.strip())))

    async def statuses(self, ids: Collection[str]) -> Mapping[str, JobStatus]:
        known = {job.id: job.status for job in await self._jobs()} if ids else {}
        return {id_: known.get(id_, JobStatus(JobState.UNKNOWN)) for id_ in ids}

    async def cancel(self, ids: Collection[str], *, queued_only: bool = False) -> None:
        states = {JobState.QUEUED} if queued_only else {JobState.QUEUED, JobState.ACTIVE}
        living = [id_ for id_, status in (await self.statuses(ids)).items() if status.state in states]
        if living:
            await ask("flux", "cancel", *living)

    async def find(self, tag: str) -> list[Job]:
        return [job for job in await self._jobs() if job.name.startswith(tag)]

    async def _jobs(self) -> list[Job]:
        told = await ask_json("flux", "jobs", "-a", "--count=0", "--json")
        with understood("flux jobs"):
            return [flux_job(job) for job in told.get("jobs", [])]


def options(spec: JobSpec) -> list[str]:
    """Of `flux submit`. Memory is no resource of Flux."""
    told = [
        f"--job-name={spec.name}",
        f"--cwd={spec.folder}",
        f"--time-limit={spec.wall_s:.0f}s",
        "--nodes=1",
        "--ntasks=1",
        f"--cores-per-task={spec.cpus}",
        f"--output={spec.folder}/{spec.name}.{{{{id}}}}.out",
    ]
    told += [f"--gpus-per-task={spec.gpus}"] if spec.gpus else []
    told += [f"--queue={spec.queue}"] if spec.queue else []
    told += [f"--bank={spec.account}"] if spec.account else []
    told += [f"--{name}={value}" for name, value in spec.attributes.items()]
    return told + [f"--env={name}={value}" for name, value in spec.env.items()]


def flux_job(told: Mapping[str, Any]) -> Job:
    """A job of `flux jobs --json`."""
    word = str(told.get("result") or told["state"]) if told["state"] == "INACTIVE" else str(told["state"])
    state, code = _STATES.get(word, JobState.UNKNOWN), told.get("returncode")
    ended = state in {JobState.DONE, JobState.FAILED} and isinstance(code, int)
    status = JobStatus(
        state, word, int(code) if ended and code is not None else None, 0, told.get("nodelist") or ""
    )
    return Job(decimal(str(told["id"])), told["name"], status)


def decimal(id_: str) -> str:
    """A job's id as a number, which is told in base 58 behind an f at times (RFC 19 of Flux)."""
    digits = id_.removeprefix("ƒ").removeprefix("f")
    if digits == id_:
        return id_
    found = 0
    for digit in digits:
        found = found * 58 + _BASE58.index(digit)
    return str(found)
