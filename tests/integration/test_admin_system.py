"""An operator at work on four services, a real broker and a real S3 server."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest

from firetrial.runner.v1 import run_pb2
from firetrial_client import AsyncFiretrial, make_judge, make_plan
from firetrial_client import FiretrialError as ClientError
from firetrial_kit.errors import FiretrialError
from firetrial_kit.jetstream import connect
from firetrial_kit.objects import BUCKETS, GRANTS, Objects
from firetrial_kit.s3 import S3Objects
from firetrial_kit.service import open_objects
from firetrial_operate.access import opened, settings
from firetrial_operate.admin.deleting import Deleting
from support import servers
from support.cluster import SERVICES, Cluster, cluster
from support.operating import FOUND, agent, asked, complete, operator, tasks

pytestmark = [pytest.mark.needs("nats-server", "weed", "bwrap"), pytest.mark.timeout(180)]
Admin = Callable[..., Any]
FULL = os.environ.get("FIRETRIAL_BENCH") == "full"


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory, s3_server: servers.S3) -> Iterator[Cluster]:
    """Four services with their objects in files; in the full form, on an S3 server."""
    folder = tmp_path_factory.mktemp("lab")
    files = {} if FULL else {"FIRETRIAL_OBJECTS_URL": f"file://{folder}/objects"}
    asyncio.run(S3Objects(s3_server.url, *s3_server.keys["admin"]).ensure_buckets())
    with (
        servers.nats_server(folder / "nats") as nats_url,
        cluster(folder, nats_url, s3_server, **files) as found,
    ):
        yield found


@pytest.fixture
def environ(lab: Cluster) -> dict[str, str]:
    """That of an operator."""
    return {**operator(lab.nats_url, lab.s3), **lab.environ}


@pytest.fixture
def ask(environ: dict[str, str]) -> Admin:
    """Runs `firetrial admin …`."""
    return partial(asked, environ)


async def test_a_drained_runner_finishes_what_it_has_and_ends(
    lab: Cluster, ask: Admin, tmp_path: Path
) -> None:
    async with AsyncFiretrial(lab.endpoints) as client:
        naps = await agent(client, "naps", f"sleep 2.5; printf '%s' '{FOUND}' > conclusion.md")
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


async def halted(*argv: str, count: int) -> None:
    """Wait until so many of these processes run, and stop them: what they are under way with does not end."""
    found: set[int] = set()
    async with asyncio.timeout(30):
        while len(found) < count:
            found |= _stopped("\0".join((*argv, "")).encode())
            await asyncio.sleep(0.05)


def _stopped(command: bytes) -> set[int]:
    found = set()
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if path.read_bytes() == command:
                os.kill(int(path.parent.name), signal.SIGSTOP)
                found.add(int(path.parent.name))
    return found


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
        naps = await agent(client, "naps", f"sleep 2.56; printf '%s' '{FOUND}' > conclusion.md")
        going = make_plan([naps], repeats=2, judge="offline")
        under_way = (await client.submit_experiment(task_ids, going, request_id="under-way")).id
        await halted("sleep", "2.56", count=2)
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


async def everything(store: Objects) -> list[str]:
    """All objects there are."""
    return [f"{bucket}/{key}" for bucket in BUCKETS for key in await store.keys(bucket, "")]


async def test_an_experiment_is_deleted_with_proof(
    lab: Cluster, environ: dict[str, str], ask: Admin, tmp_path: Path
) -> None:
    store = open_objects(settings(environ), "operator")
    async with AsyncFiretrial(lab.endpoints) as client:
        task_ids = await tasks(client, tmp_path)
        quick = await agent(client, "quick", f"printf '%s' '{FOUND}' > conclusion.md")
        plan = make_plan([quick], repeats=2, judge="offline")
        gone, stays = [
            (await client.submit_experiment(task_ids, plan, request_id=name)).id for name in ("gone", "stays")
        ]
        await complete(client, gone)
        await complete(client, stays)
        report = await client.render_report(stays, "json")
        runs = [run.id async for run in client.list_runs(gone)]
        sleepy = make_plan([await agent(client, "sleeps", "sleep 60")], judge="offline")
        running = (await client.submit_experiment(task_ids, sleepy, request_id="running")).id
        with pytest.raises(FiretrialError, match="cancel it first"):
            await ask("delete", "experiment", running, "--yes")
        await client.cancel_experiment(running)
        await copied(ask)
        before = await everything(store)
        planned = await ask("delete", "experiment", gone, "--dry-run")
        assert await everything(store) == before
        # Cut off in the middle: some objects are gone, and all records stand.
        first = [await store.stat(uri) for uri in planned["objects"]]
        await _cut_off(environ, gone, after=len(first) // 2)
        proof = await ask("delete", "experiment", gone, "--yes")
        removed = {one["uri"]: one["size"] for one in proof["removed"]["objects"]}
        assert removed == {ref.uri: ref.size for ref in first if ref}
        assert proof["listed_again"] == {"found": []}
        assert proof["removed"]["facts"]
        assert {f"runner: experiment.{gone}", f"analyzer: report.{gone}"} <= {*proof["removed"]["records"]}
        left = await everything(store)
        named = [uri for uri in left if any(name in uri for name in (gone, *runs))]
        assert all(uri.startswith(f"results/deletions/{gone}/") for uri in named)
        assert {*before} - {*left} == {*removed}
        assert any(quick in one["what"] for one in proof["remains"])
        assert (await ask("delete", "experiment", gone, "--yes"))["removed"] == proof["removed"]
        with pytest.raises(FiretrialError, match="no experiment"):
            await ask("delete", "experiment", "e-none", "--yes")
        with pytest.raises(ClientError, match=gone):
            await client.render_report(gone, "json")
        assert await client.render_report(stays, "json") == report


class CutError(Exception):
    """The operator's machine is gone."""


