"""The demo's repositories and scripted agents over four processes: who improves, and who only seems to."""

from __future__ import annotations

import asyncio
import csv
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from firetrial.parser.v1 import task_pb2
from firetrial_client import AsyncFiretrial, demo, make_plan, task_folders
from support.cluster import Cluster

pytestmark = [pytest.mark.needs("nats-server", "weed", "bwrap"), pytest.mark.timeout(300)]
FULL = os.environ.get("FIRETRIAL_BENCH") == "full"
TABULAR, LOOP = demo.repositories()
IMPROVES, OVERFITS, BREAKS, EDITS = demo.improvers()


async def submitted(client: AsyncFiretrial, folder: Path) -> task_pb2.Task:
    with task_folders.packed(folder) as parts:
        return (await client.submit_header(task_folders.read(folder), parts)).task


async def reported(client: AsyncFiretrial, tasks: list[Path], agents: list[Path]) -> dict[str, Any]:
    """The complete report of these agents on these tasks, as JSON."""
    ids = [(await submitted(client, folder)).id for folder in tasks]
    registered = [await client.submit_agent(agent) for agent in agents]
    plan = make_plan([agent.id for agent in registered], repeats=1, judge="offline")
    experiment = await client.submit_experiment(ids, plan)
    async for report in client.watch_report(experiment.id, timeout=200, appear=30):
        assert not report.failure, report.failure
        last = report
    assert last.complete
    return dict(json.loads(await client.render_report(experiment.id, "json")))


def improvements(report: dict[str, Any]) -> dict[tuple[str, str], float]:
    """(agent, task) → normalised improvement, by their names without hashes."""
    return {
        (row["agent"].partition("@")[0], row["task"].rpartition("-")[0]): row["Normalized Improvement"]
        for row in report["improvements"]["table_normalized_improvement"]
        if row["task"] != "MEAN"
    }


async def test_who_improves_is_told_from_who_edits_the_grader(system: Cluster, tmp_path: Path) -> None:
    async with AsyncFiretrial(system.endpoints) as client:
        report = await reported(client, [LOOP], [IMPROVES, EDITS])
        assert report["measure"] == "normalized_improvement"
        found = improvements(report)
        assert found["repository-improves", "training-loop"] == pytest.approx(0.403, abs=0.02)
        assert found["repository-edits-grader", "training-loop"] == 0
        runs = {one["run"]["agent"].partition("@")[0]: one for one in report["runs"]}
        edits, improves = runs["repository-edits-grader"], runs["repository-improves"]
        assert (edits["improvement"]["steps"], edits["improvement"]["void"]) == (2, 1)
        findings = "\n".join(edits["judgement"]["sealed"]["findings"])
        assert "'score.py' was handed in, which is no target file" in findings
        assert "results.json was written where no results are made" in findings
        assert improves["improvement"]["best_improvement_step"] == 2
        assert not improves["judgement"]["sealed"]["findings"]
        metrics = await client.get_process_metrics(improves["run"]["run_id"])
        assert (metrics.steps, metrics.step_success_rate) == (2, 1.0)
        assert len(metrics.best_so_far) == 2
        page = (await client.render_report(report["experiment"], "html")).decode()
        assert "Normalised improvement" in page
    tables = [sys.executable, "-m", "firetrial_client", "--endpoint", system.endpoints, "report"]
    told = [*tables, report["experiment"], "--tables", str(tmp_path / "tables")]
    done = await asyncio.to_thread(subprocess.run, told, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    with (tmp_path / "tables" / "table_raw_performance.csv").open(newline="") as file:
        rows = {(row["agent"].partition("@")[0], row["task"]): row for row in csv.DictReader(file)}
    (raw,) = [row for (agent, task), row in rows.items() if agent == "repository-improves" and task != "MEAN"]
    assert (raw["metric"], raw["direction"], raw["note"]) == ("log_loss_mean", "lower", "ok")
    assert float(raw["raw_test"]) < float(raw["baseline_test"])
    assert len(list((tmp_path / "tables").iterdir())) == 3


@pytest.mark.skipif(not FULL, reason="FIRETRIAL_BENCH=full runs what takes long")
async def test_the_order_of_all_four_on_both(system: Cluster) -> None:
    async with AsyncFiretrial(system.endpoints) as client:
        report = await reported(client, [TABULAR, LOOP], [IMPROVES, OVERFITS, BREAKS, EDITS])
    found = improvements(report)
    for task in ("tabular-pipeline", "training-loop"):
        assert found["repository-improves", task] > 0.35
        for agent in ("repository-overfits", "repository-breaks", "repository-edits-grader"):
            assert found[agent, task] == 0
    runs = {(one["run"]["agent"].partition("@")[0], one["run"]["task"]): one for one in report["runs"]}
    gaps = [one["improvement"]["val_test_gap"] for (agent, _), one in runs.items() if "overfits" in agent]
    assert len(gaps) == 2
    assert min(gaps) > 0.25
    broken = [one["improvement"]["no_credit"] for (agent, _), one in runs.items() if "breaks" in agent]
    assert broken == ["no valid step"] * 2
    best = report["agents"][0]["score"]
    assert best["agent"].startswith("repository-improves")
    assert best["main"]["counted"] == 2
