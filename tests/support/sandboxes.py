"""Every sandbox behind one face, with the same programs in each: what the contract suite runs over."""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import sys
import tempfile
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import docker
import httpx
import pytest

from firetrial_runner.sandbox.apptainer import ApptainerSandbox
from firetrial_runner.sandbox.bwrap import BwrapSandbox
from firetrial_runner.sandbox.cgroup import Cgroups
from firetrial_runner.sandbox.docker import DockerSandbox
from firetrial_runner.sandbox.fake import FakeSandbox, Inside
from firetrial_runner.sandbox.jobs.job import Terms
from firetrial_runner.sandbox.jobs.order import Inner
from firetrial_runner.sandbox.jobs.sandbox import JobSandbox
from firetrial_runner.sandbox.port import Leftover, Limits, Process, Sandbox, SandboxSpec, Stream
from firetrial_runner.schedulers import Scheduler, open_scheduler
from support import apptainer

MIB = 1024**2

# What each program does in a real sandbox.
_SOURCES = {
    "greet": "import sys; print('hello'); sys.stderr.write('oops\\n')",
    "fail": "raise SystemExit(3)",
    "crash": "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
    "sleep": "import time; print('up', flush=True); time.sleep(60)",
    "hog": "data = [bytearray(10 << 20) for _ in range(100)]; print('not held')",
    "flood": "import os\nwhile True: os.write(1, b'x' * 65536)",
    "parts": "import os, time; os.write(1, b'\\xe2\\x82'); time.sleep(0.2);"
    "os.write(1, b'\\xac\\xff\\x00\\x1b[1m')",
    "fill": "f = open('big', 'wb')\nfor _ in range(64): f.write(bytes(1 << 20)); f.flush()\n"
    "import time; time.sleep(60)",
    "call": "import os, urllib.request; print(urllib.request.urlopen(os.environ['GATEWAY']).read().decode())",
    "look": "import os; print(os.environ['GIVEN'], open('in.txt').read(), open('/given/note').read());"
    "open('out.txt', 'w').write(os.getcwd())",
}


async def _greet(inside: Inside) -> int:
    await inside.write(b"hello\n")
    await inside.write(b"oops\n", Stream.STDERR)
    return 0


async def _fail(_: Inside) -> int:
    return 3


async def _crash(_: Inside) -> int:
    return 128 + 9


async def _sleep(inside: Inside) -> int:
    await inside.write(b"up\n")
    await inside.sleep(60)
    return 0


async def _hog(inside: Inside) -> int:
    inside.allocate(1000 * MIB)
    await inside.write(b"not held\n")
    return 0


async def _flood(inside: Inside) -> int:
    while True:
        await inside.write(b"x" * 65536)


async def _parts(inside: Inside) -> int:
    await inside.write(b"\xe2\x82")
    await inside.sleep(0.05)
    await inside.write(b"\xac\xff\x00\x1b[1m")
    return 0


async def _fill(inside: Inside) -> int:
    (inside.workspace / "big").write_bytes(bytes(64 * MIB))
    return 0


async def _look(inside: Inside) -> int:
    given = (inside.read_only["/given"] / "note").read_text()
    await inside.write(
        f"{inside.env['GIVEN']} {(inside.workspace / 'in.txt').read_text()} {given}\n".encode()
    )
    (inside.workspace / "out.txt").write_text("/workspace")
    return 0


async def _call(inside: Inside) -> int:
    async with httpx.AsyncClient() as client:
        answer = await client.get(inside.env["GATEWAY"])
    await inside.write(answer.content + b"\n")
    return 0


_FAKES = {
    "greet": _greet,
    "fail": _fail,
    "crash": _crash,
    "sleep": _sleep,
    "hog": _hog,
    "flood": _flood,
    "parts": _parts,
    "fill": _fill,
    "look": _look,
    "call": _call,
}


