"""Pilots in a real Slurm: as many as there is work for, never too many, and nothing is lost when they end.

The short form is one experiment of 12 runs in which everything goes wrong at once; the full one
(`make test-slurm`) adds the end of a job's time, preemption, and figures.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from firetrial_client import AsyncFiretrial, make_plan
from firetrial_kit.events import WORK
from firetrial_kit.jetstream import connect
from firetrial_kit.kv import JetStreamState
from firetrial_kit.s3 import S3Objects
from firetrial_runner.records import Books
from firetrial_runner.run import Outcome, Run
from support import servers, slurm
from support.agents import SORTING
from support.cluster import Cluster, cluster
from support.slurm import Slurm

FULL = os.environ.get("FIRETRIAL_BENCH") == "full"
RUNS, MOST, ATTEMPTS = 12, 3, 10
full = pytest.mark.skipif(not FULL, reason="only in the full form: make test-slurm")
pytestmark = [
    pytest.mark.needs("nats-server", "weed", "bwrap", *slurm.PROGRAMS),
    pytest.mark.timeout(900 if FULL else 240),
]
FRONT = {"FIRETRIAL_RUNNER_SLOTS": "0", "FIRETRIAL_RUNNER_TESTS": "0"}
LIVING = {"PENDING", "CONFIGURING", "RUNNING", "COMPLETING", "SUSPENDED"}


@pytest.fixture(scope="module")
def batch(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slurm]:
    with slurm.slurm(tmp_path_factory.mktemp("slurm"), cpus=8) as found:
        yield found


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory, s3_server: servers.S3) -> Iterator[Cluster]:
    """Four services of which the runner takes no runs."""
    folder = tmp_path_factory.mktemp("pilots")
    asyncio.run(S3Objects(s3_server.url, *s3_server.keys["admin"]).ensure_buckets())
    with (
        servers.nats_server(folder / "nats") as nats_url,
        cluster(folder, nats_url, s3_server, FRONT) as found,
    ):
        yield found


@pytest.fixture
def shared_folder(tmp_path: Path, system: Cluster) -> Path:
    """What the nodes see: the runners' settings are there."""
    access, secret = system.s3.keys["runner"]
    env_file = tmp_path / "runner.env"
    env_file.touch(0o600)
    env_file.write_text(
        f"FIRETRIAL_NATS_URL={system.nats_url}\nFIRETRIAL_OBJECTS_URL={system.s3.url}\n"
        f"FIRETRIAL_S3_ACCESS_KEY={access}\nexport FIRETRIAL_S3_SECRET_KEY='{secret}'\n"
        f"# a lost runner's runs are found after\nFIRETRIAL_ACK_WAIT=3\nFIRETRIAL_DRAIN=3\n"
        f"FIRETRIAL_RUNNER_WORK_DIR={tmp_path}/work\nFIRETRIAL_RUNNER_SLOTS=1\nFIRETRIAL_RUNNER_TESTS=0\n"
    )
    return tmp_path


