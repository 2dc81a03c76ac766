"""An operator at work on four services, a real broker and a real S3 server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from firetrial.runner.v1 import run_pb2
from firetrial_client import AsyncFiretrial, make_plan
from firetrial_kit.errors import FiretrialError
from firetrial_kit.jetstream import connect
from firetrial_kit.s3 import S3Objects
from support import servers
from support.cluster import SERVICES, Cluster, cluster
from support.operating import asked

pytestmark = [pytest.mark.needs("nats-server", "weed", "bwrap"), pytest.mark.timeout(180)]
Admin = Callable[..., Any]
STUDY = """# Sorting small arrays

## Question
How does the size of an array change which of two sorting methods is faster?

## Results
Table 1 shows the wall time of both methods by array size.

Table 1: Median wall time by array size and method.

Insertion sort is faster than merge sort on arrays below 32 elements (Table 1).
"""
FOUND = "Insertion sort is faster than merge sort on arrays below 32 elements."


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory, s3_server: servers.S3) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("lab")
    asyncio.run(S3Objects(s3_server.url, *s3_server.keys["admin"]).ensure_buckets())
    with servers.nats_server(folder / "nats") as nats_url, cluster(folder, nats_url, s3_server) as found:
        yield found


@pytest.fixture
def ask(lab: Cluster) -> Admin:
    """Runs `firetrial admin …`."""
    return partial(asked, operator(lab.nats_url, lab.s3))


def operator(nats_url: str, s3: servers.S3) -> dict[str, str]:
    key, secret = s3.keys["admin"]
    return {
        "FIRETRIAL_NATS_URL": nats_url,
        "FIRETRIAL_OBJECTS_URL": s3.url,
        "FIRETRIAL_S3_ACCESS_KEY": key,
        "FIRETRIAL_S3_SECRET_KEY": secret,
    }


async def agent(client: AsyncFiretrial, name: str, line: str) -> str:
    found = await client.submit_agent(name=name, command=["sh", "-c", line])
    return str(found.id)


async def tasks(client: AsyncFiretrial, folder: Path) -> list[str]:
    """The tasks of the study."""
    path = folder / "study.md"
    path.write_text(STUDY)
    submitted = await client.submit_paper(path)
    async for paper in client.watch_paper(submitted.paper.id, timeout=60):
        found = list(paper.task_ids)
    return found


async def complete(client: AsyncFiretrial, experiment_id: str) -> None:
    async for report in client.watch_report(experiment_id, timeout=60, appear=30):
        last = report
    assert last.complete, last.failure
    async for _ in client.watch_runs(experiment_id, timeout=30):
        pass


async def test_a_drained_runner_finishes_what_it_has_and_ends(
    lab: Cluster, ask: Admin, tmp_path: Path
) -> None:
    async with AsyncFiretrial(lab.endpoints) as client:
        naps = await agent(client, "naps", f"sleep 4; printf '%s' '{FOUND}' > conclusion.md")
        plan = make_plan([naps], repeats=4, judge="offline")
        experiment = (await client.submit_experiment(await tasks(client, tmp_path), plan, request_id="d")).id
        async with asyncio.timeout(30):
            while (await ask("runners"))[0]["busy"] < 2:
                await asyncio.sleep(0.2)
        (before,) = await ask("runners")
        assert (before["pool"], before["slots"], before["state"]) == ("default", 2, "taking")
        with pytest.raises(FiretrialError, match="which runner"):
            await ask("drain", "nobody", "--yes")
        assert (await ask("drain", before["instance"], "--dry-run"))[0]["state"] == "taking"
        (told,) = await ask("drain", before["instance"][:-2], "--yes")
        assert told["state"] == "drain asked"
        async with asyncio.timeout(10):
            while not (await ask("runners"))[0]["draining"]:
                await asyncio.sleep(0.2)
        assert await asyncio.to_thread(lab.processes["runner"].wait, 20) == 0
        assert await ask("runners") == []
        lab.start("runner")
        await complete(client, experiment)
        runs = [run async for run in client.list_runs(experiment)]
        assert [(run.attempt, run.outcome) for run in runs] == [(1, run_pb2.OUTCOME_SCORED)] * 4
        assert await ask("dead", "list") == []


async def copied(ask: Admin) -> None:
    """Wait until every change of state has its copy."""
    async with asyncio.timeout(30):
        while any(
            one["pending"] or one["unsettled"] for one in await ask("consumers") if one["name"] == "keeper"
        ):
            await asyncio.sleep(0.3)


async def buckets(nats_url: str) -> list[str]:
    """The streams that hold state, which are deleted."""
    client = await connect(nats_url, name="test")
    names = [f"KV_ft_{service}" for service in SERVICES]
    for name in names:
        await client.jetstream().delete_stream(name)
    await client.close()
    return names


async def test_state_that_was_lost_is_made_again_from_the_objects(
    lab: Cluster, ask: Admin, tmp_path: Path
) -> None:
    async with AsyncFiretrial(lab.endpoints) as client:
        task_ids = await tasks(client, tmp_path)
        quick = await agent(client, "quick", f"printf '%s' '{FOUND}' > conclusion.md")
        silent = await agent(client, "silent", "true")
        plan = make_plan([quick, silent], repeats=2, judge="offline")
        done = (await client.submit_experiment(task_ids, plan, request_id="whole")).id
        await complete(client, done)
        report = await client.render_report(done, "json")
        runs = [run async for run in client.list_runs(done)]
        naps = await agent(client, "naps", f"sleep 4; printf '%s' '{FOUND}' > conclusion.md")
        going = make_plan([naps], repeats=2, judge="offline")
        under_way = (await client.submit_experiment(task_ids, going, request_id="under-way")).id
        async with asyncio.timeout(30):
            while (await ask("runners"))[0]["busy"] < 2:
                await asyncio.sleep(0.2)
        await copied(ask)
    for service in SERVICES:
        lab.kill(service)
    await buckets(lab.nats_url)
    assert (await ask("rebuild-state", "all", "--dry-run"))["runner"]["copies"] > 0
    told = await ask("rebuild-state", "all", "--yes")
    assert {name: one["there"] for name, one in told.items()} == dict.fromkeys(SERVICES, 0)
    assert [remark for remark in told["runner"]["remarks"] if under_way in remark]
    assert not [remark for remark in told["runner"]["remarks"] if done in remark]
    again = await ask("rebuild-state", "all", "--yes")
    assert {name: one["put_back"] for name, one in again.items()} == dict.fromkeys(SERVICES, 0)
    await asyncio.sleep(1)  # what a killed runner had under way ends
    lab.start(*SERVICES)
    async with AsyncFiretrial(lab.endpoints) as client:
        assert await client.render_report(done, "json") == report
        assert [run async for run in client.list_runs(done)] == runs
        assert (await client.submit_experiment(task_ids, plan, request_id="whole")).id == done
        assert (await client.submit_paper(tmp_path / "study.md")).paper.task_ids == task_ids
        await complete(client, under_way)
        assert [run async for run in client.list_runs(done)] == runs
        after = [run async for run in client.list_runs(under_way)]
        assert {run.outcome for run in after if not run.superseded} == {run_pb2.OUTCOME_SCORED}
        assert len([run for run in after if not run.superseded]) == 2
        assert [one.run_id async for one in client.list_judgements()].count(runs[0].id) == 1
