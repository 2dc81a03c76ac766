"""What a run waits for, and what its GPUs did, where a person looks for it."""

from __future__ import annotations

from typing import Any

import pytest

from firetrial.parser.v1 import task_pb2
from firetrial.runner.v1 import run_pb2
from unit.client.cli.conftest import Call
from unit.client.fakes import World

WAITS = "2 GPUs of 80 GiB: no runner of pool gpu has them (1 × NVIDIA A10 of 24 GiB on a runner)"


@pytest.fixture
def experiment(firetrial: Call, world: World) -> str:
    world.tasks["t-1"] = task_pb2.Task(id="t-1")
    args = ("submit", "experiment", "--task", "t-1", "--agent-command", "true", "--repeats", "2")
    return str(firetrial(*args).output.strip())


def test_status_says_what_a_run_waits_for(
    firetrial: Call, answer: Any, world: World, experiment: str
) -> None:
    run = next(iter(world.runs.values()))
    run.state, run.waiting_for, run.reason = run_pb2.RUN_STATE_QUEUED, WAITS, ""
    assert f"waits for {WAITS}" in firetrial("status", experiment).output
    told = [run["waiting_for"] for run in answer("status", experiment)["runs"]]
    assert sorted(told) == ["", WAITS]
    assert WAITS in firetrial("runs", "show", run.id).output
    (line,) = [line for line in firetrial("status", experiment).output.splitlines() if line[:7] == "waiting"]
    assert line.split(maxsplit=1)[1] == f"1 run for {WAITS}"
    for other in world.runs.values():
        other.state, other.waiting_for = run_pb2.RUN_STATE_QUEUED, WAITS
    assert f"2 runs for {WAITS}" in firetrial("status", experiment).output
    for other in world.runs.values():
        other.state = run_pb2.RUN_STATE_CONCLUDED
    assert f"2 runs for {WAITS}" in firetrial("status", experiment).output


def test_what_its_gpus_did(firetrial: Call, world: World, experiment: str) -> None:
    run = world.runs[next(iter(world.runs))]
    assert "GPU time" not in firetrial("runs", "show", run.id).output
    run.usage.gpu_time.FromSeconds(7200)
    run.usage.gpu_utilisation, run.usage.max_gpu_memory_bytes = 0.426, 3 * 2**30
    assert ", 43% of it in use, 3.0 GiB at most" in firetrial("runs", "show", run.id).output


def test_a_plan_asks_for_gpus(firetrial: Call, world: World, experiment: str) -> None:
    task = next(iter(world.tasks))
    asked = ["submit", "experiment", "--task", task, "--agent-command", "true", "--gpu-memory", "40G"]
    assert "--gpus" in firetrial(*asked, code=2).stderr
    made = firetrial(*asked, "--gpus", "2").output.split()[0]
    limits = world.experiments[made].plan.limits
    assert (limits.gpus, limits.gpu_memory_bytes) == (2, 40 * 2**30)
