"""Runs as jobs of a real Slurm: what the scheduler does to one is told, and is never the agent's failure."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import socket
import subprocess
import time
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from firetrial.runner.v1 import run_pb2
from firetrial_client import AsyncFiretrial, make_plan
from firetrial_kit.s3 import S3Objects
from firetrial_runner.sandbox.port import Exit, Limits, Process, SandboxError, Termination
from firetrial_runner.schedulers import open_scheduler
from support import scripted_models as scripted
from support import servers, slurm
from support.agents import SORTING
from support.cluster import Cluster, cluster
from support.greeter import Greeter
from support.sandboxes import MIB, Rig, read_all, rig_of_jobs
from support.scripted_models import ScriptedModels

pytestmark = [pytest.mark.needs("bwrap", "openssl", *slurm.PROGRAMS), pytest.mark.timeout(300)]
full = pytest.mark.skipif(os.environ.get("FIRETRIAL_BENCH") != "full", reason="make test-slurm runs it")
LIMITS = Limits(wall_s=60, memory_bytes=200 * MIB)
SECRET = "sk-what-only-the-runner-has"


def address() -> str:
    """Of this machine, as another one would name it: so that it is called over TLS; else the loopback's."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # nothing is sent
        except OSError:
            return ""
        return str(probe.getsockname()[0])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[slurm.Slurm]:
    """A Slurm of four CPUs, whose commands lead this process, too."""
    folder = tmp_path_factory.mktemp("site")
    for each in (folder, folder.parent):
        each.chmod(0o755)  # runs are users of their own
    with (
        slurm.slurm(folder / "slurm", cpus=4, kill_wait=2, grace=1) as found,
        pytest.MonkeyPatch.context() as patch,
    ):
        for name, value in {**found.environ, "OPENAI_API_KEY": SECRET}.items():
            patch.setenv(name, value)
        yield found


@pytest.fixture
def place(tmp_path: Path) -> Path:
    tmp_path.chmod(0o755)  # runs are users of their own
    return tmp_path


@pytest.fixture
async def rig(site: slurm.Slurm, place: Path) -> AsyncIterator[Rig]:
    rig = rig_of_jobs(open_scheduler("slurm", place / "scheduler"), place / "jobs", address())
    yield rig
    await rig.sandbox.aclose()


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / "workspace").mkdir()
    return tmp_path / "workspace"


async def begun(rig: Rig, workspace: Path, program: str = "sleep") -> tuple[Process, str]:
    """A command that runs, and its job."""
    process = await rig.sandbox.start(rig.spec(program, workspace, limits=LIMITS))
    await anext(process.output())
    ((_, job),) = [left.what.split() for left in await rig.left()]
    return process, job


def lost(end: Exit, *told: str) -> bool:
    return end.termination is Termination.LOST and all(word in end.detail for word in told)


def told_of(site: slurm.Slurm, job: str, folder: Path) -> str:
    """What others may read of a job: by Slurm, and by /proc of the program that keeps its sandbox."""
    script = site.run("scontrol", "write", "batch_script", job, "-")
    (shim,) = [
        at for at in Path("/proc").glob("[0-9]*") if str(folder).encode() in (at / "cmdline").read_bytes()
    ]
    shown = (shim / "cmdline").read_text() + (shim / "environ").read_text()
    return site.run("scontrol", "show", "job", "--all", job) + script + shown


def list_orders(folder: Path) -> list[Path]:
    """The files that tell jobs of their runs."""
    return list(folder.rglob("order.json"))


CALLS = """
import os, urllib.request
for name in ("GATEWAY", "http_proxy"):
    print(urllib.request.build_opener(urllib.request.ProxyHandler({})).open(os.environ[name]).read().decode())
print(sorted(os.environ), flush=True)
import time; time.sleep(30)
"""


class Proxy(Greeter):
    def environment(self, url: str) -> dict[str, str]:
        return {"http_proxy": url}


