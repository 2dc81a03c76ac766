"""Runs as jobs of a real Slurm: what the scheduler does to one is told, and is never the agent's failure."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from firetrial_runner.sandbox.port import Exit, Limits, Process, SandboxError, Termination
from firetrial_runner.schedulers import open_scheduler
from support import slurm
from support.greeter import Greeter
from support.sandboxes import MIB, Rig, read_all, rig_of_jobs

pytestmark = [pytest.mark.needs("bwrap", "openssl", *slurm.PROGRAMS), pytest.mark.timeout(300)]
full = pytest.mark.skipif(os.environ.get("FIRETRIAL_BENCH") != "full", reason="make test-slurm runs it")
LIMITS = Limits(wall_s=60, memory_bytes=200 * MIB)
SECRET = "sk-what-only-the-runner-has"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[slurm.Slurm]:
    """A Slurm of four CPUs, whose commands lead this process, too."""
    folder = tmp_path_factory.mktemp("site")
    for each in (folder, folder.parent):
        each.chmod(0o755)  # runs are users of their own
    with (
        slurm.leading(folder / "slurm", cpus=4, kill_wait=2, grace=1) as found,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setenv("OPENAI_API_KEY", SECRET)
        yield found


@pytest.fixture
def place(tmp_path: Path) -> Path:
    tmp_path.chmod(0o755)  # runs are users of their own
    return tmp_path


@pytest.fixture
async def rig(site: slurm.Slurm, place: Path) -> AsyncIterator[Rig]:
    rig = rig_of_jobs(open_scheduler("slurm", place / "scheduler"), place / "jobs", slurm.outward())
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
    assert time.monotonic() - cancelled < 20  # it would have gone on for 30 s
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
