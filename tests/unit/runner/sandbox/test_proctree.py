"""A process tree by /proc: real children, since nothing else has a /proc."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator

import pytest

from firetrial_runner.sandbox.proctree import ProcTree, kill_marked, marked

MIB = 1024**2
TREE = (
    "import subprocess, sys, time;"
    "child = subprocess.Popen([sys.executable, '-c', "
    "'x = bytearray(b\"x\" * (64 << 20)); print(1, flush=True); import time; time.sleep(60)']);"
    "child.wait(); print('lost it', flush=True); time.sleep(60)"
)


@pytest.fixture
def tree() -> Iterator[subprocess.Popen[bytes]]:
    mark = uuid.uuid4().hex
    environ = {**os.environ, "FIRETRIAL_RUN": f"r-{mark}", "FIRETRIAL_LEASE": f"l-{mark}"}
    with subprocess.Popen([sys.executable, "-c", TREE], stdout=subprocess.PIPE, env=environ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"1\n"
        yield process
        kill_marked({f"l-{mark}"})
        process.kill()


def test_the_whole_tree_is_measured(tree: subprocess.Popen[bytes]) -> None:
    sample = ProcTree(tree.pid, 2**40, spared=False).sample()
    assert sample.processes == 2
    assert 64 * MIB < sample.rss_bytes < 200 * MIB
    assert (sample.oom_kills, sample.cpu_s >= 0) == (0, True)


def test_the_largest_is_killed_for_memory_and_the_rest_goes_on(tree: subprocess.Popen[bytes]) -> None:
    meter = ProcTree(tree.pid, 32 * MIB, spared=True)
    assert meter.sample().oom_kills == 1
    assert tree.stdout is not None
    assert tree.stdout.readline() == b"lost it\n"
    assert tree.poll() is None
    deadline = time.monotonic() + 5
    while meter.sample().processes > 1 and time.monotonic() < deadline:
        time.sleep(0.01)
    last = meter.sample()
    assert (last.processes, last.oom_kills) == (1, 1)


def test_total_time_never_falls(tree: subprocess.Popen[bytes]) -> None:
    meter = ProcTree(tree.pid, 2**40, spared=False)
    before = meter.sample().cpu_s
    tree.kill()
    tree.wait()
    assert meter.sample().cpu_s == before


def test_marked_processes_are_found_and_killed_by_lease(tree: subprocess.Popen[bytes]) -> None:
    mine = [(run, lease) for pid, run, lease in marked() if pid == tree.pid]
    assert len(mine) == 1
    run, lease = mine[0]
    assert run.removeprefix("r-") == lease.removeprefix("l-")
    assert len([pid for pid, _, other in marked() if other == lease]) == 2, "children inherit it"
    assert kill_marked({"another"}) == []
    assert kill_marked({lease}, "r-another") == []
    assert len(kill_marked({lease})) == 2
    assert tree.wait(5) == -9