async def test_a_command_reaches_its_runner_and_nobody_reads_what_it_is_told(
    site: slurm.Slurm, rig: Rig, workspace: Path, tmp_path: Path
) -> None:
    """Through TLS and back; Slurm is told no token of the run, nor the job what its runner has."""
    gateway, proxy, waits = Greeter("the gateway"), Proxy("the way out"), []

    async def note(what: str) -> None:
        waits.append(what)

    spec = rig.spec(
        CALLS,
        workspace,
        limits=LIMITS,
        gateway=gateway,
        egress=proxy,
        env={"TOKEN": "tok-of-the-run"},
        waits=note,
    )
    asked = time.monotonic()
    process = await rig.sandbox.start(spec)
    print(f"from the request to the start: {time.monotonic() - asked:.2f} s")
    output = process.output()
    said = b""
    while b"]" not in said:
        said += (await anext(output)).data
    assert said.decode().splitlines()[:2] == ["hello from the gateway", "hello from the way out"]
    assert "SLURM" not in said.decode()
    assert "OPENAI_API_KEY" not in said.decode()
    assert re.fullmatch(r"bubblewrap, as slurm's job \d+ on .+", process.place)
    assert waits[-1] == ""
    (job,) = [job for job in site.jobs() if job["job_state"] == "RUNNING"]
    known = told_of(site, str(job["job_id"]), tmp_path)
    assert not [word for word in (SECRET, "tok-of-the-run", "secret") if word in known]
    assert list_orders(tmp_path) == []
    await process.cancel()
    cancelled = time.monotonic()
    assert (await process.wait()).termination is Termination.CANCELLED
    assert time.monotonic() - cancelled < 2
    assert await rig.left() == []
    await gateway.aclose()
    await proxy.aclose()


async def test_the_queue_is_told_and_costs_the_command_nothing(
    site: slurm.Slurm, rig: Rig, workspace: Path
) -> None:
    blocker = site.run(
        "sbatch",
        "--parsable",
        "--export=NONE",
        "--exclusive",
        "--mem=0",
        "-o",
        "/dev/null",
        "--wrap",
        "sleep 60",
    ).strip()
    waits: list[str] = []

    async def note(what: str) -> None:
        waits.append(what)
        if "Resources" in what or "Priority" in what:
            site.run("scancel", blocker)

    process = await rig.sandbox.start(rig.spec("greet", workspace, limits=Limits(wall_s=2), waits=note))
    assert await read_all(process) == (b"hello\n", b"oops\n")
    end = await process.wait()
    assert (end.termination, end.code) == (Termination.EXITED, 0)
    assert end.usage.wall_s < 2
    assert any(
        re.fullmatch(r"its place as slurm's job \d+ \(PENDING: (Resources|Priority)\)", told)
        for told in waits
    )
    assert waits[-1] == ""


POLITE = """
import signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
print("up", flush=True)
time.sleep(60)
"""


async def test_a_job_that_is_cancelled_by_someone_is_lost(
    site: slurm.Slurm, rig: Rig, workspace: Path
) -> None:
    """Even where the command takes the signal for a reason to end well."""
    process, job = await begun(rig, workspace, POLITE)
    site.run("scancel", job)
    assert lost(await process.wait(), f"job {job}", "CANCELLED")
    assert await rig.left() == []


@full
async def test_a_job_that_makes_room_for_another_is_lost_and_not_started_again(
    site: slurm.Slurm, rig: Rig, workspace: Path
) -> None:
    process, job = await begun(rig, workspace)
    urgent = site.run(
        "sbatch",
        "--parsable",
        "--export=NONE",
        "-p",
        "urgent",
        "--exclusive",
        "--mem=0",
        "-o",
        "/dev/null",
        "--wrap",
        "sleep 30",
    ).strip()
    assert lost(await process.wait(), f"job {job}", "put back into the queue")
    assert await rig.left() == []
    assert {str(job["job_id"]): job["job_state"] for job in site.jobs()}[job] == "CANCELLED"
    site.run("scancel", urgent)