class Cutting:
    """A store that is left after some deletions."""

    def __init__(self, store: Objects, left: int) -> None:
        self._store, self._left = store, left

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def delete(self, uri: str) -> None:
        if self._left == 0:
            raise CutError
        self._left -= 1
        await self._store.delete(uri)


async def _cut_off(environ: dict[str, str], experiment: str, *, after: int) -> None:
    """A deletion that ends without a word after some objects."""
    async with opened(environ) as access:
        cutting = replace(access, objects=cast("Objects", Cutting(access.objects, after)))
        deleting = await Deleting.open(cutting)
        with pytest.raises(CutError):
            await deleting.delete(await deleting.plan(experiment))


async def test_what_is_old_goes_and_what_a_release_rests_on_stays(
    lab: Cluster, environ: dict[str, str], ask: Admin, tmp_path: Path
) -> None:
    async with AsyncFiretrial(lab.endpoints) as client:
        task_ids = await tasks(client, tmp_path)
        quick = await agent(client, "quick", f"printf '%s' '{FOUND}' > conclusion.md")
        await client.create_release("kept.1", task_ids, judge=make_judge("offline"), repeats=1)
        plan = make_plan([quick], judge="offline", release="kept.1")
        held = (await client.submit_experiment(task_ids, plan, request_id="held")).id
        free = (await client.submit_experiment(task_ids, make_plan([quick]), request_id="free")).id
        await complete(client, held)
        await complete(client, free)
        orphan = f"tables/{free}/{'0' * 32}.parquet"
        store = open_objects(settings(environ), "operator")
        await store.put("results", orphan, b"PAR1", "application/octet-stream")
        assert f"results/{orphan}" in (await ask("gc", "--dry-run", "--grace", "0"))["objects"]
        collected = await ask("gc", "--yes", "--grace", "0")
        assert collected["objects"] == [f"results/{orphan}"]
        assert (await ask("gc", "--yes", "--grace", "0"))["objects"] == []
        with pytest.raises(FiretrialError, match=r"release kept\.1"):
            await ask("delete", "experiment", held, "--yes")
        young = {one["experiment"]: one for one in await ask("retention", "--older-than", "1h", "--yes")}
        assert young[free]["done"] == "stays"
        old = {one["experiment"]: one for one in await ask("retention", "--older-than", "0h", "--yes")}
        assert (old[free]["done"], old[held]["done"]) == ("deleted", "stays")
        assert "release kept.1" in old[held]["why"]
        assert json.loads(await client.render_report(held, "json"))["experiment"]


async def page(client: AsyncFiretrial, run_id: str) -> list[object]:
    return [step async for step in client.trajectory(run_id)]


