"""Repository runs over four separate processes, a real nats-server and a real S3 server."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from google.protobuf.json_format import MessageToJson, ParseDict

from firetrial.artifact.v1 import artifact_pb2
from firetrial.judge.v1 import judgement_pb2
from firetrial.parser.v1 import task_pb2
from firetrial.runner.v1 import run_pb2
from firetrial_client import AsyncFiretrial, make_plan
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.s3 import S3Objects
from support import repositories
from support.bench import HEAD
from support.cluster import Cluster
from support.repositories import BEST, BETTER, BROKEN
from support.sealed_grader import CATALOGUE, PREPARED

pytestmark = [pytest.mark.needs("nats-server", "weed", "bwrap"), pytest.mark.timeout(300)]
SLOW_IN_THE_TEST = """\
import time
def predict(xs):
    if xs[0] < 0:
        time.sleep(4)
    return [2.0 * x for x in xs]
"""


async def hand_in_task(system: Cluster, id_: str) -> str:
    """The parts of a task where the parser puts them."""
    store = S3Objects(system.s3.url, *system.s3.keys["admin"])

    async def put(bucket: str, name: str, data: bytes) -> artifact_pb2.ArtifactRef:
        ref = await store.put(bucket, f"tasks/{id_}/{name}", data, "application/octet-stream")
        return artifact_pb2.ArtifactRef(uri=ref.uri, sha256=ref.sha256, size=ref.size)

    made = repositories.made()
    task = task_pb2.Task(
        id=id_, kind=task_pb2.TASK_KIND_REPOSITORY, instruction="Fit the line.", question="?"
    )
    task.has_truth = True
    ParseDict(made.spec, task.repository)
    task.repository.source.CopyFrom(await put("runs", "source.tar", made.source))
    secret = task_pb2.GroundTruth(task_id=id_)
    ParseDict(made.test, secret.test)
    secret.test.files.CopyFrom(await put("truth", "test.tar", made.sealed))
    assert made.score_sealed is not None
    secret.test.score_files.CopyFrom(await put("truth", "score.tar", made.score_sealed))
    task.truth.CopyFrom(await put("truth", "truth.json", MessageToJson(secret).encode()))
    await put("runs", "task.json", MessageToJson(task).encode())
    return id_


async def agent(client: AsyncFiretrial, name: str, code: str) -> str:
    found = await client.submit_agent(name=name, command=["python3", "-c", HEAD + code])
    return str(found.id)


async def ended(client: AsyncFiretrial, experiment_id: str) -> dict[str, Any]:
    """The runs of an experiment by agent, once all have ended."""
    async for _ in client.watch_runs(experiment_id, timeout=120):
        pass
    return {run.agent_id: run async for run in client.list_runs(experiment_id)}


async def test_runs_are_measured_by_the_sealed_test_and_leave_nothing_open(system: Cluster) -> None:
    task = await hand_in_task(system, "line-1")
    async with AsyncFiretrial(system.endpoints) as client:
        improves = "".join(f"step({text!r})\n" for text in (BETTER, BROKEN, BEST))
        edits = PREPARED + next(attempt.code for attempt in CATALOGUE if attempt.name == "edit the grader")
        names = {"improves": improves, "edits": edits, "silent": "print('nothing')\n"}
        agents = {name: await agent(client, name, code) for name, code in names.items()}
        experiment = await client.submit_experiment([task], make_plan(list(agents.values()), repeats=1))
        runs = await ended(client, experiment.id)
        outcomes = {name: runs[agents[name]].outcome for name in names}
        assert outcomes == {
            "improves": run_pb2.OUTCOME_SCORED,
            "edits": run_pb2.OUTCOME_SCORED,
            "silent": run_pb2.OUTCOME_AGENT_FAILED,
        }, system.log("judge")[-2000:]
        best = await client.get_judgement(run_id=runs[agents["improves"]].id)
        assert (best.scores.score, best.scores.measure) == (1.0, "normalized_improvement")
        assert (best.sealed.step, best.sealed.no_credit) == (3, "")
        worst: judgement_pb2.Judgement = await client.get_judgement(run_id=runs[agents["edits"]].id)
        assert (worst.scores.score, worst.sealed.no_credit) == (0.0, "no valid step")
        assert "the protected file 'score.py' was changed" in worst.sealed.findings[0]
    store = S3Objects(system.s3.url, *system.s3.keys["admin"])
    assert await store.keys("sealed", "") == []
    runner = S3Objects(system.s3.url, *system.s3.keys["runner"])
    for uri in ("truth/tasks/line-1/test.tar", "truth/tasks/line-1/score.tar"):
        with pytest.raises(FiretrialError) as fault:
            await runner.get(uri)
        assert fault.value.reason is Reason.DENIED


@pytest.mark.skipif(os.environ.get("FIRETRIAL_BENCH") != "full", reason="FIRETRIAL_BENCH=full kills a runner")
async def test_a_runner_that_is_killed_in_a_test_costs_nothing(system: Cluster) -> None:
    task = await hand_in_task(system, "line-2")
    store = S3Objects(system.s3.url, *system.s3.keys["admin"])
    async with AsyncFiretrial(system.endpoints) as client:
        id_ = await agent(client, "slow", f"step({SLOW_IN_THE_TEST!r})\n")
        experiment = await client.submit_experiment([task], make_plan([id_], repeats=1))
        async with asyncio.timeout(60):
            while not await store.keys("sealed", ""):
                await asyncio.sleep(0.1)
        await asyncio.sleep(1.5)
        system.kill("runner")
        system.start("runner")
        (run,) = (await ended(client, experiment.id)).values()
        assert (run.outcome, run.attempt) == (run_pb2.OUTCOME_SCORED, 1)
        judgement = await client.get_judgement(run_id=run.id)
        assert judgement.scores.score == 1.0
    assert await store.keys("sealed", "") == []


@pytest.mark.skipif(
    os.environ.get("FIRETRIAL_BENCH") != "full", reason="FIRETRIAL_BENCH=full restarts a runner"
)
async def test_a_run_that_nobody_tests_says_so_and_goes_on_once_somebody_does(system: Cluster) -> None:
    async with restarted(system, FIRETRIAL_RUNNER_TESTS="0"), AsyncFiretrial(system.endpoints) as client:
        task = await hand_in_task(system, "line-3")
        id_ = await agent(client, "better", f"step({BETTER!r})\n")
        experiment = await client.submit_experiment([task], make_plan([id_], repeats=1))
        await told(client, experiment.id, lambda run: run.state == run_pb2.RUN_STATE_CONCLUDED)
        again(system)  # a runner looks at what waits when it starts, and each minute
        wanted = "a runner: none that makes sealed tests of pool default is there"
        await told(client, experiment.id, lambda run: run.waiting_for == wanted)
    async with AsyncFiretrial(system.endpoints) as client:
        (run,) = (await ended(client, experiment.id)).values()
        assert (run.outcome, run.waiting_for) == (run_pb2.OUTCOME_SCORED, "")


def again(system: Cluster) -> None:
    system.stop("runner")
    system.start("runner")


@asynccontextmanager
async def restarted(system: Cluster, **environ: str) -> AsyncIterator[None]:
    """The runner with other settings, and afterwards with its own."""
    system.environ |= environ
    again(system)
    try:
        yield
    finally:
        for name in environ:
            del system.environ[name]
        again(system)


async def told(client: AsyncFiretrial, experiment_id: str, right: Callable[[run_pb2.Run], bool]) -> None:
    """Wait until the runs of an experiment are as they should be."""
    async with asyncio.timeout(100):
        while not all([right(run) async for run in client.list_runs(experiment_id)]):
            await asyncio.sleep(0.3)
