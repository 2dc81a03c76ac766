"""GPUs are one run's alone, whichever runner of the machine gives them, and come back however it ends."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from prometheus_client import CollectorRegistry

from firetrial_runner.gpus.claims import Claims
from firetrial_runner.gpus.device import GIB, Demand, Gpu, choose
from firetrial_runner.gpus.gpus import Gpus
from firetrial_runner.gpus.inventory import FakeInventory, Reading
from firetrial_runner.metrics import GpuMetrics
from firetrial_runner.presence import Presence

FIRST = Gpu("GPU-a", 0, "NVIDIA L4", 22 * GIB)
SECOND = Gpu("GPU-b", 1, "NVIDIA H200", 140 * GIB)


def gpus_of(work_dir: Path, *gpus: Gpu, wanted: str | None = None) -> tuple[Gpus, Presence]:
    presence = Presence(work_dir)
    return Gpus(FakeInventory(*gpus), Claims(work_dir / "gpus", presence), wanted), presence


class TwoRunners(RuleBasedStateMachine):
    """Two runners of one machine take and give back in any order."""

    @initialize(memories=st.lists(st.integers(1, 4), min_size=1, max_size=5))
    def begin(self, memories: list[int]) -> None:
        import tempfile  # noqa: PLC0415 -- a state machine has no fixtures

        self.folder = tempfile.TemporaryDirectory()
        self.machine = [Gpu(f"GPU-{at}", at, "A", size * GIB) for at, size in enumerate(memories)]
        made = [gpus_of(Path(self.folder.name), *self.machine) for _ in range(2)]
        self.runners = [gpus for gpus, _ in made]
        self.presences = [presence for _, presence in made]
        self.runs: dict[str, Gpus] = {}

    @rule(which=st.integers(0, 1), run=st.integers(0, 9), count=st.integers(0, 3), memory=st.integers(0, 4))
    def take(self, which: int, run: int, count: int, memory: int) -> None:
        key, demand, runner = f"r-{run}", Demand(count, memory * GIB), self.runners[which]
        if key in self.runs:
            assert count == 0 or not self.runs[key].take(key, demand)
            return
        held = {gpu for run_key, holder in self.runs.items() for gpu in holder.given(run_key)}
        free = [gpu for gpu in self.machine if gpu not in held]
        expected = choose(demand, free)
        assert runner.take(key, demand) == (expected is not None)
        if count and expected is not None:
            assert runner.given(key) == expected
            self.runs[key] = runner

    @rule(run=st.integers(0, 9))
    def release(self, run: int) -> None:
        key = f"r-{run}"
        if key in self.runs:
            self.runs.pop(key).release(key)
        for runner in self.runners:
            runner.release("r-never")

    @invariant()
    def never_two_runs_on_a_device(self) -> None:
        held = [gpu for key, holder in getattr(self, "runs", {}).items() for gpu in holder.given(key)]
        assert len(held) == len(set(held))

    def teardown(self) -> None:
        if hasattr(self, "folder"):
            for key, holder in self.runs.items():
                holder.release(key)
            for presence in self.presences:
                presence.leave()
            self.folder.cleanup()


TestTwoRunners = TwoRunners.TestCase
TestTwoRunners.settings = settings(max_examples=30, stateful_step_count=20)


def test_a_killed_runners_device_is_free_only_once_nothing_of_it_is_left(tmp_path: Path) -> None:
    code = (
        "import sys, time; from pathlib import Path; from firetrial_runner.presence import Presence;"
        "from firetrial_runner.gpus.claims import Claims; work = Path(sys.argv[1]); it = Presence(work);"
        "print(it.lease, Claims(work / 'gpus', it).take('GPU-a'), flush=True); time.sleep(60)"
    )
    mine, presence = gpus_of(tmp_path, FIRST)
    with subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        lease, took = other.stdout.readline().decode().split()
        assert took == "True"
        assert not mine.take("r-1", Demand(1))
        other.send_signal(signal.SIGKILL)
        other.wait()
    assert presence.is_dead(lease)
    assert not mine.take("r-1", Demand(1))
    presence.forget(lease)  # as the reaper does, after what it removed
    assert mine.take("r-1", Demand(1))
    mine.release("r-1")
    presence.leave()


def test_only_what_is_named_and_what_there_is_is_given(tmp_path: Path) -> None:
    mine, _ = gpus_of(tmp_path / "a", FIRST, SECOND, wanted="0")
    assert (mine.devices, mine.told) == ((FIRST,), "1 × NVIDIA L4 of 22 GiB")
    assert not mine.take("r-1", Demand(1, 100 * GIB))
    none, _ = gpus_of(tmp_path / "b")
    assert none.told == "none: no GPU was put here"
    assert none.take("r-1", Demand())
    assert not none.take("r-1", Demand(1))
    blind, _ = gpus_of(tmp_path / "c", FIRST, wanted="")
    assert blind.told == "none: none of those here is named by ''"


async def test_what_a_run_did_is_measured_and_shown(tmp_path: Path) -> None:
    registry = CollectorRegistry()
    inventory = FakeInventory(FIRST, SECOND)
    presence = Presence(tmp_path)
    see = GpuMetrics(registry, "lab").see
    mine = Gpus(inventory, Claims(tmp_path / "gpus", presence), see=see, every_s=0.01)
    assert mine.take("r-1", Demand(1))
    assert mine.used("r-1", 3).utilisation is None
    inventory.readings = {FIRST: Reading(0.5, 4 * GIB), SECOND: Reading(1.0, 99 * GIB)}
    watching = asyncio.create_task(mine.watch())
    while mine.used("r-1", 3).utilisation != 0.5:
        await asyncio.sleep(0.005)
    used = mine.used("r-1", 3)
    assert (used.gpu_s, used.max_memory_bytes) == (3, 4 * GIB)
    by = {"pool": "lab", "index": "1", "uuid": "GPU-b", "model": "NVIDIA H200"}
    assert registry.get_sample_value("firetrial_gpu_utilisation_ratio", by) == 1.0
    assert registry.get_sample_value("firetrial_gpu_memory_used_bytes", by) == 99 * GIB
    inventory.readings = {FIRST: Reading(None, 2 * GIB)}  # the second is lost, the first tells no more
    while len(mine.devices) == 2:
        await asyncio.sleep(0.005)
    assert registry.get_sample_value("firetrial_gpu_memory_bytes", by) is None
    assert registry.get_sample_value("firetrial_gpu_devices", {"pool": "lab"}) == 1
    assert not mine.take("r-2", Demand(1))
    assert mine.used("r-1", 3) == used
    mine.release("r-1")
    assert mine.used("r-1", 3).gpu_s == 0
    watching.cancel()
    presence.leave()


async def test_where_there_is_none_nobody_looks_again(tmp_path: Path) -> None:
    mine, presence = gpus_of(tmp_path)
    watching = asyncio.create_task(mine.watch())
    await asyncio.sleep(0.05)
    assert not watching.done()  # a part of a service that ended would end the service
    watching.cancel()
    presence.leave()
