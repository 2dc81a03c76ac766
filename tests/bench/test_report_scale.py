"""What the report of a large experiment costs: 30 tasks × 12 agents, judged runs with claims and usage.

The short form has 6,000 runs; FIRETRIAL_BENCH=full has 100,000. Making the runs and reporting on them are
processes of their own, so that the memory told is that of reporting. Bounds are on CPU seconds over all
threads, which two idle cores need at most as wall time; wall time is told beside them, and on a busy machine
says nothing. State and bus are the fakes, the object store is that of a single machine.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.timeout(1800)
FULL = os.environ.get("FIRETRIAL_BENCH") == "full"
RUNS = 100_000 if FULL else 6_000
# What does not grow with the runs is the page with its plots and the details of 1,000 runs. The short form
# shall find what became many times slower, on machines of any speed; the full form holds the promise.
REPORT_S, UPDATE_S, MEMORY_MIB = (10.0, 1.0, 1024) if FULL else (20.0, 2.5, 640)
# Of one run, on a record of that many.
INGEST_S = 0.03


def measured(*argv: str) -> dict[str, float]:
    """What a process of the bench has measured."""
    path = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "bench.report_process", *argv]
    done = subprocess.run(
        command, stdout=subprocess.PIPE, check=True, env={**os.environ, "PYTHONPATH": path}, timeout=1500
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found


def test_a_large_experiment_is_reported_and_updated(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    made = measured("make", str(tmp_path), str(RUNS))
    told = measured("report", str(tmp_path))
    for name, figure in {**{f"make_{name}": value for name, value in made.items()}, **told}.items():
        record_property(name, figure)
        print(f"{name} {figure:,.3f}")
    assert made["rows"] == RUNS
    assert made["record_bytes"] < 64 * 1024
    assert made["parts"] < 64
    assert made["ingest_cpu_s"] / made["ingested"] < INGEST_S
    assert told["all_cpu_s"] < REPORT_S
    assert told["rss_mib"] < MEMORY_MIB
    assert told["again_cpu_s"] < 0.05
    assert told["update_cpu_s"] < UPDATE_S
    assert told["ended_after"] > told["ended"]