@full
@pytest.mark.parametrize(
    ("how", "told"),
    [
        (("update", "job={job}", "TimeLimit=1"), "TIMEOUT"),
        (("update", "nodename=node", "state=down", "reason=test"), "NODE_FAIL|put back into the queue"),
        (("requeue", "{job}"), "put back into the queue"),
    ],
)
async def test_what_ends_a_job_is_told(
    site: slurm.Slurm, rig: Rig, workspace: Path, how: tuple[str, ...], told: str
) -> None:
    limits = Limits(wall_s=200, memory_bytes=200 * MIB)
    process = await rig.sandbox.start(
        rig.spec("import time; print('up', flush=True); time.sleep(190)", workspace, limits=limits)
    )
    await anext(process.output())
    (left,) = await rig.left()
    site.run("scontrol", *(part.format(job=left.what.split()[1]) for part in how))
    try:
        end = await process.wait()
    finally:
        if "nodename=node" in how:
            with suppress(RuntimeError):  # it may have come back by itself
                site.run("scontrol", "update", "nodename=node", "state=resume")
    assert end.termination is Termination.LOST
    assert re.search(told, end.detail)
    assert await rig.left() == []


async def test_a_submission_that_is_refused_says_why(site: slurm.Slurm, place: Path, workspace: Path) -> None:
    rig = rig_of_jobs(open_scheduler("slurm", place / "scheduler"), place / "jobs", queue="nonesuch")
    with pytest.raises(SandboxError, match="invalid partition"):
        await rig.sandbox.start(rig.spec("greet", workspace))
    assert await rig.left() == []
    await rig.sandbox.aclose()


@full
async def test_a_controller_that_is_away_for_a_while_ends_nothing(
    site: slurm.Slurm, rig: Rig, workspace: Path, tmp_path: Path
) -> None:
    process, _ = await begun(rig, workspace)
    controller = site.daemons["slurmctld"]
    controller.send_signal(signal.SIGSTOP)
    try:
        (tmp_path / "second").mkdir()
        starting = asyncio.create_task(
            rig.sandbox.start(rig.spec("greet", tmp_path / "second", "s", limits=LIMITS))
        )
        await asyncio.sleep(20)
        assert not starting.done()
    finally:
        controller.send_signal(signal.SIGCONT)
    second = await starting
    assert (await second.wait()).code == 0
    assert len([job for job in site.jobs() if rig.mark in job["name"]]) == 2
    await process.cancel()
    assert (await process.wait()).termination is Termination.CANCELLED


@full
async def test_many_jobs_are_asked_about_together(site: slurm.Slurm, rig: Rig, tmp_path: Path) -> None:
    async def run(number: int) -> float:
        (folder := tmp_path / str(number)).mkdir()
        begun = time.monotonic()
        process = await rig.sandbox.start(rig.spec("greet", folder, f"r{number}", limits=LIMITS))
        took = time.monotonic() - begun
        assert (await process.wait()).code == 0
        return took

    took = sorted([await run(number) for number in range(10)])
    print(
        f"start of a job, one after another: {took[5]:.2f} s in the middle, {took[0]:.2f} to {took[-1]:.2f} s"
    )
    took = sorted(await asyncio.gather(*map(run, range(10, 22))))
    print(f"12 at once on 4 CPUs: {took[0]:.2f} to {took[-1]:.2f} s")


STUDY = """# Sorting small arrays

## Question
How does the size of an array change which of two sorting methods is faster?

## Scope
Arrays of 4 to 4096 random integers; insertion sort and merge sort; wall time over 50 repeats.

## Results
Table 1 shows the wall time of both methods by array size.

Table 1: Median wall time by array size and method.

Insertion sort is faster than merge sort on arrays below 32 elements (Table 1).
Merge sort is faster than insertion sort on arrays above 128 elements (Table 1).
"""
AGENT = """
import json, os, time, urllib.request
print("planning", flush=True)
body = json.dumps({"model": "small", "messages": [{"role": "user", "content": "the conclusion"}]}).encode()
headers = {"authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "content-type": "application/json"}
url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
said = json.load(urllib.request.urlopen(urllib.request.Request(url, body, headers)))
time.sleep(3)
open("conclusion.md", "w").write(said["choices"][0]["message"]["content"])
"""