@dataclass(slots=True)
class Pilots:
    """`firetrial pilots` as a process, for a pool of a test's own."""

    batch: Slurm
    folder: Path
    pool: str
    options: tuple[str, ...] = ()
    process: subprocess.Popen[bytes] | None = None

    def argv(self, *more: str) -> list[str]:
        argv = [str(servers.BIN / "firetrial"), "pilots", "--scheduler", "slurm", "--pool", self.pool]
        argv += ["--max", str(MOST), "--env-file", str(self.folder / "runner.env"), "--every", "1s"]
        return [*argv, "--folder", str(self.folder), "--memory", "1G", *self.options, *more]

    def start(self) -> None:
        with (self.folder / "pilots.log").open("ab") as log:
            self.process = subprocess.Popen(
                self.argv("--json"), env=self.batch.environ_of(), stdout=log, stderr=log, cwd=self.folder
            )

    def once(self) -> subprocess.CompletedProcess[str]:
        """A process beside it, that looks once."""
        return subprocess.run(
            self.argv("--once"), env=self.batch.environ_of(), capture_output=True, text=True, timeout=60
        )

    def kill(self) -> None:
        assert self.process is not None
        servers.end(self.process, signal.SIGKILL)

    def stop(self) -> int:
        """In good order; its exit code."""
        assert self.process is not None
        servers.end(self.process)
        return int(self.process.returncode)

    def rounds(self) -> list[dict[str, Any]]:
        """What it has told."""
        lines = (self.folder / "pilots.log").read_text().splitlines()
        told = [json.loads(line) for line in lines if line.startswith("{")]
        return [line for line in told if "wanted" in line]

    def jobs(self, *states: str) -> list[dict[str, Any]]:
        """Its jobs in Slurm, in these states."""
        mine = [job for job in self.batch.jobs() if job["name"].startswith(f"ft-{self.pool}-")]
        return [job for job in mine if not states or job["job_state"] in states]

    def runners(self) -> str:
        """What all pilots have written."""
        written = (self.folder / "pilots" / "slurm").glob("*.out")
        return "\n".join(path.read_text(errors="replace") for path in sorted(written))


@contextmanager
def piloting(batch: Slurm, folder: Path, pool: str, *options: str) -> Iterator[Pilots]:
    """Pilots of a pool; nothing of them is left behind."""
    found = Pilots(batch, folder, pool, options)
    found.start()
    try:
        yield found
    finally:
        found.stop()
        for job in found.jobs(*LIVING):
            batch.run("scancel", str(job["job_id"]))


@dataclass(slots=True)
class Census:
    """How many jobs lived at a time, looked at again and again beside the test."""

    pilots: Pilots
    seen: list[tuple[float, int, int]] = field(default_factory=list)
    _stop: threading.Event = field(default_factory=threading.Event)

    def take(self) -> None:
        begun = time.monotonic()
        while not self._stop.wait(0.3):
            jobs = self.pilots.jobs(*LIVING)
            active = sum(job["job_state"] != "PENDING" for job in jobs)
            self.seen.append((time.monotonic() - begun, len(jobs), active))

    def most(self) -> int:
        return max((living for _, living, _ in self.seen), default=0)


@contextmanager
def census(pilots: Pilots) -> Iterator[Census]:
    found = Census(pilots)
    thread = threading.Thread(target=found.take)
    thread.start()
    try:
        yield found
    finally:
        found._stop.set()
        thread.join()


@dataclass(slots=True)
class Experiment:
    """Runs as the runner's books have them."""

    id: str
    books: Books

    async def runs(self) -> list[Run]:
        records = await self.books.find_runs(await self.books.runs.ids())
        return [record.run for record in records if record.run.experiment_id == self.id]

    async def over(self) -> int:
        """Slots whose agent's part is done."""
        return sum(run.is_over and not run.superseded for run in await self.runs())

    async def until(self, done: int, seconds: float = 120) -> None:
        until = time.monotonic() + seconds
        while await self.over() < done:
            if time.monotonic() > until:
                raise TimeoutError(Counter((run.state, run.outcome) for run in await self.runs()))
            await asyncio.sleep(0.2)


@asynccontextmanager
async def experiment(
    system: Cluster, pool: str, *, sleep_s: float, runs: int = RUNS, limit_s: float = 30
) -> AsyncIterator[Experiment]:
    """So many runs of one agent that sleeps, and then concludes what is right."""
    script = f"sleep {sleep_s:g}; printf '%s' '{SORTING['right']}' > conclusion.md"
    client = await connect(system.nats_url, name="test")
    try:
        async with AsyncFiretrial(system.endpoints) as firetrial:
            task = await firetrial.submit_task(
                f"sorting-{pool}", question="Which is faster?", instruction="Find out.",
                ground_truth=SORTING["right"],
            )  # fmt: skip
            agent = await firetrial.submit_agent(name=f"sleeper-{pool}", command=["sh", "-c", script])
            plan = make_plan([agent.id], repeats=runs, pool=pool, judge="offline", wall_time=limit_s)
            plan.max_attempts = ATTEMPTS
            submitted = await firetrial.submit_experiment([task.task.id], plan, request_id=pool)
        yield Experiment(submitted.id, Books(await JetStreamState.open(client, "ft_runner")))
    finally:
        await client.close()


