"""Four services that Prometheus watches while they work, with all kinds of ends."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from firetrial_client import AsyncFiretrial, Spending, make_judge, make_plan
from firetrial_kit.s3 import S3Objects
from support import scripted_models as scripted
from support import servers
from support.agents import SORTING
from support.cluster import SERVICES, Cluster, cluster
from support.prometheus import Prometheus, prometheus
from support.scripted_models import Reply, Request, ScriptedModels

STUDY = """# Sorting small arrays

## Question
How does the size of an array change which of two sorting methods is faster?

## Scope
Arrays of 4 to 4096 random integers; insertion sort and merge sort; wall time over 50 repeats.

## Results
Table 1 shows the wall time of both methods by array size.

Table 1: Median wall time by array size and method.

Insertion sort is faster than merge sort on arrays below 32 elements (Table 1).
Merge sort is faster than insertion sort on arrays above 128 elements (Table 1).
"""

# Asks a model that has a price, one that has none and one that is broken; the last call is one too many.
_ASKS = """
import json, os, sys, urllib.error, urllib.request
def ask(model):
    body = json.dumps({"model": model, "messages": [{"role": "user", "content": "go on"}]}).encode()
    headers = {"authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}
    url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    try:
        return urllib.request.urlopen(urllib.request.Request(url, body, headers)).read().decode()
    except urllib.error.HTTPError as error:
        return str(error.code)
print("planning")
for model in ("small", "free", "broken", "small"):
    print(ask(model))
open("conclusion.md", "w").write(sys.argv[1])
"""
_GATEWAY = """
[upstreams.main]
url = "{url}"
dialect = "openai"
models = ["small", "free"]
[upstreams.poor]
url = "{url}"
dialect = "openai"
models = ["broken"]
patience_s = 0.1
[prices.small]
prompt = 1000
completion = 3000
"""
_PRICES = {"scripted": {"prompt": 100.0, "completion": 300.0}, "second": {"prompt": 1.0, "completion": 1.0}}
_LABELS = b"""id,reference,claim,label
1,Noise hurts.,Noise hurts.,entailed
2,Noise hurts.,Noise helps.,contradicted
"""


def _reply(request: Request) -> Reply:
    """Agents get words; the judge's claims are the sentences, and one of its three models always says no."""
    model = request.body["model"]
    if model in ("small", "free"):
        return scripted.text("I see.")
    if model == "broken":
        return scripted.status(500)
    said = r"[A-Z][^.\n]* is (?:faster|slower) [^.\n]*\."
    verdict = "NEUTRAL" if model == "second" else "ENTAILED"
    return scripted.answer(scripted.judging(request.prompt, said, verdict))


@dataclass(frozen=True, slots=True)
class Watched:
    """The services and who watches them."""

    cluster: Cluster
    prometheus: Prometheus


@contextmanager
def watched(folder: Path, s3: servers.S3, runbooks: str = "") -> Iterator[Watched]:
    """Four services under `folder` and a Prometheus that scrapes them; nothing has been asked of them yet."""
    asyncio.run(S3Objects(s3.url, *s3.keys["admin"]).ensure_buckets())
    with servers.nats_server(folder / "nats") as nats_url, ScriptedModels(_reply) as models:
        settings = folder / "gateway.toml"
        settings.write_text(_GATEWAY.format(url=models.base_url))
        runner = {"FIRETRIAL_RUNNER_GATEWAY": str(settings), "FIRETRIAL_RUNNER_SLOTS": "3"}
        environ = {
            "FIRETRIAL_JUDGE_MODEL_URL": models.base_url,
            "FIRETRIAL_JUDGE_MODEL_NAME": "scripted",
            "FIRETRIAL_JUDGE_PRICES": json.dumps(_PRICES),
        }
        with cluster(folder, nats_url, s3, runner, **environ) as found:
            targets = {f"firetrial-{name}": [found.metrics(name)] for name in SERVICES}
            with prometheus(folder / "prometheus", targets, runbooks) as watcher:
                yield Watched(found, watcher)


async def work(endpoints: str, study: str, repeats: int, usd: float | None = None) -> None:
    """An experiment of three agents, from paper to report. A cap in `usd` refuses what has no price."""
    async with AsyncFiretrial(endpoints) as client:
        agents = [
            await client.submit_agent(
                name=name, command=["python3", "/agent/agent.py", text], files={"agent.py": _ASKS.encode()}
            )
            for name, text in SORTING.items()
        ]
        agents.append(await client.submit_agent(name="silent", command=["sh", "-c", "echo planning"]))
        await client.calibrate(_LABELS, config=make_judge("offline"))
        plan = make_plan(
            [str(agent.id) for agent in agents],
            repeats=repeats,
            judge=make_judge(model="scripted", panel=["second", "third"]),
            model="small",
            spending=Spending(usd=usd, run_calls={"small": 1}),
        )
        submitted = await client.submit_paper(study.encode(), filename="study.md", plan=plan)
        async for report in client.watch_report(submitted.experiment_id, timeout=100, appear=30):
            last = report
        assert last.complete, last.failure


async def leave(endpoints: str) -> None:
    """Ask for runs in a pool that nobody serves."""
    async with AsyncFiretrial(endpoints) as client:
        tasks = [task.id async for task in client.list_tasks()]
        agent = await client.submit_agent(name="silent", command=["sh", "-c", "echo planning"])
        await client.submit_experiment(tasks[:1], make_plan([str(agent.id)], repeats=4, pool="gpu"))
