"""A scheduler in memory: what tests of those that submit jobs are made with."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from firetrial_kit.errors import check
from firetrial_runner.schedulers.port import Job, JobSpec, JobState, JobStatus, SchedulerError


class FakeScheduler:
    """Jobs stand as they are `put`. `room` jobs at most are ACTIVE at a time when `start` is called."""

    name = "fake"

    def __init__(self) -> None:
        self.jobs: dict[str, Job] = {}
        self.specs: dict[str, JobSpec] = {}
        self.asked = 0
        # Raised by the next call of `submit`; with "after", the job is taken all the same.
        self.trouble: SchedulerError | None = None
        self.taken_all_the_same = False

    async def submit(self, spec: JobSpec) -> str:
        check("the job", spec.faults())
        trouble, self.trouble = self.trouble, None
        if trouble and not self.taken_all_the_same:
            raise trouble
        id_ = str(len(self.specs) + 1)
        self.specs[id_], self.jobs[id_] = spec, Job(id_, spec.name, JobStatus(JobState.QUEUED))
        if trouble:
            raise trouble
        return id_

    async def statuses(self, ids: Collection[str]) -> Mapping[str, JobStatus]:
        self.asked += 1
        unknown = JobStatus(JobState.UNKNOWN)
        return {id_: self.jobs[id_].status if id_ in self.jobs else unknown for id_ in ids}

    async def cancel(self, ids: Collection[str], *, queued_only: bool = False) -> None:
        states = {JobState.QUEUED} if queued_only else {JobState.QUEUED, JobState.ACTIVE}
        for id_ in ids:
            if id_ in self.jobs and self.jobs[id_].status.state in states:
                self.put(id_, JobState.CANCELLED)

    async def find(self, tag: str) -> list[Job]:
        self.asked += 1
        return [job for job in self.jobs.values() if job.name.startswith(tag)]

    def put(self, id_: str, state: JobState) -> None:
        """The job's state from now on."""
        self.jobs[id_] = replace(self.jobs[id_], status=JobStatus(state))

    def forget(self, id_: str) -> None:
        """The scheduler does not know it any more."""
        del self.jobs[id_]

    def living(self) -> list[Job]:
        """The jobs that are queued or active."""
        return [job for job in self.jobs.values() if job.status.state.lives]
