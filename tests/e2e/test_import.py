"""Logs of the official layout, taken in by the command line, judged and reported like runs made here."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from firetrial.runner.v1 import run_pb2
from firetrial_client import AsyncFiretrial
from support import official_logs as official
from support.cluster import Cluster

pytestmark = [pytest.mark.needs("nats-server", "weed", "bwrap"), pytest.mark.timeout(300)]

TRUTH = "The order of the examples changes accuracy. The last example weighs most."


async def firetrial(system: Cluster, *argv: str | Path, code: int = 0) -> Any:
    """What the command line says in JSON."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "firetrial_client"),
        *("--endpoint", system.endpoints, *argv, "--json"),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "COLUMNS": "100"},
    )
    out, err = await process.communicate()
    assert process.returncode == code, err.decode()
    return json.loads(out)


async def task(client: AsyncFiretrial, slug: str, truth: str = TRUTH) -> str:
    submitted = await client.submit_task(
        slug, question="What matters?", instruction="Find out.", ground_truth=truth, origin="firebench"
    )
    return submitted.task.id


async def reported(client: AsyncFiretrial, experiment: str) -> dict[str, Any]:
    async for report in client.watch_report(experiment, timeout=120, appear=30):
        assert not report.failure, report.failure
        last = report
    assert last.complete
    async for _ in client.watch_runs(experiment, timeout=30):
        pass
    return dict(json.loads(await client.render_report(experiment, "json")))


async def test_an_official_tree_is_judged_and_reported(system: Cluster, tmp_path: Path) -> None:
    log = official.write(tmp_path)
    (log / "codex" / "link").symlink_to(log / "claude")
    async with AsyncFiretrial(system.endpoints) as client:
        order = await task(client, "order-of-examples")
        naive = await task(client, "naive-baselines")
        plan = await firetrial(system, "import", "runs", tmp_path, "--judge", "offline", "--dry-run")
        assert plan["dry_run"]
        assert {file["run_id"] for file in plan["files"]} == {""}
        told = await firetrial(system, "import", "runs", tmp_path, "--judge", "offline")
        assert told["expected_runs"] == len(told["files"]) == 8
        assert told["experiment_id"] == plan["experiment_id"]
        report = await reported(client, told["experiment_id"])
        runs = {run.id: run async for run in client.list_runs(told["experiment_id"])}
        assert {file["run_id"] for file in told["files"]} == set(runs)
        outcomes = Counter((run.agent_id, run.task_id, run.outcome) for run in runs.values())
        scored, failed = run_pb2.OUTCOME_SCORED, run_pb2.OUTCOME_AGENT_FAILED
        codex, claude = "codex-gpt-5@elsewhere", "claude-claude-sonnet-4-5@elsewhere"
        openhands = "openhands-openai-o4-mini@elsewhere"
        assert outcomes == {
            (codex, order, scored): 1,
            (codex, order, failed): 1,
            (codex, naive, scored): 1,
            (claude, order, scored): 1,
            (claude, order, failed): 1,
            (openhands, order, scored): 1,
            (openhands, naive, scored): 1,
            (openhands, naive, failed): 1,
        }
        by_path = {file["path"].partition("/log/")[2]: runs[file["run_id"]] for file in told["files"]}
        openhands_run = by_path[f"{official.OPENHANDS}/{official.ORDER}/20250918101500_31337/log.log"]
        assert (openhands_run.model, openhands_run.provenance) == (
            "openai/o4-mini",
            run_pb2.PROVENANCE_ELSEWHERE,
        )
        assert "header" in openhands_run.lacking
        assert await client.conclusion(openhands_run.id) == official.OPENHANDS_SAYS
        western = by_path[f"{official.CODEX}/{official.NAIVE}/20250921080000_55555/log.log"]
        assert await client.conclusion(western.id) == official.WESTERN_SAYS
        killed = by_path[f"{official.CLAUDE}/{official.ORDER}/20250920101500/log.log"]
        assert killed.reason == "no conclusion: the stream ends before its result"
        judgement = await client.get_judgement(
            run_id=by_path[f"{official.CODEX}/{official.ORDER}/20250919100541_48213/log.log"].id
        )
        assert judgement.scores.recall > 0
        assert report["ended_runs"] == report["expected_runs"] == 8
        again = await firetrial(system, "import", "runs", log, "--judge", "offline")
        assert again["experiment_id"] == told["experiment_id"]
        assert {file["run_id"] for file in again["files"]} == set(runs)
        assert len([run async for run in client.list_runs(told["experiment_id"])]) == 8


async def test_what_cannot_be_taken_is_told_and_the_rest_is(system: Cluster, tmp_path: Path) -> None:
    log = official.write(tmp_path)
    (log / "aider" / "m" / official.ORDER / "1").mkdir(parents=True)
    (log / "aider" / "m" / official.ORDER / "1" / "log.log").write_text("who knows")
    async with AsyncFiretrial(system.endpoints) as client:
        await task(client, "order-of-examples")
        told = await firetrial(
            system, "import", "runs", log, "--judge", "offline", "--task", "naive_baselines=nowhere", code=2
        )
        faults = {file["path"].partition("/log/")[2]: file["faults"] for file in told["files"]}
        wrong = {path: found for path, found in faults.items() if found}
        assert len(wrong) == 4
        assert told["expected_runs"] == len(faults) - 4 == 5
        assert "aider" in wrong[f"aider/m/{official.ORDER}/1/log.log"][0]
        assert "nowhere" in wrong[f"{official.CODEX}/{official.NAIVE}/20250921080000_55555/log.log"][0]
        assert await reported(client, told["experiment_id"])


async def test_an_export_comes_back_as_the_same_run_and_joins_its_experiment(
    system: Cluster, tmp_path: Path
) -> None:
    stream = tmp_path / "run.jsonl"
    stream.write_text(official.lines([*official.CLAUDE_LINES, official.CLAUDE_RESULT]))
    async with AsyncFiretrial(system.endpoints) as client:
        id_ = await task(client, "round-trip")
        first = await firetrial(system, "import", "runs", stream, "--task", id_, "--judge", "offline")
        (file,) = first["files"]
        assert (file["format"], file["agent"], file["faults"]) == ("claude-code", "claude-code", [])
        await reported(client, first["experiment_id"])
        out = tmp_path / "trajectory.json"
        await firetrial(system, "runs", "export", file["run_id"], "--out", out)
        second = await firetrial(
            system,
            "import",
            "runs",
            out,
            "--task",
            id_,
            "--experiment",
            first["experiment_id"],
            "--first-repeat",
            "2",
        )
        assert second["expected_runs"] == 2
        (back,) = second["files"]
        assert back["format"] == "atif"
        assert await client.conclusion(back["run_id"]) == official.CLAUDE_SAYS
        await reported(client, first["experiment_id"])
        runs = [run async for run in client.list_runs(first["experiment_id"])]
        assert {run.outcome for run in runs} == {run_pb2.OUTCOME_SCORED}
        assert len(runs) == 2
        page = await firetrial(system, "runs", "steps", back["run_id"], "--from", "2", "--count", "3")
        assert [step["step"] for step in page["steps"]] == [2, 3, 4]
        assert (page["total"] > 10, page["next_step"]) == (True, 5)
