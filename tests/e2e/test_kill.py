"""SIGKILL of each service in the middle of twenty runs: none is lost, none is doubled."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from pathlib import Path

import pytest

from firetrial.runner.v1 import run_pb2
from firetrial_client import AsyncFiretrial, FiretrialError, Reason, make_plan
from support.agents import register
from support.cluster import SERVICES, Cluster

pytestmark = [pytest.mark.needs("nats-server", "weed", "bwrap"), pytest.mark.timeout(400)]
RUNS = 20


async def ended(client: AsyncFiretrial, experiment_id: str) -> int:
    return sum([run.state == run_pb2.RUN_STATE_ENDED async for run in client.list_runs(experiment_id)])


@pytest.mark.parametrize("victim", SERVICES)
async def test_a_killed_service_loses_and_doubles_nothing(system: Cluster, study: Path, victim: str) -> None:
    async with AsyncFiretrial(system.endpoints) as client:
        agents = [await register(client, name) for name in ("right", "wrong")]
        plan = make_plan(agents, repeats=RUNS // 2, judge="offline")
        submitted = await client.submit_paper(study, plan=plan, request_id=f"kill-{victim}")
        experiment_id = submitted.experiment_id
        if victim != "parser":
            async with asyncio.timeout(60):
                while await asked(client, experiment_id) < RUNS or await ended(client, experiment_id) < 4:
                    await asyncio.sleep(0.1)
        system.kill(victim)
        await asyncio.sleep(1)
        await asyncio.to_thread(system.start, victim)
        async for report in client.watch_report(experiment_id, timeout=240, appear=60):
            last = report
        assert last.complete
        async for _ in client.watch_runs(experiment_id, timeout=60):
            pass  # until the runner has heard of every verdict, too
        assert (last.ended_runs, last.expected_runs) == (RUNS, RUNS)
        runs = [run async for run in client.list_runs(experiment_id)]
        counted = [run for run in runs if not run.superseded]
        slots = Counter((run.agent_id, run.repeat) for run in counted)
        assert len(slots) == RUNS
        assert set(slots.values()) == {1}
        assert {run.outcome for run in counted} == {run_pb2.OUTCOME_SCORED}
        for run in runs:
            if run.superseded:
                assert victim == "runner"
                assert run.outcome == run_pb2.OUTCOME_INFRA_FAILED
        judged = Counter([judgement.run_id async for judgement in client.list_judgements()])
        assert all(judged[run.id] == 1 for run in counted)
        report = json.loads(await client.render_report(experiment_id, "json"))
        assert {agent["score"]["f1"]["counted"] for agent in report["agents"]} == {RUNS // 2}


async def asked(client: AsyncFiretrial, experiment_id: str) -> int:
    """Runs that exist so far; the experiment itself may not, yet."""
    try:
        return len([run async for run in client.list_runs(experiment_id)])
    except FiretrialError as error:
        if error.reason != Reason.NOT_FOUND:
            raise
        return 0
