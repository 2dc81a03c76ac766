"""Runners come and go while an experiment runs, down to none: nothing is lost or doubled, and more do more.

The short form is 24 runs; the full one (`make scaling`) 200, and what 1, 2 and 8 runners do in a second.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest

from firetrial.runner.v1.run_pb2 import Experiment
from firetrial_client import AsyncFiretrial, make_plan
from firetrial_kit.jetstream import connect
from firetrial_kit.kv import JetStreamState
from firetrial_kit.s3 import S3Objects
from firetrial_runner.records import Books
from firetrial_runner.run import Outcome, Run, RunState
from support import servers
from support.cluster import Cluster, cluster

FULL = os.environ.get("FIRETRIAL_BENCH") == "full"
RUNS = 200 if FULL else 24
SLEEP_S = 8.0
ROUNDS = 4
"""Runs that a slot takes, one after another, while throughput is measured."""
SLOTS = 2
LEAST = {2: 1.7, 8: 7.0}
"""How often as many runs so many runners end, against one."""
FRONT = {"FIRETRIAL_RUNNER_SLOTS": "0", "FIRETRIAL_RUNNER_TESTS": "0"}
TAKES = {"FIRETRIAL_RUNNER_SLOTS": f"{SLOTS}", "FIRETRIAL_RUNNER_TESTS": "0", "FIRETRIAL_DRAIN": "30"}
pytestmark = [
    pytest.mark.needs("nats-server", "weed", "bwrap"),
    pytest.mark.timeout(1800 if FULL else 240),
]


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory, s3_server: servers.S3) -> Iterator[Cluster]:
    """Four services of which the runner takes no runs: it stands for those that come and go."""
    folder = tmp_path_factory.mktemp("scaling")
    asyncio.run(S3Objects(s3_server.url, *s3_server.keys["admin"]).ensure_buckets())
    with (
        servers.nats_server(folder / "nats") as nats_url,
        cluster(folder, nats_url, s3_server, FRONT) as found,
    ):
        yield found


def workers(number: int) -> list[str]:
    return [f"runner-{index}" for index in range(1, number + 1)]


def scale(system: Cluster, number: int) -> None:
    """So many runners that take runs, in good order: those that go are told to, and finish what they have."""
    system.runner = TAKES
    running = [name for name in system.processes if "-" in name and system.processes[name].poll() is None]
    wanted = workers(number)
    system.start(*[name for name in wanted if name not in running])
    for name in running:
        if name not in wanted:
            system.processes[name].terminate()


def gone(system: Cluster) -> None:
    """Wait until those that were told to go have gone, with exit code 0."""
    for name in workers(8):
        process = system.processes.get(name)
        if process is not None:
            process.wait(60)
            assert process.returncode == 0, system.log(name)[-2000:]


@asynccontextmanager
async def books(system: Cluster) -> AsyncIterator[Books]:
    client = await connect(system.nats_url, name="scaling")
    try:
        yield Books(await JetStreamState.open(client, "ft_runner"))
    finally:
        await client.close()


async def submit(client: AsyncFiretrial, mark: str, runs: int, sleep_s: float) -> Experiment:
    """An experiment of agents that sleep and conclude, none with more than 100 of the runs."""
    answer = await client.submit_task(
        mark, question="Which is faster?", instruction="Find out.", ground_truth="Merge sort is faster."
    )
    says = f"sleep {sleep_s}; echo Merge sort is faster. > conclusion.md"
    agents = [
        await client.submit_agent(name=f"sleeper-{mark}-{at}", command=["sh", "-c", says])
        for at in range(max(1, runs // 100))
    ]
    plan = make_plan([agent.id for agent in agents], repeats=runs // len(agents), judge="offline")
    return await client.submit_experiment([answer.task.id], plan, request_id=mark)


async def runs_of(found: Books, experiment: str) -> list[Run]:
    """Every attempt there is."""
    records = await found.find_runs(await found.runs.ids())
    return [record.run for record in records if record.run.experiment_id == experiment]


async def until_over(found: Books, experiment: str, number: int, seconds: float = 300) -> None:
    """Wait until so many runs are over."""
    until = time.monotonic() + seconds
    while (done := sum(run.is_over for run in await runs_of(found, experiment))) < number:
        assert time.monotonic() < until, f"{done} of {number} runs were over after {seconds} s"
        await asyncio.sleep(0.1)


async def test_nothing_is_lost_or_doubled_while_runners_come_and_go(system: Cluster) -> None:
    async with AsyncFiretrial(system.endpoints) as client, books(system) as found:
        experiment = (await submit(client, f"scaled-{RUNS}", RUNS, sleep_s=1.0)).id
        assert {run.state for run in await runs_of(found, experiment)} == {RunState.QUEUED}
        for number, share in ((4, 0.3), (1, 0.5), (0, 0.5), (4, 1.0), (0, 1.0)):
            await asyncio.to_thread(scale, system, number)
            if number:
                await until_over(found, experiment, int(share * RUNS))
            else:
                await asyncio.to_thread(gone, system)
                assert not any(run.state is RunState.RUNNING for run in await runs_of(found, experiment))
        async for report in client.watch_report(experiment, timeout=60, appear=60):
            last = report
        async for _ in client.watch_runs(experiment, timeout=60):
            pass  # until the runner has heard of every verdict, too
        runs = await runs_of(found, experiment)
        judged = Counter([judgement.run_id async for judgement in client.list_judgements()])
    assert (last.complete, last.ended_runs, last.expected_runs) == (True, RUNS, RUNS)
    # Each once: nobody was killed, so there is no second attempt, and nothing was given back.
    assert Counter((run.agent_id, run.repeat) for run in runs).most_common(1)[0][1] == 1
    assert Counter(run.outcome for run in runs) == {Outcome.SCORED: RUNS}
    assert {run.id: 1 for run in runs} == {id_: judged[id_] for id_ in judged if id_ in {r.id for r in runs}}


async def throughput(system: Cluster, number: int) -> float:
    """Runs a second that so many runners end, all their slots busy all the time."""
    runs = number * SLOTS * ROUNDS
    async with AsyncFiretrial(system.endpoints) as client, books(system) as found:
        await asyncio.to_thread(scale, system, number)
        begun = time.monotonic()
        experiment = (await submit(client, f"pace-{number}", runs, SLEEP_S)).id
        await until_over(found, experiment, runs)
        return runs / (time.monotonic() - begun)


@pytest.mark.skipif(not FULL, reason="a machine that does other things beside it measures nothing")
async def test_more_runners_do_more(system: Cluster) -> None:
    paces = {number: await throughput(system, number) for number in (1, *LEAST)}
    ratios = {number: paces[number] / paces[1] for number in LEAST}
    print({number: f"{pace:.2f} runs/s" for number, pace in paces.items()}, ratios)
    assert all(ratios[number] >= least for number, least in LEAST.items()), ratios