@dataclass(frozen=True, slots=True)
class Rig:
    """A sandbox under test; `lose` makes it vanish under a running command.

    Run keys and leases end in `mark`: several test sessions may share a machine.
    """

    sandbox: Sandbox
    python: str
    lose: Callable[[str], Awaitable[None]]
    mark: str = field(default_factory=lambda: uuid.uuid4().hex[:8])

    def spec(self, program: str, workspace: Path, run: str = "r", **fields: Any) -> SandboxSpec:
        """A spec that runs one of the programs above, or Python source where none has that name.

        The lease is that of the run's own name.
        """
        argv: tuple[str, ...] = (program,)
        if not isinstance(self.sandbox, FakeSandbox) and program != "nonesuch":
            argv = (self.python, "-c", _SOURCES.get(program, program))
        fields.setdefault("limits", Limits(wall_s=30))
        lease = f"lease-{run}-{self.mark}"
        return SandboxSpec(
            run_key=f"{run}-{self.mark}", lease=lease, argv=argv, workspace=workspace, **fields
        )

    async def left(self) -> list[Leftover]:
        """What there is of this rig's runs."""
        return [left for left in await self.sandbox.leftovers() if left.run_key.endswith(self.mark)]


def make_rig(kind: str) -> Rig:
    makers = {
        "fake": _fake,
        "bubblewrap": _bubblewrap,
        "docker": _docker,
        "apptainer": _apptainer,
        "job": _job,
    }
    return makers[kind]()


KINDS = ["fake", "bubblewrap", pytest.param("docker", marks=pytest.mark.needs("docker")), "apptainer", "job"]


def _fake() -> Rig:
    sandbox = FakeSandbox(_FAKES)

    async def lose(run_key: str) -> None:
        await sandbox.reap({left.lease for left in await sandbox.leftovers() if left.run_key == run_key})

    return Rig(sandbox, "", lose)


def _bubblewrap() -> Rig:
    return _of_processes(BwrapSandbox.create())


def _apptainer() -> Rig:
    """The real one where it is, with FIRETRIAL_TEST_SIF for its image, else what stands in for it."""
    image = os.environ.get("FIRETRIAL_TEST_SIF", "")
    if image and shutil.which("apptainer"):
        return _of_processes(ApptainerSandbox.create(image))
    folder = Path(tempfile.mkdtemp(prefix="firetrial-apptainer-"))
    folder.chmod(0o755)
    atexit.register(shutil.rmtree, folder)
    return _of_processes(ApptainerSandbox(apptainer.install(folder), folder, Cgroups.working()))


def _of_processes(sandbox: Sandbox) -> Rig:
    async def lose(run_key: str) -> None:
        pids = [
            int(left.what.removeprefix("process "))
            for left in await sandbox.leftovers()
            if left.run_key == run_key and left.what.startswith("process ")
        ]
        os.kill(min(pids), 9)

    return Rig(sandbox, "python3", lose)


def _job() -> Rig:
    """Jobs as processes of this machine."""
    folder = Path(tempfile.mkdtemp(prefix="firetrial-jobs-"))
    folder.chmod(0o711)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return rig_of_jobs(open_scheduler("local", folder), folder / "spool")


def rig_of_jobs(scheduler: Scheduler, spool: Path, address: str = "", queue: str = "") -> Rig:
    """Jobs that keep their commands in bubblewrap; to lose one is to cancel its job."""
    terms = Terms(sys.executable, Inner("bubblewrap"), queue)
    sandbox = JobSandbox(scheduler, spool, terms, address=address, every_s=1)

    async def lose(run_key: str) -> None:
        (job,) = [left for left in await sandbox.leftovers() if left.run_key == run_key]
        await scheduler.cancel([job.what.removeprefix("job ")])

    return Rig(sandbox, "python3", lose)


def _docker() -> Rig:
    url = os.environ["DOCKER_HOST"]
    image = os.environ.get("FIRETRIAL_TEST_IMAGE", "python:3.11-slim")

    async def lose(run_key: str) -> None:
        with contextlib.closing(docker.DockerClient(base_url=url)) as client:
            client.containers.get(f"firetrial-{run_key}").remove(force=True)

    return Rig(DockerSandbox.connect(url, image), "python3", lose)


async def read_all(process: Process) -> tuple[bytes, bytes]:
    """(stdout, stderr), read to the end."""
    got = {Stream.STDOUT: bytearray(), Stream.STDERR: bytearray()}
    async for chunk in process.output():
        got[chunk.stream] += chunk.data
    return bytes(got[Stream.STDOUT]), bytes(got[Stream.STDERR])
