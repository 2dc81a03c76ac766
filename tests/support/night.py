"""Four services that Prometheus watches, and what a night can do to them: each fault a real one."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import nats

from firetrial_client import AsyncFiretrial, make_judge, make_plan
from firetrial_kit.s3 import S3Objects
from support import scripted_models as scripted
from support import servers
from support.cluster import SERVICES, Cluster, cluster
from support.prometheus import Prometheus, hasty, prometheus
from support.scripted_models import Reply, Request, ScriptedModels

T = TypeVar("T")
HOLD = "2s"
_CLAIMS = 12
STUDY = """# Noise

## Question
Does noise hurt?

## Scope
Noise of 0 to 1.

## Results
Table 1 has all.

Table 1: Accuracy by noise.

""" + "".join(
    f"Accuracy is lower with noise of 0.{n} than without (Table 1).\n" for n in range(1, _CLAIMS + 1)
)
# Concludes nothing where the model does not answer it.
_ASKS = """
import json, os, sys, urllib.request
body = json.dumps({"model": sys.argv[1], "messages": [{"role": "user", "content": "go on"}]}).encode()
headers = {"authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}
url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
urllib.request.urlopen(urllib.request.Request(url, body, headers)).read()
open("conclusion.md", "w").write("Accuracy is lower with noise of 0.1 than without.")
"""
# Each conclusion is another, so that no answer of a judge is at hand.
_CONCLUDES = "printf 'Accuracy is lower with noise of 0.%s than without.' $(date +%N) > conclusion.md"
_GATEWAY = """
[upstreams.cheap]
url = "{url}"
dialect = "openai"
models = ["cheap", "dear", "free"]
[upstreams.broken]
url = "{url}"
dialect = "openai"
models = ["broken"]
patience_s = 0.1
[prices.cheap]
prompt = 1
completion = 1
[prices.dear]
prompt = 20_000_000
completion = 20_000_000
[prices.broken]
prompt = 1
completion = 1
"""
_SOONER = {
    "WorkWaitsTooLong": ("6 * 3600", "90"),
    "pool:firetrial_forsaken_work:max": ("[5m]", "[5s]"),
}
_PRICES = {name: {"prompt": 1.0, "completion": 1.0} for name in ("judge", "second", "third", "lone")}
_LABELS = b"""id,reference,claim,label
1,Noise hurts.,Noise hurts.,entailed
2,Noise hurts.,Noise helps.,contradicted
"""


@dataclass(slots=True)
class Night:
    """What runs, and who watches it. `keys` are services' in the store, `refused` models that answer 401."""

    cluster: Cluster
    prometheus: Prometheus
    nats_pid: int
    keys: dict[str, tuple[str, str]]
    task: str = ""
    refused: set[str] = field(default_factory=set)

    def firing(self) -> set[str]:
        """Alerts that fire: name, severity, and what of. Of this machine's own disk nothing is known."""
        found = set()
        for rule in self.prometheus.rules():
            for alert in rule.get("alerts", ()):
                told = alert["labels"]
                of = {
                    told.get(label, "")
                    for label in (
                        "job",
                        "pool",
                        "consumer",
                        "stream",
                        "bucket",
                        "upstream",
                        "model",
                        "backend",
                    )
                }
                if alert["state"] == "firing" and not (
                    "path" in told and not self._of_ours(told["instance"])
                ):
                    found.add(" ".join([told["alertname"], told["severity"], *sorted(of - {""})]))
        return found

    def _of_ours(self, instance: str) -> bool:
        return (self.cluster.folder / "runner-full.json").exists() and self.cluster.metrics(
            "runner-full"
        ) == instance

    def restart(self, service: str) -> None:
        """End a service and start it where Prometheus looks for it."""
        address = self.cluster.metrics(service)
        if self.cluster.processes[service].poll() is None:
            self.cluster.stop(service)
        self.cluster.environ["FIRETRIAL_METRICS_ADDRESS"] = address
        self.cluster.start(service)
        del self.cluster.environ["FIRETRIAL_METRICS_ADDRESS"]

    def another_runner(self, name: str = "runner-2", **environ: str) -> None:
        """Start a runner, of which Prometheus is told as it is of a pilot."""
        kept = dict(self.cluster.environ)
        self.cluster.environ.update(environ)
        self.cluster.start(name)
        self.cluster.environ = kept
        self.prometheus.pilot(self.cluster.metrics(name))

    # ---- what clients do ----
    def do(self, ask: Callable[[AsyncFiretrial], Awaitable[T]]) -> T:
        async def asked() -> T:
            async with AsyncFiretrial(self.cluster.endpoints) as client:
                return await ask(client)

        return asyncio.run(asked())

    def read_study(self) -> None:
        """The task that all experiments are on."""

        async def ask(client: AsyncFiretrial) -> str:
            plan = make_plan([await self._agent(client, "cheap")], judge=make_judge("offline"))
            submitted = await client.submit_paper(STUDY.encode(), filename="study.md", plan=plan)
            async for report in client.watch_report(submitted.experiment_id, timeout=100, appear=30):
                last = report
            assert last.complete, last.failure
            return [str(task.id) async for task in client.list_tasks()].pop()

        self.task = self.do(ask)

    async def _agent(self, client: AsyncFiretrial, model: str) -> str:
        files = {"agent.py": _ASKS.encode()}
        command = ["python3", "/agent/agent.py", model] if model else ["sh", "-c", _CONCLUDES]
        return str((await client.submit_agent(name=model or "quick", command=command, files=files)).id)

    def experiment(
        self,
        model: str = "",
        *,
        wait: bool = True,
        judge: str = "offline",
        panel: tuple[str, ...] = (),
        repeats: int = 1,
        pool: str = "",
        command: str = "",
    ) -> str:
        """Runs of an agent that asks `model`, judged by `judge`; gives the experiment's id."""

        async def ask(client: AsyncFiretrial) -> str:
            config = make_judge(judge) if judge == "offline" else make_judge(model=judge, panel=panel)
            if command:
                agent = str((await client.submit_agent(name="own", command=["sh", "-c", command])).id)
            else:
                agent = await self._agent(client, model)
            plan = make_plan([agent], repeats=repeats, pool=pool, judge=config, model=model)
            made = await client.submit_experiment([self.task], plan)
            if wait:
                async for _ in client.watch_report(made.id, timeout=100, appear=60):
                    pass
            return str(made.id)

        return self.do(ask)

    def command(self, *words: str) -> str:
        """What a command of the runbook says; it must end well."""
        environ = {
            **os.environ,
            "FIRETRIAL_ENDPOINT": self.cluster.endpoints,
            "FIRETRIAL_NATS_URL": self.cluster.nats_url,
        }
        environ |= {"FIRETRIAL_OBJECTS_URL": self.cluster.s3.url, "COLUMNS": "200"}
        access, secret = self.cluster.s3.keys["admin"]
        environ |= {"FIRETRIAL_S3_ACCESS_KEY": access, "FIRETRIAL_S3_SECRET_KEY": secret}
        done = subprocess.run(
            [str(servers.BIN / "firetrial"), *words],
            env=environ,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def calibrate(self, model: str, *panel: str) -> None:
        """Measure the judge that serves."""
        (labels := self.cluster.folder / "labels.csv").write_bytes(_LABELS)
        more = [word for name in panel for word in ("--judge-panel", name)]
        self.command("calibrate", str(labels), "--judge-model", model, *more)

    def publish(self, subject: str, data: bytes, times: int = 1) -> None:
        """Something that is no message of ours."""

        async def sent() -> None:
            client = await nats.connect(self.cluster.nats_url)
            for _ in range(times):
                await client.jetstream().publish(subject, data)
            await client.close()

        asyncio.run(sent())


def _reply(night: Callable[[], set[str]]) -> Callable[[Request], Reply]:
    """Agents get words, judges claims and verdicts; "second" and "third" never agree with "judge"."""

    def reply(request: Request) -> Reply:
        model = request.body["model"]
        if model in night():
            return scripted.status(401)
        if model in ("cheap", "dear", "free", "broken"):
            return scripted.text("I see.")
        said = r"Accuracy is lower[^\n]*without[^.\n]*\."
        verdict = "NEUTRAL" if model == "third" else "ENTAILED"
        return scripted.answer(scripted.judging(request.prompt, said, verdict))

    return reply


@contextmanager
def fallen(folder: Path, s3: servers.S3) -> Iterator[Night]:
    """All that is needed, at work, and nothing wrong with it."""
    refused: set[str] = set()
    asyncio.run(S3Objects(s3.url, *s3.keys["admin"]).ensure_buckets())
    keys = dict(s3.keys)
    own = servers.S3(s3.url, keys)
    with servers.nats_server(folder / "nats") as url, ScriptedModels(_reply(lambda: refused)) as models:
        settings = folder / "gateway.toml"
        settings.write_text(_GATEWAY.format(url=models.base_url))
        runner = {"FIRETRIAL_RUNNER_GATEWAY": str(settings), "FIRETRIAL_RUNNER_SLOTS": "4"}
        environ = {
            "FIRETRIAL_JUDGE_MODEL_URL": models.base_url,
            "FIRETRIAL_JUDGE_MODEL_NAME": "judge",
            "FIRETRIAL_JUDGE_PRICES": json.dumps(_PRICES),
        }
        (ports,) = (folder / "nats").glob("nats-server_*.ports")
        pid = int(ports.stem.partition("_")[2])
        rules = hasty(folder / "rules", HOLD, _SOONER)
        with cluster(folder, url, own, runner, **environ) as found:
            targets = {f"firetrial-{name}": [found.metrics(name)] for name in SERVICES}
            with prometheus(folder / "prometheus", targets, rules=rules) as watcher:
                night = Night(found, watcher, pid, keys, refused=refused)
                night.read_study()
                yield night
