"""Real sandboxes by themselves: what a command has inside, and to what it is held.

What hostile agents try is in support/escapes, each attempt through the whole runner.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from firetrial_runner.sandbox.port import Exit, Limits, Termination
from support.sandboxes import MIB, Rig, make_rig, read_all

REAL = ["bubblewrap", pytest.param("docker", marks=pytest.mark.needs("docker"))]
if os.environ.get("FIRETRIAL_BENCH") == "full":  # bubblewrap again, in a scheduler's job: make test-slurm
    REAL.append("job")


@pytest.fixture(params=REAL)
async def rig(request: pytest.FixtureRequest) -> AsyncIterator[Rig]:
    rig = make_rig(request.param)
    yield rig
    assert await rig.left() == []
    await rig.sandbox.aclose()


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / "workspace").mkdir()
    return tmp_path / "workspace"


async def run(rig: Rig, workspace: Path, source: str, **fields: Any) -> tuple[str, Exit]:
    """(stdout and stderr, end) of Python source in the sandbox."""
    process = await rig.sandbox.start(rig.spec(source, workspace, **fields))
    stdout, stderr = await read_all(process)
    return (stdout + stderr).decode(errors="backslashreplace"), await process.wait()


async def tried(rig: Rig, workspace: Path, attempts: str, **fields: Any) -> dict[str, str]:
    """Run `attempts`, lines `name: expression`; gives "did it" or the error for each."""
    source = f"""
import json, os, socket, subprocess, ctypes
libc = ctypes.CDLL(None, use_errno=True)
def call(result):
    if result < 0: raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result
results = {{}}
for line in {attempts!r}.strip().splitlines():
    name, _, expression = line.strip().partition(': ')
    try:
        eval(expression); results[name] = 'did it'
    except BaseException as e:
        results[name] = f'{{type(e).__name__}}: {{e}}'
print(json.dumps(results))
"""
    told, _ = await run(rig, workspace, source, **fields)
    return dict(json.loads(told))


def of_host(mark: str) -> list[str]:
    """Command lines on the host that hold a mark."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                line = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if mark.encode() in line:
                found.append(line.decode(errors="replace"))
    return found


async def test_what_is_allowed(rig: Rig, workspace: Path) -> None:
    results = await tried(
        rig,
        workspace,
        """
        own place: (os.getcwd(), os.listdir()) == ('/workspace', []) or 1 / 0
        workspace: open('/workspace/x', 'w').write('x')
        tmp: open('/tmp/x', 'w').write('x')
        home: open(os.path.expanduser('~/x'), 'w').write('x')
        shm: open('/dev/shm/x', 'w').write('x')
        null: open('/dev/null', 'w').write('x')
        random: open('/dev/urandom', 'rb').read(8)
        threads: __import__('concurrent.futures').futures.ThreadPoolExecutor(4).submit(len, '').result()
        processes: subprocess.run(['true'], check=True)
        forks: os.waitpid(os.fork() or os._exit(0), 0)
        unix sockets: [one.send(b'x') for one, other in [socket.socketpair()]]
        """,
    )
    assert set(results.values()) == {"did it"}, results


