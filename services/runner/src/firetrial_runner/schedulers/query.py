"""What is asked of schedulers about jobs, and how their answers read.

PSI/J's own polling is not used. It knows only jobs that it has submitted itself, and no names, so that jobs
cannot be found again after a restart; it tells a preemption, the end of a job's time and a lost node all as
FAILED; a reason that it does not know makes it fail all jobs; and states go back and forth when it attaches.
Each query here is one command for all jobs of this user.
"""

from __future__ import annotations

import getpass
import re
from collections.abc import Collection, Mapping
from typing import Any, Protocol

from firetrial_runner.schedulers.command import ask, ask_json, lines, understood
from firetrial_runner.schedulers.port import Job, JobState, JobStatus, SchedulerError

_QUEUED, _ACTIVE, _DONE, _FAILED = JobState.QUEUED, JobState.ACTIVE, JobState.DONE, JobState.FAILED


class Query(Protocol):
    """Looks at the jobs of this user."""

    async def jobs(self) -> list[Job]:
        """Those that the scheduler still knows. Raises SchedulerError."""
        ...

    async def ended(self, ids: Collection[str]) -> Mapping[str, JobStatus]:
        """Of jobs that it does not know any more, those that its accounting remembers."""
        ...


_SLURM = {
    "PENDING": _QUEUED, "CONFIGURING": _QUEUED, "REQUEUED": _QUEUED, "REQUEUE_FED": _QUEUED,
    "REQUEUE_HOLD": _QUEUED, "RESV_DEL_HOLD": _QUEUED, "SPECIAL_EXIT": _QUEUED,
    "RUNNING": _ACTIVE, "COMPLETING": _ACTIVE, "STAGE_OUT": _ACTIVE, "SIGNALING": _ACTIVE,
    "STOPPED": _ACTIVE, "SUSPENDED": _ACTIVE, "RESIZING": _ACTIVE,
    "COMPLETED": _DONE,
    "FAILED": _FAILED, "BOOT_FAIL": _FAILED, "OUT_OF_MEMORY": _FAILED, "DEADLINE": _FAILED,
    "CANCELLED": JobState.CANCELLED, "REVOKED": JobState.CANCELLED, "PREEMPTED": JobState.PREEMPTED,
    "TIMEOUT": JobState.TIMEOUT, "NODE_FAIL": JobState.NODE_FAIL,
}  # fmt: skip


class SlurmQuery:
    """`squeue --json` for jobs that slurmctld knows, `sacct` for others where there is accounting."""

    def __init__(self) -> None:
        self._accounting = True

    async def jobs(self) -> list[Job]:
        told = await ask_json("squeue", "--me", "--states=all", "--json")
        with understood("squeue"):
            return [slurm_job(job) for job in told.get("jobs", ())]

    async def ended(self, ids: Collection[str]) -> Mapping[str, JobStatus]:
        if not ids or not self._accounting:
            return {}
        fields = "--format=JobIDRaw,State,ExitCode"
        try:
            said = await ask("sacct", "-n", "-X", "-P", fields, f"--jobs={','.join(sorted(ids))}")
        except SchedulerError as error:
            self._accounting = not error.refused  # without accounting there will be none the next time either
            return {}
        with understood("sacct"):
            return {id_: _accounted(state, code) for id_, state, code in lines(said)}


def slurm_job(told: Mapping[str, Any]) -> Job:
    """A job of `squeue --json`: of Slurm 22.05, or of 23.x, where numbers are objects and states lists."""
    state = told["job_state"]
    words = state if isinstance(state, list) else [state]
    word = "COMPLETING" if "COMPLETING" in words else words[0]
    found = _SLURM.get(word, JobState.ACTIVE)
    ended = found in {_DONE, _FAILED}
    status = JobStatus(
        found,
        f"{word}: {told['state_reason']}" if told.get("state_reason") not in {None, "", "None"} else word,
        _exit_code(told.get("exit_code")) if ended else None,
        _number(told.get("restart_cnt")),
        told.get("nodes") or "",
    )
    return Job(str(told["job_id"]), told["name"], status)


def _number(told: Any) -> int:
    if isinstance(told, dict):
        return int(told.get("number") or 0) if told.get("set", True) else 0
    return int(told or 0)


def _exit_code(told: Any) -> int:
    """As a shell tells it: of Slurm 22.05 it is what wait(2) gave."""
    if isinstance(told, dict):
        signal = _number((told.get("signal") or {}).get("id") or (told.get("signal") or {}).get("signal_id"))
        return 128 + signal if signal else _number(told.get("return_code"))
    status = _number(told)
    return 128 + (status & 127) if status & 127 else status >> 8


