"""The closed-book probe over the whole system: asked through the gateway, judged, shown beside the agents."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from firetrial.runner.v1 import run_pb2
from firetrial_client import AsyncFiretrial, make_plan, probe
from firetrial_kit.s3 import S3Objects
from support import servers
from support.agents import register
from support.cluster import Cluster, cluster
from support.scripted_models import ScriptedModels, text

pytestmark = [pytest.mark.needs("nats-server", "weed", "bwrap"), pytest.mark.timeout(300)]
KEY = "sk-real-0123456789abcdefgh"
# One of the two findings that the study has.
KNOWN = "Insertion sort is faster than merge sort on arrays below 32 elements."


@pytest.fixture
def models() -> Iterator[ScriptedModels]:
    with ScriptedModels([text(KNOWN)]) as found:
        yield found


@pytest.fixture
def system(tmp_path: Path, s3_server: servers.S3, models: ScriptedModels) -> Iterator[Cluster]:
    gateway = tmp_path / "gateway.toml"
    gateway.write_text(
        f'[upstreams.main]\nurl = "{models.base_url}"\ndialect = "openai"\nmodels = ["gpt-5"]\n'
        'key_env = "REAL_KEY"\n[prices."gpt-5"]\nprompt = 1\ncompletion = 10\ncached = 0.5\n'
    )
    asyncio.run(S3Objects(s3_server.url, *s3_server.keys["admin"]).ensure_buckets())
    environ = {"FIRETRIAL_RUNNER_GATEWAY": str(gateway), "REAL_KEY": KEY}
    with (
        servers.nats_server(tmp_path / "nats") as nats_url,
        cluster(tmp_path, nats_url, s3_server, **environ) as found,
    ):
        yield found


async def test_what_the_bare_model_knew_stands_beside_what_agents_found(
    system: Cluster, models: ScriptedModels, study: Path
) -> None:
    async with AsyncFiretrial(system.endpoints) as client:
        right = await register(client, "right")
        asked = (await client.submit_agent(probe.folder())).id
        plan = make_plan([right, asked], judge="offline", model="gpt-5", probe=asked)
        experiment = (await client.submit_paper(study, plan=plan)).experiment_id
        async for report in client.watch_report(experiment, timeout=120, appear=30):
            last = report
        assert last.complete, last.failure

        runs = {run.agent_id: run async for run in client.list_runs(experiment)}
        assert runs[asked].outcome == run_pb2.OUTCOME_SCORED
        usage = runs[asked].usage
        assert (usage.model_calls, usage.tokens, usage.cached_tokens, usage.unpriced_calls) == (1, 110, 20, 0)
        assert usage.cost_usd == pytest.approx((80 * 1 + 20 * 0.5 + 10 * 10) / 1e6)
        (request,) = models.requests
        assert request.headers["authorization"] == f"Bearer {KEY}"
        assert "which of two sorting methods" in request.prompt

        found = await client.get_contamination(experiment)
        (beside,) = found.probes
        assert (beside.agent_id, beside.agent_f1, beside.agent_runs, beside.probe_runs) == (right, 1.0, 1, 1)
        assert beside.probe_f1 == pytest.approx(2 / 3)
        (memory,) = found.models
        assert (memory.agent_id, memory.cutoff, memory.verdict) == (right, "2024-09-30", "too_few_data")
        board = json.loads(await client.leaderboard(experiment_id=experiment))
        assert [entry["agent"] for entry in board["entries"]] == [right]
        page = (await client.render_report(experiment, "html")).decode()
        assert "closed-book" in page
        assert "66.7" in page
    for service in ("parser", "runner", "judge", "analyzer"):
        assert KEY not in system.log(service)
