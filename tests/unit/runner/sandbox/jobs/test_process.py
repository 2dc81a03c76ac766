"""How a command ended, by what its job said last and by what the scheduler says of the job."""

from __future__ import annotations

import asyncio
import json
import socket
from dataclasses import asdict

import pytest

from firetrial_runner.sandbox.jobs.frames import Channel, Kind
from firetrial_runner.sandbox.jobs.process import JobProcess
from firetrial_runner.sandbox.port import Exit, Limits, Stream, Termination, Usage
from firetrial_runner.schedulers.port import JobState, JobStatus

USAGE = Usage(1.0, 0.5, 1000, 3)
WELL = Exit(Termination.EXITED, USAGE, code=0)
BY_SIGNAL = Exit(Termination.EXITED, USAGE, signal=15)
LOST = Exit(Termination.LOST, USAGE, detail="the scheduler sent SIGTERM")
TIMED_OUT = Exit(Termination.TIMED_OUT, USAGE, detail="ran for 60 s")
DONE = JobStatus(JobState.DONE, "COMPLETED")
CANCELLED = JobStatus(JobState.CANCELLED, "CANCELLED")
REQUEUED = JobStatus(JobState.QUEUED, "PENDING: BeginTime", restarts=1)
PREEMPTED = JobStatus(JobState.PREEMPTED, "PREEMPTED")
NODE_FAIL = JobStatus(JobState.NODE_FAIL, "NODE_FAIL")
NO_MEMORY = JobStatus(JobState.FAILED, "OUT_OF_MEMORY")


class Job:
    """A job of which the scheduler says `status`."""

    told = "slurm's job 7"

    def __init__(self, status: JobStatus | None) -> None:
        self.status = status
        self.asked: list[bool] = []
        self.cancels = 0
        self.over: bool | None = None

    async def cancel(self) -> None:
        self.cancels += 1

    async def end(self, *, soon: bool) -> JobStatus | None:
        self.asked.append(soon)
        return self.status

    async def release(self, *, over: bool) -> None:
        self.over = over


async def started(job: Job) -> tuple[JobProcess, Channel]:
    """A process, and its job's end of the line."""
    here, there = socket.socketpair()
    channel = Channel(*await asyncio.open_connection(sock=here))
    return JobProcess(job, channel, Limits(), "there"), Channel(*await asyncio.open_connection(sock=there))


async def seen(status: JobStatus | None, end: Exit | None) -> tuple[Exit, Job]:
    """How a command is told to have ended whose job said `end`, or nothing."""
    job = Job(status)
    process, line = await started(job)
    if end is not None:
        await line.send(Kind.EXIT, json.dumps(asdict(end)).encode())
    line.close()
    return await process.wait(), job


@pytest.mark.parametrize("end", [WELL, TIMED_OUT, Exit(Termination.OOM_KILLED, USAGE, signal=9)])
async def test_what_the_job_says_is_believed(end: Exit) -> None:
    assert (await seen(DONE, end))[0] == end


async def test_a_scheduler_is_asked_only_where_there_is_a_doubt() -> None:
    _, job = await seen(DONE, WELL)
    assert (job.asked, job.over, job.cancels) == ([], True, 0)
    _, job = await seen(DONE, BY_SIGNAL)
    assert (job.asked, job.over) == ([True], False)
    _, job = await seen(DONE, None)
    assert (job.asked, job.over) == ([False], False)


@pytest.mark.parametrize("status", [CANCELLED, REQUEUED, PREEMPTED, NODE_FAIL, JobStatus(JobState.TIMEOUT)])
@pytest.mark.parametrize("end", [BY_SIGNAL, LOST, None])
async def test_what_the_scheduler_did_is_no_agents_doing(status: JobStatus, end: Exit | None) -> None:
    told, _ = await seen(status, end)
    assert told.termination is Termination.LOST
    assert told.code is told.signal is None
    assert "slurm's job 7 ended: " in told.detail
    assert ("back into the queue" if status is REQUEUED else status.state) in told.detail


async def test_a_signal_of_its_own_is_the_agents() -> None:
    assert (await seen(DONE, BY_SIGNAL))[0] == BY_SIGNAL
    assert (await seen(None, BY_SIGNAL))[0] == BY_SIGNAL


@pytest.mark.parametrize("end", [LOST, None])
async def test_too_much_memory_is_the_agents_whoever_sees_it(end: Exit | None) -> None:
    told, _ = await seen(NO_MEMORY, end)
    assert (told.termination, told.signal) == (Termination.OOM_KILLED, 9)


async def test_a_silent_scheduler_and_a_broken_line_are_told() -> None:
    told, _ = await seen(None, None)
    assert (told.termination, told.detail) == (
        Termination.LOST,
        "slurm's job 7 ended: nothing is heard of it",
    )


async def test_output_comes_before_the_end() -> None:
    process, line = await started(Job(DONE))
    await line.send(Kind.STDOUT, b"abc")
    await line.send(Kind.BEAT)
    await line.send(Kind.STDERR, b"\xff")
    await line.tell(Kind.EXIT, **asdict(WELL))
    line.close()
    chunks = [(chunk.stream, chunk.data) async for chunk in process.output()]
    assert chunks == [(Stream.STDOUT, b"abc"), (Stream.STDERR, b"\xff")]
    assert await process.wait() == WELL
    assert process.place == "there"


async def test_what_is_wanted_of_the_command_is_told_to_its_job() -> None:
    process, line = await started(Job(DONE))
    process.pause()
    process.resume()
    await process.cancel()
    assert [(await line.receive())[0] for _ in range(3)] == [Kind.PAUSE, Kind.RESUME, Kind.CANCEL]
    await line.tell(Kind.EXIT, **asdict(Exit(Termination.CANCELLED, USAGE, detail="cancelled")))
    line.close()
    assert (await process.wait()).termination is Termination.CANCELLED


async def test_a_job_that_does_not_hear_is_ended_by_its_scheduler() -> None:
    job = Job(CANCELLED)
    process, line = await started(job)
    await process.aclose()
    end = await process.wait()
    assert (end.termination, end.detail) == (Termination.CANCELLED, "closed")
    assert job.cancels == 1
    line.abort()


@pytest.mark.parametrize("body", [b"{}", b'{"termination": "nonesuch", "usage": {}}', b"nothing"])
async def test_an_end_that_is_none_is_no_end(body: bytes) -> None:
    process, line = await started(Job(DONE))
    await line.send(Kind.EXIT, body)
    line.close()
    assert (await process.wait()).termination is Termination.LOST
