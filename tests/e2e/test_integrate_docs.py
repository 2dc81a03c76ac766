"""The blocks of docs/integrate that have a file's name are run as they stand, on a real cluster."""

from __future__ import annotations

import asyncio
import base64
import importlib.util
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from firetrial.runner.v1 import run_pb2
from firetrial_client import AsyncFiretrial
from firetrial_kit.jetstream import connect
from support import servers
from support.agents import register
from support.cluster import Cluster

pytestmark = [pytest.mark.needs("nats-server", "weed", "bwrap"), pytest.mark.timeout(200)]
DOCS = Path(__file__).resolve().parents[2] / "docs" / "integrate"
_BLOCK = re.compile(r"^```(\w+) (\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BLOCKS = {name: text for page in DOCS.glob("*.md") for _, name, text in _BLOCK.findall(page.read_text())}
RUN_HERE = {
    "submit.sh", "epilog.sh", "submit.py", "firetrial_operator.py", "call.sh", "request.py", "follow.py",
    "hooks.toml", "receiver.py",
}  # fmt: skip


class Desk:
    def __init__(self, folder: Path, environ: dict[str, str]) -> None:
        self.folder, self.environ = folder, environ

    async def run(self, *argv: str, **environ: str) -> str:
        """What a program says that must end well."""
        process = await asyncio.create_subprocess_exec(
            *argv, cwd=self.folder, env={**self.environ, **environ},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        out, err = await process.communicate()
        assert process.returncode == 0, err.decode()
        return out.decode()

    def begin(self, *argv: str, **environ: str) -> subprocess.Popen[bytes]:
        """A program that goes on; it writes to the file `said-<its name>`."""
        with (self.folder / f"said-{Path(argv[1]).stem}").open("ab") as out:
            environ = {**self.environ, **environ}
            return subprocess.Popen(argv, cwd=self.folder, env=environ, stdout=out, stderr=out)

    def said(self, name: str) -> str:
        return (self.folder / f"said-{name}").read_text()

    def module(self, name: str) -> ModuleType:
        spec = importlib.util.spec_from_file_location(name, self.folder / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        made = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(made)
        return made


@pytest.fixture
def desk(system: Cluster, study: Path, tmp_path: Path) -> Desk:
    """A folder with all blocks and a paper, and an environment that knows the cluster."""
    for name, text in BLOCKS.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "paper.md").write_text(study.read_text())
    agent = tmp_path / "agent"
    agent.mkdir()
    line = "echo 'Insertion sort is faster than merge sort on arrays below 32 elements.' > conclusion.md"
    told = {"name": "doc", "description": "for the docs", "command": ["sh", "-c", line]}
    (agent / "agent.json").write_text(json.dumps(told))
    environ = {
        **os.environ,
        "PATH": f"{servers.BIN}:{os.environ['PATH']}",
        "FIRETRIAL_ENDPOINT": system.endpoints,
        "FIRETRIAL_NATS_URL": system.nats_url,
    }
    return Desk(tmp_path, environ)


def test_every_block_with_a_name_is_run_here() -> None:
    assert set(BLOCKS) == RUN_HERE
    for page in DOCS.glob("*.md"):
        fences = re.findall(r"^```(\w+)(.*)$", page.read_text(), re.MULTILINE)
        assert all(name for kind, name in fences if kind in {"bash", "python", "toml"}), page


async def test_from_a_shell(desk: Desk) -> None:
    said = await desk.run("bash", "submit.sh", "paper.md", "agent")
    assert "doc" in said
    assert "<html" in (desk.folder / "paper.report.html").read_text()


async def test_from_a_slurm_epilog(desk: Desk) -> None:
    settings = desk.folder / "firetrial.env"
    endpoint = desk.environ["FIRETRIAL_ENDPOINT"]
    settings.write_text(f"FIRETRIAL_AGENT={desk.folder}/agent\nFIRETRIAL_ENDPOINT={endpoint}\n")
    log = desk.folder / "log"
    job = {
        "FIRETRIAL_SETTINGS": str(settings),
        "FIRETRIAL_LOG": str(log),
        "SLURM_JOB_ID": "17",
        "FIRETRIAL_ENDPOINT": "",
    }
    comment = f"firetrial:{desk.folder}/paper.md"
    for told in (
        {"SLURM_JOB_COMMENT": "firetrial:; touch injected"},
        {"SLURM_JOB_COMMENT": comment, "SLURM_JOB_EXIT_CODE2": "1:0"},
        {},
    ):
        await desk.run("bash", "epilog.sh", **job, **told)
    assert not log.exists()
    assert not (desk.folder / "injected").exists()
    for _ in range(2):
        await desk.run("bash", "epilog.sh", **job, SLURM_JOB_COMMENT=comment, SLURM_JOB_EXIT_CODE2="0:0")
    first, again = (
        log.read_text().split("\n\n") if "\n\n" in log.read_text() else re.findall(r"e-\w+", log.read_text())
    )
    assert first == again
    await desk.run("bash", "epilog.sh", **job, SLURM_JOB_COMMENT="firetrial:/nowhere/at/all.pdf")
    assert "/nowhere/at/all.pdf" in log.read_text()


async def test_by_the_sdk(desk: Desk) -> None:
    agent, f1 = (await desk.run(sys.executable, "submit.py", "paper.md")).split()
    assert agent.startswith("one-line@")
    assert 0 < float(f1) <= 1


async def test_an_operator_of_a_scheduler(desk: Desk, system: Cluster, study: Path) -> None:
    operators = desk.module("firetrial_operator")
    async with AsyncFiretrial(system.endpoints) as client:
        agent = await register(client, "right")
        sleepy = await register(client, "sleepy")
        paper = await client.submit_paper(study)
        async for state in client.watch_paper(paper.paper.id, timeout=60):
            tasks = list(state.task_ids)

        def operator(agents: list[str], task_id: str) -> Any:
            return operators.FiretrialOperator(
                task_id=task_id, tasks=tasks, agents=agents, judge="offline", endpoint=system.endpoints
            )

        context = {"run_id": "scheduled__2026-01-01T00:00:00+00:00"}
        given = await asyncio.to_thread(operator([agent], "rediscover").execute, context)
        assert given["agents"] == {agent: 1.0}
        again = await asyncio.to_thread(operator([agent], "rediscover").execute, context)
        assert again == given
        killed = operator([sleepy], "slow")
        working = asyncio.create_task(asyncio.to_thread(killed.execute, context))
        async with asyncio.timeout(60):
            while not killed.experiment:
                await asyncio.sleep(0.1)
        await asyncio.to_thread(killed.on_kill)
        await working
        experiment = killed.experiment
        outcomes = {run.outcome async for run in client.list_runs(experiment)}
        assert outcomes == {run_pb2.OUTCOME_CANCELLED}


async def test_without_the_sdk(desk: Desk, system: Cluster) -> None:
    async with AsyncFiretrial(system.endpoints) as client:
        agent = await register(client, "right")
    where = f"127.0.0.1:{system.ports['runner']}"
    said = json.loads(
        await desk.run("bash", "call.sh", where, "firetrial.runner.v1.RunnerService/ListAgents")
    )
    assert agent in {one["id"] for one in said["agents"]}
    asked = ("firetrial.runner.v1.RunnerService/GetAgent", json.dumps({"id": agent}))
    assert json.loads(await desk.run("bash", "call.sh", where, *asked))["agent"]["name"] == "e2e-right"


@pytest.fixture
def hooked(desk: Desk) -> Iterator[Desk]:
    """A receiver and `firetrial webhooks` that run, and a program that follows."""
    port = servers.free_port()
    hooks = desk.folder / "hooks.toml"
    hooks.write_text(hooks.read_text().replace("8090", str(port)))
    secret = {"LAB_HOOK_SECRET": "whsec_" + base64.b64encode(os.urandom(32)).decode()}
    told = {"FIRETRIAL_PORTS_FILE": str(desk.folder / "ports.json"), **secret}
    going = [
        desk.begin(sys.executable, "receiver.py", str(port), **secret),
        desk.begin(sys.executable, "follow.py", "tests-follow"),
        desk.begin("firetrial", "webhooks", "--config", "hooks.toml", **told),
    ]
    servers.wait_for((desk.folder / "ports.json").exists, "webhooks", 60)
    yield desk
    for process in going:
        servers.end(process)


async def test_by_events_and_back_by_webhooks(hooked: Desk, system: Cluster, study: Path) -> None:
    async with AsyncFiretrial(system.endpoints) as client:
        agent = await register(client, "right")
        paper = await client.submit_paper(study)
        async for state in client.watch_paper(paper.paper.id, timeout=60):
            found = state.task_ids
        (task,) = found
        broker = await connect(system.nats_url, name="test")
        bad = await broker.jetstream().publish("ft.evt.judge.v1.run_judged.bad", b"\xff is none of ours")
        for _ in range(2):
            await hooked.run(sys.executable, "request.py", task, agent, "lab-1")
        async with asyncio.timeout(60):
            while "firetrial.judge.v1.RunJudged lab-1" not in hooked.said("receiver"):
                await asyncio.sleep(0.2)
            while "lab-1 1.00" not in hooked.said("follow"):
                await asyncio.sleep(0.2)
        assert hooked.said("receiver").count("firetrial.runner.v1.RunFinished lab-1") == 1
        run = await client.get_run("lab-1")
        assert run.attempt == 1
        await broker.jetstream().delete_msg(bad.stream, bad.seq)  # the others hold facts to the catalogue
        await broker.close()
