"""A real Prometheus with the rules and jobs that are deployed, scraping what the test says, once a second."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import yaml  # type: ignore[import-untyped]

from support import servers

DEPLOYED = Path(__file__).resolve().parents[2] / "deploy" / "prometheus"
STEP_S = 1


class QueryError(Exception):
    """What Prometheus said of a query."""


@dataclass(frozen=True, slots=True)
class Prometheus:
    """One that runs, with its HTTP API."""

    url: str
    folder: Path

    def pilot(self, target: str) -> None:
        """Tell of a runner, host:port, that came later, as a scheduler's pilots are told of."""
        written = self.folder / "pilots" / "pilot.json.new"
        written.write_text(json.dumps([{"targets": [target]}]))
        written.rename(written.with_suffix(""))

    def query(self, expr: str, at: float | None = None) -> list[dict[str, Any]]:
        """Series with their value at `at` (now). Raises QueryError for one that is none."""
        asked = {"query": expr} | ({} if at is None else {"time": str(at)})
        return list(self._ask("query", asked)["result"])

    def query_range(self, expr: str, start: float, end: float, step: float = STEP_S) -> list[dict[str, Any]]:
        """Series with their values from `start` to `end`, in Unix seconds."""
        asked = {"query": expr, "start": str(start), "end": str(end), "step": str(step)}
        return list(self._ask("query_range", asked)["result"])

    def label_values(self, metric: str, label: str) -> list[str]:
        """What `label` of `metric` is, as a variable of a dashboard asks for it."""
        found = self._ask(f"label/{label}/values", {"match[]": metric})
        return [str(value) for value in found]

    def targets(self) -> dict[str, str]:
        """Job and instance of each target, with its health."""
        active = self._ask("targets", {"state": "active"})["activeTargets"]
        return {f"{t['labels']['job']} {t['labels']['instance']}": t["health"] for t in active}

    def rules(self) -> list[dict[str, Any]]:
        """All rules, with what came of their last evaluation."""
        return [rule for group in self._ask("rules", {})["groups"] for rule in group["rules"]]

    def scrape(self) -> None:
        """Wait until every target has been looked at twice from now on."""
        for _ in range(2):
            seen = f"count(timestamp(up) > {time.time()})"
            servers.wait_for(
                lambda seen=seen: self._counted(seen) == len(self.targets()), "a look at each", 30
            )

    def _counted(self, expr: str) -> int:
        return sum(int(series["value"][1]) for series in self.query(expr))

    def _ask(self, what: str, parameters: Mapping[str, str]) -> Any:
        answer = httpx.get(f"{self.url}/api/v1/{what}", params=parameters, timeout=30).json()
        if answer["status"] != "success":
            raise QueryError(f"{answer['error']}: {parameters}")
        return answer["data"]


def config(
    targets: Mapping[str, Sequence[str]], rules: Path = DEPLOYED, interval: str = f"{STEP_S}s"
) -> dict[str, Any]:
    """The deployed configuration with these targets by job, looked at more often; other jobs are left out.

    Its rules are those in the folder `rules`.
    """
    found: dict[str, Any] = yaml.safe_load((DEPLOYED / "prometheus.yml").read_text())
    found["global"] |= {
        "scrape_interval": interval,
        "scrape_timeout": interval,
        "evaluation_interval": interval,
    }
    found["rule_files"] = [str(rules / path) for path in found["rule_files"]]
    del found["alerting"]
    found["scrape_configs"] = [
        {
            "job_name": job["job_name"],
            "static_configs": [{"targets": list(targets[job["job_name"]])}],
            "file_sd_configs": [sd | {"refresh_interval": "1s"} for sd in job.get("file_sd_configs", [])],
        }
        for job in found["scrape_configs"]
        if job["job_name"] in targets
    ]
    return found


def hasty(folder: Path, hold: str, sooner: Mapping[str, tuple[str, str]]) -> Path:
    """The deployed rules under `folder`, with alerts that fire after `hold`; `sooner` is, by a rule's name, a
    piece of its expression and what is put in its place.
    """
    (folder / "rules").mkdir(parents=True)
    for path in (DEPLOYED / "rules").glob("*.yml"):
        told = yaml.safe_load(path.read_text())
        for rule in (rule for group in told["groups"] for rule in group["rules"]):
            if "for" in rule:
                rule["for"] = hold
            if wanted := sooner.get(rule.get("alert", rule.get("record"))):
                assert wanted[0] in rule["expr"]
                rule["expr"] = rule["expr"].replace(*wanted)
        (folder / "rules" / path.name).write_text(yaml.safe_dump(told, sort_keys=False))
    return folder


@contextmanager
def prometheus(
    folder: Path, targets: Mapping[str, Sequence[str]], runbooks: str = "", rules: Path = DEPLOYED
) -> Iterator[Prometheus]:
    """Prometheus under `folder`, watching host:port `targets` by job and itself."""
    (folder / "pilots").mkdir(parents=True)
    port = servers.free_port()
    address = f"127.0.0.1:{port}"
    written = folder / "prometheus.yml"
    written.write_text(yaml.safe_dump(config({**targets, "prometheus": [address]}, rules)))
    argv = ["prometheus", f"--config.file={written}", f"--storage.tsdb.path={folder / 'data'}"]
    argv += [f"--web.listen-address={address}", "--enable-feature=expand-external-labels"]
    environ = {**os.environ, "FIRETRIAL_RUNBOOKS": runbooks}
    with (folder / "prometheus.log").open("wb") as log:
        process = subprocess.Popen(argv, stdout=log, stderr=log, env=environ)
    found = Prometheus(f"http://{address}", folder)

    def ready() -> bool:
        if process.poll() is not None:
            raise RuntimeError(f"prometheus ended: {(folder / 'prometheus.log').read_text()[-2000:]}")
        try:
            return httpx.get(f"{found.url}/-/ready", timeout=1).is_success
        except httpx.TransportError:
            return False

    try:
        servers.wait_for(ready, "Prometheus", 30)
        # It takes targets up 5 s after its start.
        known = len(targets) + 1
        servers.wait_for(lambda: list(found.targets().values()).count("up") == known, "all targets", 30)
        yield found
    finally:
        servers.end(process)