async def scored(found: Experiment, runs: int = RUNS) -> list[Run]:
    """All its attempts, once each slot has exactly one outcome, which is SCORED; none is lost or blamed."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        attempts = await found.runs()
        if sum(run.outcome is Outcome.SCORED for run in attempts) == runs:
            break
        await asyncio.sleep(0.2)
    finals = [run for run in attempts if not run.superseded]
    assert Counter(run.outcome for run in finals) == {Outcome.SCORED: runs}, attempts
    assert {run.repeat for run in finals} == set(range(1, runs + 1))
    assert {run.outcome for run in attempts if run.superseded} <= {Outcome.INFRA_FAILED}
    return attempts


async def nothing_waits(system: Cluster) -> None:
    client = await connect(system.nats_url, name="test")
    try:
        assert (await client.jetstream().stream_info(WORK)).state.messages == 0
    finally:
        await client.close()


async def reached(ready: Callable[[], bool], what: str, seconds: float = 60) -> None:
    await asyncio.to_thread(servers.wait_for, ready, what, seconds)


async def test_everything_happens_to_pilots_and_nothing_to_runs(
    system: Cluster, batch: Slurm, shared_folder: Path
) -> None:
    async with experiment(system, "rough", sleep_s=2.0) as found:
        with piloting(batch, shared_folder, "rough", "--idle", "3s") as pilots, census(pilots) as counted:
            await reached(lambda: len(pilots.jobs("RUNNING")) == MOST, "pilots")
            second = await asyncio.to_thread(pilots.once)
            assert (second.returncode, "seen to by another" in second.stderr) == (1, True), second.stderr
            await found.until(2)
            first, told, again = [str(job["job_id"]) for job in pilots.jobs("RUNNING")]
            secret = system.s3.keys["runner"][1]
            assert secret not in batch.run("scontrol", "write", "batch_script", first, "-")
            pilots.kill()
            batch.run("scancel", first)
            batch.run("scancel", "--signal=USR1", "--batch", told)  # as before the end of its time
            batch.run("scontrol", "requeue", again)
            pilots.start()
            await found.until(RUNS)
            attempts = await scored(found)
            await reached(lambda: not pilots.jobs(*LIVING), "the end of the last pilot")
            assert pilots.stop() == 0
    assert counted.most() == MOST
    states = {str(job["job_id"]): job for job in pilots.jobs()}
    assert states[first]["job_state"] == "CANCELLED"
    assert states[told]["job_state"] == "COMPLETED"
    assert states[again]["restart_cnt"] == 1
    assert {job["job_state"] for job in states.values()} <= {"COMPLETED", "CANCELLED"}
    lost = sum(run.superseded for run in attempts)
    assert lost <= 3
    assert secret not in pilots.runners()
    await nothing_waits(system)
    print(
        f"12 runs: {lost} attempts lost, {len(states)} jobs, {counted.seen[-1][0]:.0f} s from 0 pilots to 0"
    )


@full
async def test_pilots_leave_before_their_time_is_over(
    system: Cluster, batch: Slurm, shared_folder: Path
) -> None:
    """One pilot of a minute after the other: each takes only what can end, so nothing is ever lost."""
    with (shared_folder / "runner.env").open("a") as env_file:
        env_file.write("FIRETRIAL_RUNNER_MAX_WALL_S=15\n")
    options = ("--max", "1", "--wall-time", "60s", "--idle", "5s")
    async with experiment(system, "short", sleep_s=5.0, limit_s=15) as found:
        with piloting(batch, shared_folder, "short", *options) as pilots, census(pilots) as counted:
            await found.until(RUNS, 300)
            attempts = await scored(found)
            await reached(lambda: not pilots.jobs(*LIVING), "the end of the last pilot")
    jobs = pilots.jobs()
    assert counted.most() == 1
    assert {job["job_state"] for job in jobs} == {"COMPLETED"}
    assert len(jobs) >= 2
    assert len(attempts) == RUNS
    stayed = [job["end_time"] - job["start_time"] for job in jobs]
    assert max(stayed) < 60
    print(f"12 runs of 5 s in {len(jobs)} jobs of 60 s, which stayed {stayed} s: no attempt lost")


@full
async def test_a_run_in_hand_that_is_cut_off_is_given_back_and_made_once_more(
    system: Cluster, batch: Slurm, shared_folder: Path
) -> None:
    async with experiment(system, "notice", sleep_s=15.0, runs=3) as found:
        with piloting(batch, shared_folder, "notice", "--idle", "5s") as pilots:
            await reached(lambda: pilots.runners().count("run started") == 3, "runs")
            job = pilots.jobs("RUNNING")[0]["job_id"]
            begun = time.monotonic()
            batch.run("scancel", str(job))

            def ended() -> bool:
                return any(one["job_id"] == job for one in pilots.jobs("CANCELLED"))

            await reached(ended, "the pilot's end")
            took = time.monotonic() - begun
            await found.until(3)
            attempts = await scored(found, 3)
    assert len(attempts) == 4
    print(f"a pilot with a run of 15 s in hand that is cancelled is gone after {took:.1f} s (drain: 3 s)")


@full
async def test_pilots_that_are_preempted_come_back(
    system: Cluster, batch: Slurm, shared_folder: Path
) -> None:
    async with experiment(system, "spot", sleep_s=10.0) as found:
        with piloting(batch, shared_folder, "spot", "--idle", "5s") as pilots, census(pilots) as counted:
            await found.until(1)
            urgent = batch.run(
                "sbatch", "--parsable", "--partition=urgent", "--ntasks=8", "--output=/dev/null",
                "--time=10", "--wrap=sleep 5",
            ).strip()  # fmt: skip
            await reached(lambda: any(job["restart_cnt"] for job in pilots.jobs()), "a preemption")
            await found.until(RUNS, 300)
            attempts = await scored(found)
            await reached(lambda: not pilots.jobs(*LIVING), "the end of the last pilot")
    assert counted.most() <= MOST
    states = {str(job["job_id"]): job["job_state"] for job in batch.jobs()}
    assert states[urgent] == "COMPLETED"
    restarts = sum(job["restart_cnt"] for job in pilots.jobs())
    lost = len(attempts) - RUNS
    assert 0 < lost <= restarts
    print(f"preempted {restarts} times, {lost} attempts lost, 12 of 12 runs scored")


@full
async def test_more_pilots_do_more(system: Cluster, batch: Slurm, shared_folder: Path) -> None:
    took = {}
    for most in (1, 3):
        pool = f"speed{most}"
        async with experiment(system, pool, sleep_s=4.0) as found:
            begun = time.time()
            options = ("--max", str(most), "--idle", "3s")
            with piloting(batch, shared_folder, pool, *options) as pilots, census(pilots) as counted:
                await found.until(RUNS, 300)
                attempts = await scored(found)
                done = time.time()
                await reached(lambda: not pilots.jobs(*LIVING), "the end of the last pilot")
                gone = time.time()
        first = min(run.started_at.timestamp() for run in attempts if run.started_at)
        last = max(run.ended_at.timestamp() for run in attempts if run.ended_at)
        took[most] = last - first
        assert counted.most() == most
        print(
            f"{most} pilots: first run after {first - begun:.1f} s, 12 runs of 4 s in {took[most]:.1f} s, "
            f"no pilot {gone - done:.1f} s after the last (idle: 3 s)"
        )
    assert took[1] / took[3] > 2