async def test_the_environment_is_clean(rig: Rig, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_KEY", "sk-of-the-runner")
    source = """
import os, glob
print(os.environ['TOKEN'])
for path in glob.glob('/proc/*/environ'):
    try: print(open(path).read().replace(chr(0), chr(10)))
    except OSError: pass
"""
    told, _ = await run(rig, workspace, source, env={"TOKEN": "of-the-run"})
    assert "of-the-run" in told
    assert "sk-of-the-runner" not in told
    assert "SECRET_KEY" not in told
    assert "VIRTUAL_ENV" not in told


async def test_values_of_the_environment_are_in_no_command_line(rig: Rig, workspace: Path) -> None:
    token = uuid.uuid4().hex
    process = await rig.sandbox.start(rig.spec("sleep", workspace, env={"TOKEN": token}))
    output = process.output()
    await anext(output)
    assert of_host(token) == []
    await process.cancel()
    await process.wait()


async def test_bound_files_are_read_only(rig: Rig, workspace: Path, tmp_path: Path) -> None:
    given = tmp_path / "given"
    given.mkdir()
    (given / "file").write_text("x")
    given.chmod(0o777)
    source = "open('/given/file').read(); print('read'); open('/given/new', 'w')"
    told, _ = await run(rig, workspace, source, read_only={"/given": given})
    assert told.splitlines()[0] == "read"
    assert "Read-only file system" in told
    assert [path.name for path in given.iterdir()] == ["file"]


DAEMONS = """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.closerange(0, 3)
        os.execvp('sleep', ['sleep', '{mark}'])
    os._exit(0)
os.wait()
time.sleep(60)
"""


@pytest.mark.parametrize("how", ["times out", "is cancelled"])
async def test_what_a_command_left_running_dies_with_it(rig: Rig, workspace: Path, how: str) -> None:
    mark = f"1{uuid.uuid4().int % 10**12:012}"
    limits = Limits(wall_s=0.8 if how == "times out" else 30)
    source = DAEMONS.format(mark=mark)
    process = await rig.sandbox.start(rig.spec(source, workspace, limits=limits))
    deadline = time.monotonic() + 5
    while not any(line.startswith("sleep\0") for line in of_host(mark)) and time.monotonic() < deadline:
        await asyncio.sleep(0.01)
    assert any(line.startswith("sleep\0") for line in of_host(mark)), "it did start"
    if how == "is cancelled":
        await process.cancel()
    end = await process.wait()
    assert end.termination is (Termination.TIMED_OUT if how == "times out" else Termination.CANCELLED)
    assert of_host(mark) == []


async def test_a_fork_bomb_is_bounded(rig: Rig, workspace: Path) -> None:
    source = """
import os, time
count = 0
while True:
    try:
        if os.fork() == 0:
            time.sleep(30); os._exit(0)
    except OSError:
        break
    count += 1
print(count)
"""
    told, end = await run(rig, workspace, source, limits=Limits(wall_s=20, processes=40))
    assert (end.termination, end.code) == (Termination.EXITED, 0)
    assert 20 < int(told) < 45


async def test_a_child_that_takes_all_memory_costs_only_itself(rig: Rig, workspace: Path) -> None:
    source = """
import subprocess, sys
child = subprocess.run([sys.executable, '-c', 'x = [bytearray(b"x" * (8 << 20)) for _ in range(100)]'])
print(child.returncode)
"""
    told, end = await run(rig, workspace, source, limits=Limits(wall_s=30, memory_bytes=150 * MIB))
    assert (told.strip(), end.termination, end.code) == ("-9", Termination.EXITED, 0)
    assert end.usage.oom_kills >= 1


async def test_memory_shared_by_forks_counts_once(rig: Rig, workspace: Path) -> None:
    source = """
import os, time
x = b'x' * (100 << 20)
for _ in range(4):
    if os.fork() == 0:
        time.sleep(1); os._exit(0)
for _ in range(4): os.wait()
print('lived')
"""
    told, end = await run(rig, workspace, source, limits=Limits(wall_s=30, memory_bytes=220 * MIB))
    assert (told.strip(), end.usage.oom_kills) == ("lived", 0)


async def test_sizes_of_files_and_places(rig: Rig, workspace: Path) -> None:
    source = """
import errno, os
def fill(path):
    try:
        with open(path, 'wb') as f:
            for _ in range(64): f.write(bytes(1 << 20)); f.flush()
        return 'all'
    except OSError as e:
        return errno.errorcode[e.errno]
    finally:
        os.path.exists(path) and os.unlink(path)
import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
print(fill('/workspace/x'), fill('/tmp/x'), fill('/dev/shm/x'), fill(os.path.expanduser('~/x')))
"""
    limits = Limits(wall_s=30, file_bytes=32 * MIB, tmp_bytes=8 * MIB, memory_bytes=512 * MIB)
    told, _ = await run(rig, workspace, source, limits=limits)
    assert told.split() == ["EFBIG", "ENOSPC", "ENOSPC", "ENOSPC"]


async def test_open_files(rig: Rig, workspace: Path) -> None:
    source = """
held = []
try:
    while True: held.append(open('/dev/null'))
except OSError as e:
    print(e.errno, len(held))
"""
    told, _ = await run(rig, workspace, source, limits=Limits(wall_s=30, open_files=64))
    number, count = map(int, told.split())
    assert (number, 40 < count < 64) == (24, True)


async def test_a_gigabyte_without_a_newline_is_cut_in_little_memory(rig: Rig, workspace: Path) -> None:
    source = "import os\nfor _ in range(16 * 1024): os.write(1, b'x' * 65536)"
    limits = Limits(wall_s=60, output_bytes=64 * MIB)
    process = await rig.sandbox.start(rig.spec(source, workspace, limits=limits))
    size, largest = 0, 0
    async for chunk in process.output():
        size += len(chunk.data)
        largest = max(largest, len(chunk.data))
    end = await process.wait()
    assert (end.termination, size) == (Termination.OUTPUT_LIMIT, 64 * MIB)
    assert largest <= 65536


async def test_cores(rig: Rig, workspace: Path) -> None:
    """Two busy loops on half a core's worth of time."""
    source = """
import os, time
os.fork()
end = time.monotonic() + 1.5
while time.monotonic() < end: pass
"""
    _, end = await run(rig, workspace, source, limits=Limits(wall_s=30, cpus=0.5))
    assert end.usage.cpu_s is not None
    if "cgroup" in rig.sandbox.enforcement()["cpus"].lower():
        assert end.usage.cpu_s < 0.8 * end.usage.wall_s
    else:
        assert end.usage.cpu_s < 1.2 * end.usage.wall_s


async def test_usage(rig: Rig, workspace: Path) -> None:
    source = "import time\nx = b'x' * (64 << 20)\nwhile time.process_time() < 1: pass"
    _, end = await run(rig, workspace, source)
    usage = end.usage
    assert usage.max_rss_bytes is not None
    assert 64 * MIB < usage.max_rss_bytes < 150 * MIB
    assert usage.cpu_s is not None
    assert 0.5 < usage.cpu_s < 3


async def test_files_shown_read_only_within_the_workspace(rig: Rig, workspace: Path, tmp_path: Path) -> None:
    """As protected files lie over an agent's copy of a repository: neither they nor their folder move."""
    pinned, copy = tmp_path / "pinned", workspace / "repo"
    for folder in (pinned, copy):
        (folder / "pkg").mkdir(parents=True)
        (folder / "score.py").write_text("kept")
        (folder / "pkg" / "io.py").write_text("kept")
    (copy / "model.py").write_text("target")
    inside = {f"/workspace/repo/{name}": pinned / name for name in ("score.py", "pkg")}
    results = await tried(
        rig,
        workspace,
        """
        a target: open('repo/model.py', 'w').write('better')
        a new file: open('repo/notes.txt', 'w').write('x')
        a file: open('repo/score.py', 'w').write('x')
        its mode: os.chmod('repo/score.py', 0o777)
        its name: os.rename('repo/score.py', 'repo/old.py')
        its removal: os.remove('repo/score.py')
        a folder's file: open('repo/pkg/io.py', 'a').write('x')
        a folder's new file: open('repo/pkg/new.py', 'w').write('x')
        a folder's name: os.rename('repo/pkg', 'repo/old')
        unmount: call(libc.umount2(b'/workspace/repo/pkg', 2))
        """,
        read_only=inside,
    )
    allowed = {name for name, result in results.items() if result == "did it"}
    assert allowed == {"a target", "a new file"}, results
    assert (pinned / "score.py").read_text() == (pinned / "pkg" / "io.py").read_text() == "kept"
    assert sorted(path.name for path in (pinned / "pkg").iterdir()) == ["io.py"]
    assert (copy / "model.py").read_text() == "better"
