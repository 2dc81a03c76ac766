"""What is deployed for watching, in real programs: Prometheus, promtool, Alertmanager, amtool.

Every query of dashboards and runbook, and every rule, is asked of a Prometheus that watched real services.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
import re
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]
from dashboards import preview
from dashboards.__main__ import FOLDER
from dashboards.asking import Asking, Window

from support import servers
from support.alertmanager import Alert, alertmanager
from support.prometheus import DEPLOYED, Prometheus
from support.watched import STUDY, leave, watched, work

ROOT = Path(__file__).resolve().parents[2]
RUNBOOK = ROOT / "docs" / "runbook"
ALERTMANAGER = ROOT / "deploy" / "alertmanager" / "alertmanager.yml"
# What cannot be had where tests run, with the reason. Their queries must be understood all the same.
EXEMPT = {
    "GPUs at work": "no GPU here",
    "Memory of GPUs": "no GPU here",
}


def run(*argv: str | Path) -> str:
    done = subprocess.run([str(a) for a in argv], capture_output=True, text=True, timeout=110, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


# ---- files ----
@pytest.mark.needs("promtool")
def test_promtool_takes_the_configuration_and_all_rules() -> None:
    assert "SUCCESS" in run("promtool", "check", "config", DEPLOYED / "prometheus.yml")


@pytest.mark.needs("promtool")
@pytest.mark.parametrize("path", sorted((DEPLOYED / "tests").glob("*.yml")), ids=lambda path: path.stem)
def test_alerts_fire_when_they_should_and_only_then(path: Path) -> None:
    assert "SUCCESS" in run("promtool", "test", "rules", path)


@pytest.mark.needs("amtool")
@pytest.mark.parametrize(
    ("labels", "receiver"),
    [
        (["severity=page", "alertname=ServiceDown"], "pages"),
        (["severity=ticket", "alertname=JudgeDrift"], "tickets"),
        (["severity=none", "alertname=Watchdog"], "watchdog"),
        (["alertname=OfSomebodyElse"], "tickets"),
    ],
)
def test_amtool_takes_the_routes(labels: list[str], receiver: str) -> None:
    assert "SUCCESS" in run("amtool", "check-config", ALERTMANAGER)
    told = run("amtool", "config", "routes", "test", f"--config.file={ALERTMANAGER}", *labels)
    assert told.strip() == receiver


@pytest.mark.needs("prometheus-alertmanager")
def test_what_follows_from_something_else_is_not_told_beside_it(tmp_path: Path) -> None:
    with alertmanager(tmp_path, ALERTMANAGER) as manager:
        assert manager.inhibited() == {}
        manager.post(
            Alert("NoRunnerForWaitingWork", "page", pool="gpu"),
            Alert("WorkWaitsTooLong", "ticket", pool="gpu"),
            Alert("WorkWaitsTooLong", "ticket", pool="cpu"),
            Alert("InfraFailuresHigh", "page", pool="cpu"),
            Alert("InfraFailuresHigh", "ticket", pool="cpu"),
            Alert("InfraFailuresHigh", "ticket", pool="gpu"),
            Alert("ServiceDown", "page", job="firetrial-judge"),
            Alert("InstanceNotScraped", "ticket", job="firetrial-judge"),
            Alert("InstanceNotScraped", "ticket", job="firetrial-runner"),
        )
        silent = {key for key, by in manager.inhibited().items() if by}
        assert silent == {
            "WorkWaitsTooLong ticket gpu",
            "InfraFailuresHigh ticket cpu",
            "InstanceNotScraped ticket firetrial-judge",
        }
        manager.post(
            Alert("BrokerAway", "page"),
            Alert("DiskNearlyFull", "page", service="runner"),
            Alert("SpendAboveBudget", "page"),
        )
        heard = {key for key, by in manager.inhibited().items() if not by}
        assert heard == {
            "BrokerAway page ",
            "ServiceDown page firetrial-judge",
            "DiskNearlyFull page runner",
            "SpendAboveBudget page ",
        }


@pytest.mark.needs("prometheus-alertmanager")
def test_a_page_is_one_message_that_says_what_and_where_to_read(tmp_path: Path) -> None:
    with alertmanager(tmp_path, ALERTMANAGER) as manager:
        manager.post(
            Alert("NoRunnerForWaitingWork", "page", pool="gpu"),
            Alert("NoRunnerForWaitingWork", "page", pool="cpu"),
            Alert("JudgeDrift", "ticket", backend="model"),
            Alert("Watchdog", "none"),
        )
        told = manager.told(3)
    assert sorted(told) == ["page", "ticket", "watchdog"]
    (page,) = told["page"][0]["attachments"]
    assert page["title"] == "NoRunnerForWaitingWork"
    assert page["title_link"] == "https://runbook.example/NoRunnerForWaitingWork.md"
    assert "*summary gpu*" in page["text"]
    assert "*summary cpu*" in page["text"]


# ---- a system that worked ----
@dataclass(frozen=True, slots=True)
class Seen:
    """A Prometheus, and how dashboards ask it about the time in which what it watched was at work."""

    prometheus: Prometheus
    asking: Asking


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory, s3_server: servers.S3) -> Iterator[Seen]:
    """Four real services that Prometheus watched while they ran an experiment."""
    with watched(tmp_path_factory.mktemp("watched"), s3_server, "https://runbook.example") as found:
        start = time.time()
        endpoints = found.cluster.endpoints
        # Counters are there after the first, and rise in the second.
        asyncio.run(work(endpoints, STUDY, 1, usd=50.0))
        found.prometheus.scrape()
        asyncio.run(leave(endpoints))
        found.cluster.start("runner-2")
        found.prometheus.pilot(found.cluster.metrics("runner-2"))
        asyncio.run(work(endpoints, STUDY.replace("32", "64"), 3))
        time.sleep(6)  # the analyzer looks at the broker every 5 s
        found.prometheus.scrape()
        window = Window(start, time.time(), step=1, scrape=2)
        yield Seen(found.prometheus, Asking(found.prometheus.url, window))


pytestmark = [pytest.mark.timeout(180)]
LIVE = pytest.mark.needs("prometheus", "nats-server", "weed", "bwrap")


def values(series: dict[str, Any]) -> list[float]:
    pairs = series["values"] if "values" in series else [series["value"]]
    return [number for _, value in pairs if math.isfinite(number := float(value))]


@LIVE
@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.json")), ids=lambda path: path.stem)
def test_every_query_of_a_dashboard_returns_data(seen: Seen, path: Path) -> None:
    empty = []
    for panel in json.loads(path.read_text())["panels"]:
        for target in panel.get("targets", ()):
            series = seen.asking.series(target)
            labels = re.findall(r"{{(\w+)}}", target.get("legendFormat", ""))
            told = [s for s in series if values(s) and (not labels or labels[0] in s["metric"])]
            if not told and panel["title"] not in EXEMPT:
                empty.append(f"{panel['title']} {target['refId']}: {target['expr']}")
    assert not empty, "\n".join(empty)


@LIVE
def test_panels_are_exempt_for_want_of_what_is_not_here_only(seen: Seen) -> None:
    titles = {p["title"] for path in FOLDER.glob("*.json") for p in json.loads(path.read_text())["panels"]}
    assert set(EXEMPT) <= titles
    assert seen.prometheus.query("firetrial_gpu_utilisation_ratio") == []


@LIVE
@pytest.mark.needs("npm", "chromium")
@pytest.mark.skipif(
    os.environ.get("FIRETRIAL_BENCH") != "full", reason="fetches 600 MB once: make test-dashboards"
)
@pytest.mark.timeout(600)
def test_every_panel_is_drawn_by_grafanas_components(seen: Seen) -> None:
    viewer = preview.built()
    for path in sorted(FOLDER.glob("*.json")):
        dashboard = json.loads(path.read_text())
        drawn = preview.draw(dashboard, seen.asking, ROOT / "build" / "dashboards", viewer)
        assert set(drawn.panels) == {p["title"] for p in dashboard["panels"] if p["type"] != "row"}
        assert drawn.broken == ()
        assert set(drawn.empty) <= set(EXEMPT)
        assert drawn.picture.stat().st_size > 50_000


@LIVE
def test_every_variable_of_a_dashboard_has_values(seen: Seen) -> None:
    found = {}
    for path in FOLDER.glob("*.json"):
        for variable in json.loads(path.read_text())["templating"]["list"]:
            if variable["type"] == "query":
                asked = re.fullmatch(r"label_values\((\w+), (\w+)\)", variable["query"]["query"])
                assert asked
                found[variable["name"]] = seen.prometheus.label_values(*asked.groups())
    assert found.keys() == {"pool", "service", "agent", "model"}
    assert {"default", "gpu"} <= set(found["pool"])  # a pool that no runner serves is there too
    assert set(found["service"]) == {"parser", "runner", "judge", "analyzer"}
    assert all(found.values())


@LIVE
def test_every_rule_is_evaluated_and_tells_what_is_true_here(seen: Seen) -> None:
    rules = {rule["name"]: rule for rule in seen.prometheus.rules()}
    assert {name: rule["lastError"] for name, rule in rules.items() if rule.get("lastError")} == {}
    files = (DEPLOYED / "rules").glob("*.yml")
    groups = [group for path in files for group in yaml.safe_load(path.read_text())["groups"]]
    assert set(rules) == {
        rule.get("alert", rule.get("record")) for group in groups for rule in group["rules"]
    }
    recorded = [name for name, rule in rules.items() if rule["type"] == "recording"]
    nothing = [name for name in recorded if not seen.prometheus.query(name)]
    assert nothing == ["pool:firetrial_forsaken_work:max"], "nothing was cancelled"
    states = {name: rule["state"] for name, rule in rules.items() if rule["type"] == "alerting"}
    told = {name for name, state in states.items() if state != "inactive"}
    # The pool gpu has no runner, a model no price, another is broken. This machine's disk is not known.
    about_disks = {"DiskNearlyFull", "DiskFillsWithinADay"}
    known = {"Watchdog", "NoRunnerForWaitingWork", "UnpricedModelCalls", "GatewayUpstreamFailing"}
    assert told - about_disks == known
    (page,) = (alert for alert in rules["NoRunnerForWaitingWork"]["alerts"])
    assert page["labels"]["pool"] == "gpu"
    assert page["annotations"]["runbook_url"] == "https://runbook.example/NoRunnerForWaitingWork.md"


@LIVE
def test_every_query_of_the_runbook_is_understood(seen: Seen) -> None:
    lines = [
        line
        for path in sorted(RUNBOOK.glob("*.md"))
        for block in re.findall(r"```promql\n(.*?)```", path.read_text(), re.DOTALL)
        for line in block.splitlines()
    ]
    assert len(lines) > 40
    for line in lines:
        seen.prometheus.query(line)
