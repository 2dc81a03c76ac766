"""An agent that writes 1 GiB in 350,000 lines: stored whole, in bounded memory, any page of it open at once.

A real runner process with its sandbox, a real broker and a real S3 server. The short form writes 48 MiB;
FIRETRIAL_BENCH=full the whole.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from google.protobuf.json_format import MessageToJson

from firetrial.parser.v1 import task_pb2
from firetrial.plan.v1.plan_pb2 import Limits, Plan
from firetrial.runner.v1 import run_pb2
from firetrial.runner.v1.run_pb2 import Run
from firetrial_client import AsyncFiretrial
from firetrial_kit.s3 import S3Objects
from support import servers
from support.cluster import Cluster

pytestmark = [pytest.mark.needs("nats-server", "weed", "bwrap"), pytest.mark.timeout(1200)]
FULL = os.environ.get("FIRETRIAL_BENCH") == "full"
LINES, WIDTH = (350_000, 3_068) if FULL else (16_000, 3_068)
MAX_RSS = 200 * 1024**2
MAX_OPEN_S = 1.0

# Lines like a training log's, no two alike; the last word is the hash of them all.
AGENT = f"""
import hashlib, random, sys
random.seed(7)
words = ["%08x" % random.getrandbits(32) for _ in range(5000)]
found = hashlib.sha256()
for number in range({LINES}):
    line = ("%d " % number + " ".join(random.choices(words, k={WIDTH} // 9 + 1)))[:{WIDTH - 1}] + "\\n"
    data = line.encode()
    found.update(data)
    sys.stdout.buffer.write(data)
sys.stdout.flush()
open("conclusion.txt", "w").write(found.hexdigest())
"""


@pytest.fixture
def runner(tmp_path: Path, s3_server: servers.S3) -> Iterator[Cluster]:
    """A runner alone."""
    asyncio.run(S3Objects(s3_server.url, *s3_server.keys["admin"]).ensure_buckets())
    with servers.nats_server(tmp_path / "nats") as nats_url:
        found = Cluster(tmp_path, nats_url, s3_server)
        found.start("runner")
        try:
            yield found
        finally:
            servers.end(found.processes["runner"])


def peak_rss(cluster: Cluster) -> int:
    """The most memory that the runner process has held, in bytes."""
    status = Path(f"/proc/{cluster.processes['runner'].pid}/status").read_text()
    match = re.search(r"VmHWM:\s+(\d+) kB", status)
    assert match
    return int(match[1]) * 1024


async def run_agent(client: AsyncFiretrial, cluster: Cluster) -> Run:
    """Run the agent on a task that says nothing; the run once its agent is over."""
    task = MessageToJson(task_pb2.Task(id="scale-1", instruction="Write."))
    store = S3Objects(cluster.s3.url, *cluster.s3.keys["admin"])
    await store.put("runs", "tasks/scale-1/task.json", task.encode(), "application/json")
    agent = await client.submit_agent(
        name="scale", command=["python3", "/agent/agent.py"], files={"agent.py": AGENT.encode()}
    )
    limits = Limits(output_bytes=2 * 1024**3)
    limits.wall_time.FromSeconds(1000)
    plan = Plan(agents=[agent.id], repeats=1, limits=limits)
    experiment = await client.submit_experiment(["scale-1"], plan)
    async for run in client.watch_runs(experiment.id, timeout=1100):
        if run.state >= run_pb2.RUN_STATE_CONCLUDED:
            return run
    raise AssertionError("the run did not end")


async def reassembled(client: AsyncFiretrial, run_id: str) -> tuple[str, int]:
    """(hash of what was written, put together from the steps, their number)."""
    found, number = hashlib.sha256(), 0
    async for step in client.trajectory(run_id):
        number = step["step"]
        if step.get("stream") == "stdout":
            found.update(step["text"].encode() + (b"" if step.get("continued") else b"\n"))
    return found.hexdigest(), number


async def opened(client: AsyncFiretrial, run_id: str, step: int) -> float:
    """Seconds that the page from a step on takes to come."""
    begun = time.perf_counter()
    page = await client.list_steps(run_id, from_step=step, page_size=100)
    seconds = time.perf_counter() - begun
    assert json.loads(page.lines.split(b"\n", 1)[0])["step"] == step
    return seconds


async def test_a_gibibyte_in_350_000_steps(runner: Cluster) -> None:
    idle = peak_rss(runner)
    async with AsyncFiretrial(f"127.0.0.1:{runner.ports['runner']}") as client:
        begun = time.perf_counter()
        run = await run_agent(client, runner)
        took = time.perf_counter() - begun
        assert run.outcome == run_pb2.OUTCOME_UNSPECIFIED, run.reason
        assert run.usage.output_bytes == LINES * WIDTH
        assert run.usage.steps >= LINES
        peak = peak_rss(runner)
        pages = {
            step: await opened(client, run.id, step)
            for step in (1, run.usage.steps // 2, run.usage.steps - 5)
        }
        written, steps = await reassembled(client, run.id)
        assert written == await client.conclusion(run.id)
        assert steps == run.usage.steps
        after = peak_rss(runner)
    size = LINES * WIDTH / 1024**2
    print(
        f"\n{size:.0f} MiB in {steps} steps and {run.trajectory_chunks} chunks: {took:.0f} s,"
        f" {size / took:.0f} MiB/s; runner's memory idle {idle / 1024**2:.0f}, at most {peak / 1024**2:.0f},"
        f" after reading it back {after / 1024**2:.0f} MiB; pages "
        + ", ".join(f"{step}: {1000 * seconds:.0f} ms" for step, seconds in pages.items())
    )
    assert after < MAX_RSS
    assert max(pages.values()) < MAX_OPEN_S
