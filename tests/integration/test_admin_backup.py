"""A backup of a busy installation on files, restored on another broker and an S3 server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from firetrial.runner.v1 import run_pb2
from firetrial_client import AsyncFiretrial, make_plan
from firetrial_kit.errors import FiretrialError
from firetrial_kit.objects import GRANTS
from firetrial_kit.s3 import S3Objects
from support import servers
from support.cluster import SERVICES, Cluster, cluster
from support.operating import FOUND, agent, asked, complete, operator, tasks

pytestmark = [pytest.mark.needs("nats-server", "weed", "bwrap"), pytest.mark.timeout(180)]


@dataclass(frozen=True, slots=True)
class Made:
    """A backup, and what its source said of the experiment that was over."""

    folder: Path
    done: str
    under_way: str
    report: bytes
    run_id: str
    page: list[object]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, s3_server: servers.S3) -> Iterator[Made]:
    folder = tmp_path_factory.mktemp("source")
    objects = f"file://{folder}/objects"
    with (
        servers.nats_server(folder / "nats") as nats_url,
        cluster(folder, nats_url, s3_server, FIRETRIAL_OBJECTS_URL=objects) as source,
    ):
        environ = {"FIRETRIAL_NATS_URL": nats_url, "FIRETRIAL_OBJECTS_URL": objects}
        yield asyncio.run(_made(source, environ, folder))


async def _made(source: Cluster, environ: dict[str, str], folder: Path) -> Made:
    async with AsyncFiretrial(source.endpoints) as client:
        task_ids = await tasks(client, folder)
        quick = await agent(client, "quick", f"echo thinking; printf '%s' '{FOUND}' > conclusion.md")
        silent = await agent(client, "silent", "true")
        plan = make_plan([quick, silent], repeats=2, judge="offline")
        done = (await client.submit_experiment(task_ids, plan, request_id="done")).id
        await complete(client, done)
        run = await anext(client.list_runs(done))
        naps = await agent(client, "naps", f"sleep 2; printf '%s' '{FOUND}' > conclusion.md")
        going = make_plan([naps], repeats=6, judge="offline")
        under_way = (await client.submit_experiment(task_ids, going, request_id="under-way")).id
        async with asyncio.timeout(30):  # some over, some in hand, some waiting
            while not any([run.conclusion.uri async for run in client.list_runs(under_way)]):
                await asyncio.sleep(0.1)
        to = folder / "backup"
        # A full disk: it says so, nothing there looks whole, and it goes on once there is room.
        to.mkdir()
        (to / "objects.new").symlink_to("/dev/full")
        with pytest.raises(FiretrialError, match="not whole"):
            await asked(environ, "backup", str(to))
        assert not (to / "manifest.json").exists()
        with pytest.raises(FiretrialError, match="no whole backup"):
            await asked(environ, "restore", str(to), "--yes")
        (to / "objects.new").unlink()
        told = await asked(environ, "backup", str(to))
        assert told["count"] > 20
        with pytest.raises(FiretrialError, match="name another"):
            await asked(environ, "backup", str(to))
        with pytest.raises(FiretrialError, match="end them first"):
            await asked(environ, "restore", str(to), "--yes")
        return Made(
            to, done, under_way, await client.render_report(done, "json"), run.id, await page(client, run.id)
        )


async def page(client: AsyncFiretrial, run_id: str) -> list[object]:
    return [step async for step in client.trajectory(run_id)]


async def test_a_restored_installation_says_the_same_and_goes_on(made: Made, tmp_path: Path) -> None:
    grants = {name: (grant.read, grant.write) for name, grant in GRANTS.items()}
    with (
        servers.seaweedfs(tmp_path / "s3", grants) as s3,
        servers.nats_server(tmp_path / "nats") as nats_url,
    ):
        await S3Objects(s3.url, *s3.keys["admin"]).ensure_buckets()
        environ = operator(nats_url, s3)
        assert not (await asked(environ, "restore", str(made.folder), "--dry-run"))["restored"]
        told = await asked(environ, "restore", str(made.folder), "--yes")
        assert any(made.under_way in remark for remark in told["remarks"])
        with pytest.raises(FiretrialError, match="not empty"):
            await asked(environ, "restore", str(made.folder), "--yes")
        with cluster(tmp_path, nats_url, s3) as restored:
            async with AsyncFiretrial(restored.endpoints) as client:
                assert await client.render_report(made.done, "json") == made.report
                assert await page(client, made.run_id) == made.page
                await complete(client, made.under_way)
                runs = [run async for run in client.list_runs(made.under_way) if not run.superseded]
                assert [run.outcome for run in runs] == [run_pb2.OUTCOME_SCORED] * 6
                report = json.loads(await client.render_report(made.under_way, "json"))
                assert report["agents"][0]["score"]["f1"]["counted"] == 6
            for service in SERVICES:
                assert restored.processes[service].poll() is None


async def test_a_damaged_backup_is_not_restored(made: Made, tmp_path: Path) -> None:
    one = next(path for path in (made.folder / "objects").rglob("*") if path.is_file())
    held = one.read_bytes()
    one.write_bytes(held[:-1] + bytes([held[-1] ^ 1]))
    try:
        with servers.nats_server(tmp_path / "nats") as nats_url:
            environ = {"FIRETRIAL_NATS_URL": nats_url, "FIRETRIAL_OBJECTS_URL": f"file://{tmp_path}/o"}
            with pytest.raises(FiretrialError, match="damaged"):
                await asked(environ, "restore", str(made.folder), "--yes")
            assert await asked(environ, "streams") == []
    finally:
        one.write_bytes(held)
