"""An experiment whose runs are jobs of a real Slurm, by four services as processes."""

from __future__ import annotations

import asyncio
import os
import subprocess
import uuid
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from firetrial.runner.v1 import run_pb2
from firetrial_client import AsyncFiretrial, make_plan
from firetrial_kit.s3 import S3Objects
from support import scripted_models as scripted
from support import servers, slurm
from support.agents import SORTING
from support.cluster import Cluster, cluster
from support.sandboxes import MIB
from support.scripted_models import ScriptedModels
from support.watched import STUDY

pytestmark = [
    pytest.mark.needs("nats-server", "weed", "bwrap", "openssl", *slurm.PROGRAMS),
    pytest.mark.timeout(300),
]
full = pytest.mark.skipif(os.environ.get("FIRETRIAL_BENCH") != "full", reason="make test-slurm runs it")
SECRET = "sk-what-only-the-runner-has"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[slurm.Slurm]:
    """A Slurm of four CPUs."""
    folder = tmp_path_factory.mktemp("site")
    for each in (folder, folder.parent):
        each.chmod(0o755)  # runs are users of their own
    with slurm.slurm(folder / "slurm", cpus=4, kill_wait=2, grace=1) as found:
        yield found


AGENT = """
import json, os, time, urllib.request
print("planning", flush=True)
body = json.dumps({"model": "small", "messages": [{"role": "user", "content": "the conclusion"}]}).encode()
headers = {"authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "content-type": "application/json"}
url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
said = json.load(urllib.request.urlopen(urllib.request.Request(url, body, headers)))
time.sleep(3)
open("conclusion.md", "w").write(said["choices"][0]["message"]["content"])
"""


@pytest.fixture
def system(site: slurm.Slurm, s3_server: servers.S3, tmp_path: Path) -> Iterator[Cluster]:
    """Four services, and a runner whose runs are jobs."""
    tmp_path.chmod(0o755)
    asyncio.run(S3Objects(s3_server.url, *s3_server.keys["admin"]).ensure_buckets())
    with ScriptedModels(lambda _: scripted.text(SORTING["right"])) as models:
        settings = tmp_path / "gateway.toml"
        settings.write_text(
            f'[upstreams.scripted]\nurl = "{models.base_url}"\ndialect = "openai"\n'
            'key_env = "THE_REAL_KEY"\nmodels = ["small"]\n'
        )
        runner = {
            **site.environ,
            "FIRETRIAL_RUNNER_SANDBOX": "job",
            "FIRETRIAL_RUNNER_SCHEDULER": "slurm",
            "FIRETRIAL_RUNNER_SCHEDULER_PARTITION": "main",
            "FIRETRIAL_RUNNER_SCHEDULER_POLL_S": "1",
            "FIRETRIAL_RUNNER_JOB_ADDRESS": slurm.outward(),
            "FIRETRIAL_RUNNER_SLOTS": "4",
            "FIRETRIAL_RUNNER_GATEWAY": str(settings),
            "THE_REAL_KEY": SECRET,
            "OPENAI_API_KEY": SECRET,
        }
        with (
            servers.nats_server(tmp_path / "nats") as nats_url,
            cluster(tmp_path, nats_url, s3_server, runner) as found,
        ):
            yield found


@pytest.mark.parametrize("end", ["scancel", pytest.param("kill the runner", marks=full)])
async def test_four_runs_are_four_jobs_and_have_four_outcomes(
    system: Cluster, site: slurm.Slurm, tmp_path: Path, end: str
) -> None:
    """One job is cancelled, or the runner killed: there is another attempt, and no agent is blamed."""
    before = {job["job_id"] for job in site.jobs()}
    (study := tmp_path / "sorting.md").write_text(STUDY)
    async with AsyncFiretrial(system.endpoints) as client:
        agent = await client.submit_agent(name="asks", command=["python3", "-c", AGENT])
        plan = make_plan([str(agent.id)], repeats=4, judge="offline", model="small", memory=200 * MIB)
        submitted = await client.submit_paper(study, plan=plan, request_id=f"jobs-{uuid.uuid4().hex}")
        victim = await running(site, before)
        if end == "scancel":
            site.run("scancel", victim)
        else:
            system.kill("runner")
            system.start("runner")
        async for report in client.watch_report(submitted.experiment_id, timeout=120, appear=60):
            last = report
        assert last.complete
        async for _ in client.watch_runs(submitted.experiment_id, timeout=60):
            pass
        runs = [run async for run in client.list_runs(submitted.experiment_id)]
    counted = [run for run in runs if not run.superseded]
    assert Counter(run.outcome for run in counted) == {run_pb2.OUTCOME_SCORED: 4}
    assert sorted(run.repeat for run in counted) == [1, 2, 3, 4]
    again = [run for run in runs if run.superseded]
    assert again
    assert {run.outcome for run in again} == {run_pb2.OUTCOME_INFRA_FAILED}
    if end == "scancel":
        assert [run.attempt for run in counted].count(2) == 1
        assert f"job {victim}" in again[0].reason
        assert "CANCELLED" in again[0].reason
    assert all(run.usage.model_calls == 1 for run in counted)
    jobs = [job for job in site.jobs() if job["job_id"] not in before]
    assert len(jobs) == len(runs)
    assert not {"RUNNING", "PENDING"} & {job["job_state"] for job in jobs}
    assert kept(system.folder / "work" / "jobs") == []
    assert holding(SECRET, system.folder, site.folder) == ""


def kept(folder: Path) -> list[Path]:
    return list(folder.iterdir())


def holding(text: str, *folders: Path) -> str:
    """The files below these folders that have the text in them."""
    found = subprocess.run(["grep", "-rl", text, *folders], capture_output=True, text=True, check=False)
    return found.stdout


async def running(site: slurm.Slurm, before: set[int]) -> str:
    """A job of a run that has begun, once there is one."""
    async with asyncio.timeout(60):
        while True:
            new = [
                job for job in site.jobs() if job["job_id"] not in before and job["job_state"] == "RUNNING"
            ]
            if new:
                return str(new[0]["job_id"])
            await asyncio.sleep(0.2)