async def test_a_backup_of_a_busy_installation_is_restored_on_other_servers(
    lab: Cluster, ask: Admin, tmp_path: Path
) -> None:
    to = tmp_path / "backup"
    async with AsyncFiretrial(lab.endpoints) as client:
        task_ids = await tasks(client, tmp_path)
        quick = await agent(client, "quick", f"echo thinking; printf '%s' '{FOUND}' > conclusion.md")
        silent = await agent(client, "silent", "true")
        plan = make_plan([quick, silent], repeats=2, judge="offline")
        done = (await client.submit_experiment(task_ids, plan, request_id="done")).id
        await complete(client, done)
        report, run = await client.render_report(done, "json"), await anext(client.list_runs(done))
        said = await page(client, run.id)
        naps = await agent(client, "naps", f"sleep 1.5; printf '%s' '{FOUND}' > conclusion.md")
        going = make_plan([naps], repeats=6, judge="offline")
        under_way = (await client.submit_experiment(task_ids, going, request_id="busy")).id
        async with asyncio.timeout(30):  # some over, some in hand, some waiting
            while not any([run.conclusion.uri async for run in client.list_runs(under_way)]):
                await asyncio.sleep(0.1)
        to.mkdir()
        await _backed_up(ask, to)
    await _refused(to, tmp_path / "elsewhere")
    grants = {name: (grant.read, grant.write) for name, grant in GRANTS.items()}
    with (
        servers.seaweedfs(tmp_path / "s3", grants) as s3,
        servers.nats_server(tmp_path / "nats") as nats_url,
    ):
        await S3Objects(s3.url, *s3.keys["admin"]).ensure_buckets()
        there = partial(asked, operator(nats_url, s3))
        assert not (await there("restore", str(to), "--dry-run"))["restored"]
        told = await there("restore", str(to), "--yes")
        assert any(under_way in remark for remark in told["remarks"])
        with pytest.raises(FiretrialError, match="not empty"):
            await there("restore", str(to), "--yes")
        with cluster(tmp_path, nats_url, s3) as restored:
            async with AsyncFiretrial(restored.endpoints) as client:
                assert await client.render_report(done, "json") == report
                assert await page(client, run.id) == said
                await complete(client, under_way)
                runs = [run async for run in client.list_runs(under_way) if not run.superseded]
                assert [run.outcome for run in runs] == [run_pb2.OUTCOME_SCORED] * 6
                found = json.loads(await client.render_report(under_way, "json"))
                assert found["agents"][0]["score"]["f1"]["counted"] == 6
            proof = await there("delete", "experiment", done, "--yes")
            assert proof["listed_again"] == {"found": []}
            assert len(proof["removed"]["objects"]) > 10


async def _backed_up(ask: Admin, to: Path) -> None:
    """A full disk: it says so, nothing there looks whole, and it goes on once there is room."""
    (to / "objects.new").symlink_to("/dev/full")
    with pytest.raises(FiretrialError, match="not whole"):
        await ask("backup", str(to))
    assert not (to / "manifest.json").exists()
    with pytest.raises(FiretrialError, match="no whole backup"):
        await ask("restore", str(to), "--yes")
    (to / "objects.new").unlink()
    assert (await ask("backup", str(to)))["count"] > 20
    with pytest.raises(FiretrialError, match="name another"):
        await ask("backup", str(to))
    with pytest.raises(FiretrialError, match="end them first"):
        await ask("restore", str(to), "--yes")


async def _refused(backup: Path, elsewhere: Path) -> None:
    """One bit that is not as it was: nothing is restored."""
    one = next(path for path in (backup / "objects").rglob("*") if path.is_file() and path.stat().st_size)
    held = one.read_bytes()
    one.write_bytes(held[:-1] + bytes([held[-1] ^ 1]))
    with servers.nats_server(elsewhere) as nats_url:
        there = {"FIRETRIAL_NATS_URL": nats_url, "FIRETRIAL_OBJECTS_URL": f"file://{elsewhere}/objects"}
        with pytest.raises(FiretrialError, match="damaged"):
            await asked(there, "restore", str(backup), "--yes")
        assert await asked(there, "streams") == []
    one.write_bytes(held)
