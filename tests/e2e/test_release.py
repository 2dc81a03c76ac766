"""A release from its freezing to a leaderboard with runs of one's own and runs made elsewhere."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from firetrial_client import AsyncFiretrial, FiretrialError, Reason, make_judge, make_plan, submissions
from support.agents import SORTING, register
from support.cluster import Cluster

pytestmark = [pytest.mark.needs("nats-server", "weed", "bwrap"), pytest.mark.timeout(300)]


async def complete(client: AsyncFiretrial, experiment_id: str) -> None:
    async for report in client.watch_report(experiment_id, timeout=120, appear=30):
        last = report
    assert last.complete, last.failure


async def test_a_release_ranks_what_was_run_here_and_what_was_handed_in(
    system: Cluster, study: Path, tmp_path: Path
) -> None:
    async with AsyncFiretrial(system.endpoints) as client:
        paper = await client.submit_paper(study)
        async for state in client.watch_paper(paper.paper.id, timeout=60):
            task_ids = list(state.task_ids)
        judge = make_judge("offline")
        release = await client.create_release("e2e.1", task_ids, judge=judge, repeats=2)
        assert (await client.create_release("e2e.1", task_ids, judge=judge, repeats=2)) == release
        with pytest.raises(FiretrialError) as refused:
            await client.create_release("e2e.1", task_ids, judge=judge, repeats=3)
        assert refused.value.reason == Reason.ALREADY_EXISTS

        agents = [await register(client, name) for name in ("right", "silent")]
        plan = make_plan(agents, repeats=2, judge="offline", release="e2e.1")
        experiment = (await client.submit_experiment(task_ids, plan, request_id="release")).id
        heard = asyncio.create_task(facts(client, experiment))
        await complete(client, experiment)
        assert {"run_started", "run_finished", "run_judged", "run_analyzed"} <= set(await heard)

        (tmp_path / "found.txt").write_text(SORTING["right"])
        runs = [{"task": task_ids[0], "repeat": 1, "file": "found.txt", "format": "conclusion"}]
        bundle = {
            "schema": "firetrial.bundle/1",
            "release": "e2e.1",
            "agent": "theirs",
            "by": "A Lab",
            "runs": runs,
        }
        (tmp_path / "bundle.json").write_text(json.dumps({**bundle, "runs": runs}))
        submission = submissions.read(tmp_path)
        submissions.check_against(submission, release)
        slip = submission.slip(release)
        for run in submission.runs:
            first = await client.import_run(run.path, run.header, slip=slip)
            assert (await client.import_run(run.path, run.header, slip=slip)).id == first.id
        await complete(client, slip.experiment_id)

        board = json.loads(await client.leaderboard(release="e2e.1"))
        assert [(one["rank"], one["agent"], one["f1"], one["provenance"]) for one in board["entries"]] == [
            (1, agents[0], 1.0, "here"),
            (2, agents[1], 0.0, "here"),
            (None, "theirs@elsewhere", 1.0, "self_reported"),
        ]
        assert board["entries"][2]["made_by"] == "A Lab"
        assert board["experiments"] == sorted([experiment, slip.experiment_id])
        assert not board["calibrated"]
        assert board["left_out"] == []

        lines = b"".join([piece async for piece in client.episodes(experiment)]).splitlines()
        episodes = [json.loads(line) for line in lines]
        assert sorted((one["agent"], one["reward"]) for one in episodes) == sorted(
            [(agents[0], 1.0)] * 2 + [(agents[1], 0.0)] * 2
        )
        assert all(one["steps"] and one["steps_complete"] and one["instruction"] for one in episodes)
        parquet = b"".join([piece async for piece in client.episodes(experiment, "parquet")])
        assert parquet.startswith(b"PAR1")


async def facts(client: AsyncFiretrial, experiment: str) -> list[str]:
    """The names of the facts that are told of an experiment until it is over."""
    return [told.fact async for told in client.watch_experiment(experiment, timeout=120)]