@pytest.fixture
def system(site: slurm.Slurm, s3_server: servers.S3, tmp_path: Path) -> Iterator[Cluster]:
    """Four services, and a runner whose runs are jobs."""
    tmp_path.chmod(0o755)
    asyncio.run(S3Objects(s3_server.url, *s3_server.keys["admin"]).ensure_buckets())
    with ScriptedModels(lambda _: scripted.text(SORTING["right"])) as models:
        settings = tmp_path / "gateway.toml"
        settings.write_text(
            f'[upstreams.scripted]\nurl = "{models.base_url}"\ndialect = "openai"\n'
            'key_env = "THE_REAL_KEY"\nmodels = ["small"]\n'
        )
        runner = {
            **site.environ,
            "FIRETRIAL_RUNNER_SANDBOX": "job",
            "FIRETRIAL_RUNNER_SCHEDULER": "slurm",
            "FIRETRIAL_RUNNER_SCHEDULER_PARTITION": "main",
            "FIRETRIAL_RUNNER_SCHEDULER_POLL_S": "1",
            "FIRETRIAL_RUNNER_JOB_ADDRESS": address(),
            "FIRETRIAL_RUNNER_SLOTS": "4",
            "FIRETRIAL_RUNNER_GATEWAY": str(settings),
            "THE_REAL_KEY": SECRET,
        }
        with (
            servers.nats_server(tmp_path / "nats") as nats_url,
            cluster(tmp_path, nats_url, s3_server, runner) as found,
        ):
            yield found


@pytest.mark.needs("nats-server", "weed")
@pytest.mark.parametrize("end", ["scancel", pytest.param("kill the runner", marks=full)])
async def test_four_runs_are_four_jobs_and_have_four_outcomes(
    system: Cluster, site: slurm.Slurm, tmp_path: Path, end: str
) -> None:
    """One job is cancelled, or the runner killed: there is another attempt, and no agent is blamed."""
    before = {job["job_id"] for job in site.jobs()}
    (study := tmp_path / "sorting.md").write_text(STUDY)
    async with AsyncFiretrial(system.endpoints) as client:
        agent = await client.submit_agent(name="asks", command=["python3", "-c", AGENT])
        plan = make_plan([str(agent.id)], repeats=4, judge="offline", model="small", memory=200 * MIB)
        submitted = await client.submit_paper(study, plan=plan, request_id=f"jobs-{uuid.uuid4().hex}")
        victim = await running(site, before)
        if end == "scancel":
            site.run("scancel", victim)
        else:
            system.kill("runner")
            system.start("runner")
        async for report in client.watch_report(submitted.experiment_id, timeout=120, appear=60):
            last = report
        assert last.complete
        async for _ in client.watch_runs(submitted.experiment_id, timeout=60):
            pass
        runs = [run async for run in client.list_runs(submitted.experiment_id)]
    counted = [run for run in runs if not run.superseded]
    assert Counter(run.outcome for run in counted) == {run_pb2.OUTCOME_SCORED: 4}
    assert sorted(run.repeat for run in counted) == [1, 2, 3, 4]
    again = [run for run in runs if run.superseded]
    assert again
    assert {run.outcome for run in again} == {run_pb2.OUTCOME_INFRA_FAILED}
    if end == "scancel":
        assert [run.attempt for run in counted].count(2) == 1
        assert f"job {victim}" in again[0].reason
        assert "CANCELLED" in again[0].reason
    assert all(run.usage.model_calls == 1 for run in counted)
    jobs = [job for job in site.jobs() if job["job_id"] not in before]
    assert len(jobs) == len(runs)
    assert not {"RUNNING", "PENDING"} & {job["job_state"] for job in jobs}
    assert kept(system.folder / "work" / "jobs") == []
    assert holding(SECRET, system.folder, site.folder) == ""


def kept(folder: Path) -> list[Path]:
    return list(folder.iterdir())


def holding(text: str, *folders: Path) -> str:
    """The files below these folders that have the text in them."""
    found = subprocess.run(["grep", "-rl", text, *folders], capture_output=True, text=True, check=False)
    return found.stdout


async def running(site: slurm.Slurm, before: set[int]) -> str:
    """A job of a run that has begun, once there is one."""
    async with asyncio.timeout(60):
        while True:
            new = [
                job for job in site.jobs() if job["job_id"] not in before and job["job_state"] == "RUNNING"
            ]
            if new:
                return str(new[0]["job_id"])
            await asyncio.sleep(0.2)
