"""docs/asyncapi.yaml against what a real cluster tells, who takes it, and the schema of AsyncAPI itself."""

from __future__ import annotations

import asyncio
import json
import subprocess
import tarfile
from pathlib import Path

import jsonschema
import pytest

from firetrial_client import AsyncFiretrial, make_plan
from firetrial_kit.jetstream import connect
from firetrial_operate.webhooks.endpoint import PREFIX
from support.agents import register
from support.catalogue import Told, catalogue, prove
from support.cluster import Cluster

needs_cluster = pytest.mark.needs("nats-server", "weed", "bwrap")


@needs_cluster
@pytest.mark.timeout(300)
async def test_all_that_a_real_experiment_tells_is_in_the_catalogue(
    system: Cluster, study: Path, tmp_path: Path
) -> None:
    seen: list[Told] = []
    listening = await connect(system.nats_url, name="listener")

    async def hear(message: object) -> None:
        seen.append((message.subject, message.headers or {}, message.data))  # type: ignore[attr-defined]

    for subjects in ("ft.evt.>", "ft.work.>"):
        await listening.subscribe(subjects, cb=hear)
    (tmp_path / "truncated.pdf").write_bytes(b"%PDF-1.5\n1 0 obj\n<<")
    async with AsyncFiretrial(system.endpoints) as client:
        agents = [await register(client, name) for name in ("right", "silent")]
        good = await client.submit_paper(study, plan=make_plan(agents, repeats=2, judge="offline"))
        bad = await client.submit_paper(study, plan=make_plan(["nobody@000000000000"]), request_id="bad")
        torn = await client.submit_paper(tmp_path / "truncated.pdf")
        for experiment in (good.experiment_id, bad.experiment_id):
            async for _ in client.watch_report(experiment, timeout=120, appear=30):
                pass
        async for _ in client.watch_paper(torn.paper.id, timeout=60):
            pass
    async with asyncio.timeout(20):
        while not {"paper_parse_failed", "experiment_reported"} <= await prove(system.nats_url):
            await asyncio.sleep(0.2)
    await listening.close()
    faults = [fault for message in seen for fault in catalogue().faults(*message)]
    assert faults == []
    assert {catalogue().channel(subject) for subject, *_ in seen} >= {
        "paper_submitted", "paper_parsed", "paper_parse_failed", "task_created", "experiment_failed",
        "run_requested", "run_work", "run_started", "run_finished", "run_judged", "run_analyzed",
        "experiment_reported",
    }  # fmt: skip


@needs_cluster
async def test_who_takes_what_is_who_the_document_says(system: Cluster) -> None:
    client = await connect(system.nats_url, name="looker")
    found = set()
    for stream in ("FT_EVT", "FT_WORK"):
        for info in await client.jetstream().consumers_info(stream):
            if not info.config.durable_name or info.name.startswith(PREFIX):
                continue
            subjects = info.config.filter_subjects or [info.config.filter_subject or ""]
            found |= {(info.name.partition("-")[0], catalogue().channel(subject)) for subject in subjects}
    await client.close()
    channels = catalogue().document["channels"]
    said = {(name, one) for one in channels for name in catalogue().services(one, "receive")}
    assert found == said


@pytest.mark.needs("npm")
def test_the_document_is_valid_by_asyncapis_own_schema(tmp_path: Path) -> None:
    subprocess.run(["npm", "pack", "--silent", "@asyncapi/specs@6"], cwd=tmp_path, check=True, timeout=100)
    (packed,) = tmp_path.glob("*.tgz")
    with tarfile.open(packed) as tar:
        file = tar.extractfile("package/schemas/3.0.0.json")
        assert file is not None
        validator = jsonschema.Draft7Validator(json.load(file))
    document = json.loads(json.dumps(catalogue().document))
    assert [error.json_path for error in validator.iter_errors(document)] == []
    document["channels"]["run_finished"]["adress"] = document["channels"]["run_finished"].pop("address")
    assert not validator.is_valid(document)