def _accounted(state: str, code: str) -> JobStatus:
    """State and ExitCode ("code:signal") of sacct; it says who cancelled a job behind the state."""
    word = state.split(maxsplit=1)[0] if state else "UNKNOWN"
    found = _SLURM.get(word, JobState.UNKNOWN)
    number, _, signal = code.partition(":")
    if found not in {_DONE, _FAILED} or not number.isdigit():
        return JobStatus(found, state)
    return JobStatus(found, state, 128 + int(signal) if signal.strip("0").isdigit() else int(number))


_PBS = {"B": _ACTIVE, "E": _ACTIVE, "R": _ACTIVE, "F": _DONE, "X": _DONE, "C": _DONE}
_KILLED = 256
"""To this PBS adds the signal that ended a job."""


class PbsQuery:
    """`qstat -x -f -F json`: with jobs that ended lately, where the server keeps a history."""

    async def jobs(self) -> list[Job]:
        told, me = await ask_json("qstat", "-x", "-f", "-F", "json"), getpass.getuser()
        with understood("qstat"):
            found = dict(told.get("Jobs") or {}).items()
            mine = {id_: job for id_, job in found if str(job.get("Job_Owner", "")).split("@")[0] == me}
            return [pbs_job(id_, job) for id_, job in mine.items()]

    async def ended(self, ids: Collection[str]) -> Mapping[str, JobStatus]:  # noqa: ARG002 -- a Query's
        return {}


def pbs_job(id_: str, told: Mapping[str, Any]) -> Job:
    """A job of `qstat -f -F json`."""
    letter, comment = told["job_state"], str(told.get("comment", ""))
    state, code = _PBS.get(letter, _QUEUED), told.get("Exit_status")
    if state is _DONE and code != 0:
        state = _FAILED
        if "walltime" in comment and "exceeded" in comment:
            state = JobState.TIMEOUT
        elif code is None or int(code) - _KILLED in {9, 15}:
            state = JobState.CANCELLED  # before it started, or by qdel
    exit_code = int(code) if state in {_DONE, _FAILED} and code is not None else None
    restarts = max(0, int(told.get("run_count", 1)) - 1)
    node = str(told.get("exec_vnode") or told.get("exec_host") or "").strip("()").split("/")[0].split(":")[0]
    detail = f"{letter}: {comment}" if comment else letter
    return Job(id_, told["Job_Name"], JobStatus(state, detail, exit_code, restarts, node))


_LSF = {
    "PEND": _QUEUED, "PROV": _QUEUED, "PSUSP": _QUEUED, "WAIT": _QUEUED,
    "RUN": _ACTIVE, "USUSP": _ACTIVE, "SSUSP": _ACTIVE, "UNKWN": _ACTIVE, "ZOMBI": _ACTIVE,
    "DONE": _DONE, "EXIT": _FAILED,
}  # fmt: skip
_LSF_WHY = (
    (re.compile(r"TERM_(OWNER|ADMIN|FORCE_OWNER|FORCE_ADMIN|REMOVE)"), JobState.CANCELLED),
    (re.compile(r"TERM_(RUNLIMIT|DEADLINE)"), JobState.TIMEOUT),
    (re.compile(r"TERM_PREEMPT"), JobState.PREEMPTED),
    (re.compile(r"TERM_(EXTERNAL_SIGNAL_)?HOST|unreachable", re.IGNORECASE), JobState.NODE_FAIL),
)


# So it says, and fails, where its user has no jobs.
_LSF_NONE = re.compile(r"No (unfinished )?job found", re.IGNORECASE)


class LsfQuery:
    """`bjobs -a -json`: with jobs that ended lately."""

    async def jobs(self) -> list[Job]:
        fields = "jobid stat job_name exit_code exit_reason exec_host"
        try:
            told = await ask_json("bjobs", "-a", "-json", "-o", fields)
        except SchedulerError as error:
            if _LSF_NONE.search(error.message):
                return []
            raise
        with understood("bjobs"):
            return [lsf_job(job) for job in told.get("RECORDS", ()) if "ERROR" not in job]

    async def ended(self, ids: Collection[str]) -> Mapping[str, JobStatus]:  # noqa: ARG002 -- a Query's
        return {}


def lsf_job(told: Mapping[str, str]) -> Job:
    """A record of `bjobs -json`."""
    word, reason, code = told["STAT"], told.get("EXIT_REASON", ""), told.get("EXIT_CODE", "")
    state = _LSF.get(word, JobState.UNKNOWN)
    if state is _FAILED:
        state = next((found for why, found in _LSF_WHY if why.search(reason)), _FAILED)
    exit_code = 0 if state is _DONE else int(code) if state is _FAILED and code.isdigit() else None
    detail = f"{word}: {reason}" if reason else word
    return Job(
        told["JOBID"], told["JOB_NAME"], JobStatus(state, detail, exit_code, 0, told.get("EXEC_HOST", ""))
    )
