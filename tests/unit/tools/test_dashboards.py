"""The dashboards as they are generated and committed, and what stands behind each alert."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import click
import pytest
import yaml  # type: ignore[import-untyped]
from dashboards.__main__ import FOLDER, PAGES, main, rendered
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard

from firetrial_client.cli.main import cli

ROOT = Path(__file__).resolve().parents[3]
PROMETHEUS = ROOT / "deploy" / "prometheus"
RUNBOOK = ROOT / "docs" / "runbook"
HEADINGS = ["## What users see", "## Look first", "## What to do", "## When it is not true"]
# What Grafana itself puts in.
BUILT_IN = {"__rate_interval", "__range", "__all", "__value"}
# What Prometheus and its client tell of themselves.
THEIRS = re.compile(r"(up|ALERTS|process_\w+|prometheus_\w+)$")


def dashboards() -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for path in sorted(FOLDER.glob("*.json"))]


def panels(dashboard: dict[str, Any]) -> Iterator[dict[str, Any]]:
    return (panel for panel in dashboard["panels"] if panel["type"] != "row")


EACH = pytest.mark.parametrize("dashboard", dashboards(), ids=lambda d: d["uid"])


def rules() -> list[dict[str, Any]]:
    files = sorted((PROMETHEUS / "rules").glob("*.yml"))
    groups = [group for path in files for group in yaml.safe_load(path.read_text())["groups"]]
    return [rule for group in groups for rule in group["rules"]]


ALERTS = sorted({rule["alert"] for rule in rules() if "alert" in rule})
EACH_ALERT = pytest.mark.parametrize("alert", ALERTS)


# ---- what is committed ----
def test_what_is_committed_is_what_is_generated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--check"]) == 0
    assert main([str(tmp_path)]) == 0
    (tmp_path / "cost.json").write_text("{}")
    (tmp_path / "of-a-page-that-went.json").write_text("{}")
    assert main(["--check", str(tmp_path)]) == 1
    assert "cost.json, of-a-page-that-went.json differ" in capsys.readouterr().err
    assert main([str(tmp_path)]) == 0
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == rendered()


def test_the_same_pages_give_the_same_bytes_and_links_go_where_the_runbook_is() -> None:
    assert rendered() == rendered()
    elsewhere = rendered("https://runbook.example")
    assert {
        name: text.replace("https://runbook.example", "/public/runbook") for name, text in elsewhere.items()
    } == (rendered())


@EACH
def test_all_that_it_says_is_known_to_grafana(dashboard: dict[str, Any]) -> None:
    register_default_plugins()
    read = json.loads(json.dumps(Dashboard.from_json(dashboard), cls=JSONEncoder))
    assert read == dashboard


# ---- how it looks ----
@EACH
def test_panels_stand_in_the_grid_and_have_ids_of_their_own(dashboard: dict[str, Any]) -> None:
    ids = Counter(panel["id"] for panel in dashboard["panels"])
    assert {id_: n for id_, n in ids.items() if n > 1} == {}
    places = [panel["gridPos"] for panel in dashboard["panels"]]
    assert all(place["x"] >= 0 and place["x"] + place["w"] <= 24 for place in places)
    for one, other in combinations(places, 2):
        apart_x = one["x"] + one["w"] <= other["x"] or other["x"] + other["w"] <= one["x"]
        apart_y = one["y"] + one["h"] <= other["y"] or other["y"] + other["h"] <= one["y"]
        assert apart_x or apart_y, (one, other)


def test_ids_are_those_of_titles_whatever_stands_before() -> None:
    (fleet,) = (page for page in PAGES if page.name == "fleet")
    ids = {panel["title"]: panel["id"] for panel in json.loads(rendered()["fleet.json"])["panels"]}
    fewer = type(fleet)(fleet.name, fleet.title, fleet.told, fleet.rows[1:], fleet.variables)
    built = json.loads(json.dumps(fewer.build("/x"), cls=JSONEncoder))["panels"]
    assert {panel["title"]: panel["id"] for panel in built}.items() <= ids.items()


@EACH
def test_each_panel_says_what_it_is(dashboard: dict[str, Any]) -> None:
    for panel in panels(dashboard):
        title = panel["title"]
        assert panel["type"] in {"stat", "timeseries", "bargauge", "table"}, title
        assert panel["description"].endswith("."), title
        assert panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}, title
        targets = panel["targets"]
        assert [target["refId"] for target in targets] == list("ABCDEFGH")[: len(targets)], title
        units = [panel["fieldConfig"]["defaults"].get("unit")]
        units += [
            p["value"]
            for o in panel["fieldConfig"]["overrides"]
            for p in o["properties"]
            if p["id"] == "unit"
        ]
        assert any(units), title
        if panel["type"] in {"timeseries", "bargauge"}:
            legends = [target["legendFormat"] for target in targets]
            assert all(legends), title
            assert len(set(legends)) == len(legends), title


@EACH
def test_legends_name_labels_that_their_query_keeps(dashboard: dict[str, Any]) -> None:
    for panel in panels(dashboard):
        for target in panel["targets"]:
            for label in re.findall(r"{{(\w+)}}", target.get("legendFormat", "")):
                kept = re.findall(r"\bby \(([^)]*)\)", target["expr"])
                bare = not kept and not target["expr"].startswith(("sum", "max", "min", "count"))
                recorded = re.match(r"\(?\w+:firetrial", target["expr"]) is not None
                assert bare or recorded or any(label in names.split(", ") for names in kept), (
                    panel["title"],
                    label,
                )


@EACH
def test_variables_are_those_that_queries_ask_for(dashboard: dict[str, Any]) -> None:
    declared = {variable["name"] for variable in dashboard["templating"]["list"]}
    text = json.dumps([dashboard["panels"], dashboard["annotations"]])
    used = set(re.findall(r"\$\{?(\w+)", text)) - BUILT_IN
    assert used == declared
    sources = [v for v in dashboard["templating"]["list"] if v["type"] == "datasource"]
    assert [source["current"]["value"] for source in sources] == [provisioned()["uid"]]


def provisioned() -> dict[str, Any]:
    folder = ROOT / "deploy" / "grafana" / "provisioning"
    (source,) = yaml.safe_load((folder / "datasources" / "prometheus.yml").read_text())["datasources"]
    return dict(source)


def test_dashboards_know_each_other_and_start_with_what_is_urgent() -> None:
    found = dashboards()
    assert {d["uid"] for d in found} == {f"firetrial-{page.name}" for page in PAGES}
    assert len({d["title"] for d in found}) == len(found)
    for dashboard in found:
        assert dashboard["tags"] == ["firetrial"]
        assert [(link["type"], link["tags"]) for link in dashboard["links"]] == [
            ("dashboards", ["firetrial"])
        ]
        first = [panel for panel in dashboard["panels"] if panel["gridPos"]["y"] == 1]
        assert {panel["type"] for panel in first} == {"stat"}
        assert sum(panel["gridPos"]["w"] for panel in first) == 24


@EACH
def test_a_rate_says_what_time_it_is_by(dashboard: dict[str, Any]) -> None:
    """In its unit: nobody hovers over a description at night."""
    without = {"CPU", "GPU time", "Waiting for upstreams"}  # seconds a second
    for panel in panels(dashboard):
        rates = [t for t in panel["targets"] if re.search(r"\brate\(", t["expr"])]
        plain = [t for t in rates if not t["expr"].startswith(("histogram_quantile", "topk"))]
        if panel["type"] == "timeseries" and plain and panel["title"] not in without:
            assert panel["fieldConfig"]["defaults"]["unit"] not in {"none", "short"}, panel["title"]


@EACH
def test_of_many_processes_a_panel_shows_a_few(dashboard: dict[str, Any]) -> None:
    for panel in panels(dashboard):
        for target in panel["targets"]:
            if "instance" in target.get("legendFormat", ""):
                assert re.match(r"(topk|bottomk)\(10, ", target["expr"]), panel["title"]


# ---- alerts ----
@EACH_ALERT
def test_each_alert_has_a_page_that_says_what_to_do(alert: str) -> None:
    text = (RUNBOOK / f"{alert}.md").read_text()
    assert text.startswith(f"# {alert}\n\n")
    assert re.findall(r"(?m)^## .*$", text) == HEADINGS
    assert all(part.strip() for part in re.split(r"(?m)^##? .*$", text)[1:])
    assert f"({alert}.md)" in (RUNBOOK / "README.md").read_text()


@EACH_ALERT
def test_each_alert_says_how_bad_what_and_where_to_read(alert: str) -> None:
    for rule in (rule for rule in rules() if rule.get("alert") == alert):
        told = rule["annotations"]
        assert rule["labels"].keys() == {"severity"}
        assert rule["labels"]["severity"] in ({"page", "ticket"} if alert != "Watchdog" else {"none"})
        assert told.keys() == {"summary", "description", "runbook_url"}
        assert told["runbook_url"] == f'{{{{ or $externalLabels.runbooks "docs/runbook" }}}}/{alert}.md'
        assert len(told["summary"]) < 160


def scenarios() -> list[dict[str, Any]]:
    files = sorted((PROMETHEUS / "tests").glob("*.yml"))
    return [test for path in files for test in yaml.safe_load(path.read_text())["tests"]]


@EACH_ALERT
def test_each_alert_is_shown_to_fire_and_not_to_fire(alert: str) -> None:
    shown = [
        [bool(case["exp_alerts"]) for case in test.get("alert_rule_test", ()) if case["alertname"] == alert]
        for test in scenarios()
    ]
    assert any(any(fires) for fires in shown)
    if alert != "Watchdog":  # which never rests
        assert any(fires and not any(fires) for fires in shown), "no scenario in which it stays silent"
        assert any(False in fires and True in fires for fires in shown), "not shown to wait before it fires"


@EACH_ALERT
def test_each_severity_of_an_alert_is_shown(alert: str) -> None:
    has = {rule["labels"]["severity"] for rule in rules() if rule.get("alert") == alert}
    cases = [
        case for test in scenarios() for case in test.get("alert_rule_test", ()) if case["alertname"] == alert
    ]
    assert {told["exp_labels"]["severity"] for case in cases for told in case["exp_alerts"]} == has


@EACH_ALERT
def test_each_alert_stands_behind_a_panel(alert: str) -> None:
    urls = {link["url"] for d in dashboards() for panel in panels(d) for link in panel["links"]}
    assert f"${{runbooks}}/{alert}.md" in urls


def test_there_is_no_page_test_or_link_without_an_alert() -> None:
    assert {path.stem for path in RUNBOOK.glob("*.md")} == {*ALERTS, "README"}
    assert {case["alertname"] for test in scenarios() for case in test.get("alert_rule_test", ())} == set(
        ALERTS
    )
    told = (ROOT / "deploy" / "alertmanager" / "alertmanager.yml").read_text()
    matched = re.findall(r'alertname =~? "?([A-Za-z|]+)', told)
    assert {name for names in matched for name in names.split("|")} <= set(ALERTS)
    urls = {link["url"] for d in dashboards() for panel in panels(d) for link in panel["links"]}
    pages = {f"/d/{dashboard['uid']}" for dashboard in dashboards()}
    assert urls <= {f"${{runbooks}}/{alert}.md" for alert in ALERTS} | pages


# ---- names ----
def expressions() -> dict[str, str]:
    """Where it stands → PromQL, of rules, dashboards and runbook."""
    found = {
        f"rule {rule.get('alert', rule.get('record'))} {n}": rule["expr"] for n, rule in enumerate(rules())
    }
    for dashboard in dashboards():
        for panel in panels(dashboard):
            for target in panel["targets"]:
                found[f"{dashboard['uid']} {panel['title']} {target['refId']}"] = target["expr"]
    for path in RUNBOOK.glob("*.md"):
        found[path.stem] = "\n".join(re.findall(r"```promql\n(.*?)```", path.read_text(), re.DOTALL))
    return found


def test_every_metric_that_is_asked_for_is_one_that_services_tell() -> None:
    told = set(re.findall(r"(?m)^\|.*?`?\b(firetrial_\w+)", (ROOT / "docs" / "metrics.md").read_text()))
    recorded = {rule["record"] for rule in rules() if "record" in rule}
    unknown = {}
    for where, expr in expressions().items():
        names = set(re.findall(r"\b[a-z]\w*:\w+:\w+\b|\b(?:firetrial|process|prometheus)_\w+\b", expr))
        plain = {re.sub(r"_(bucket|count|sum)$", "", name) for name in names}
        if strange := {name for name in plain - told - recorded if not THEIRS.match(name)}:
            unknown[where] = strange
    assert unknown == {}


def commands() -> Iterator[tuple[str, str]]:
    for path in sorted(RUNBOOK.glob("*.md")):
        for block in re.findall(r"```sh\n(.*?)```", path.read_text(), re.DOTALL):
            yield from ((path.stem, line) for line in block.splitlines())


# What stands for something on a page, and something that it may be.
WORDS = {
    "EXPERIMENT": "e-1", "RUN": "r-1", "LETTER": "7", "RUNNER": "r", "POOL": "p", "NAME": "n", "MODEL": "m",
    "LABELS": __file__, "FOLDER": "folder",
}  # fmt: skip


@pytest.mark.parametrize(("page", "line"), list(commands()))
def test_each_command_of_the_runbook_is_whole(page: str, line: str) -> None:
    """It is there, and takes what the page gives it."""
    program, *words = line.split()
    assert program == "firetrial"
    words = [WORDS.get(word, word) for word in words]
    command: click.Command = cli
    context = click.Context(cli)
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        word, *words = words
        found = command.get_command(context, word)
        assert found is not None, f"{page}: firetrial has no {word}"
        with found.make_context(
            word, ["--help"], resilient_parsing=True
        ) as loaded:  # where it is found by name alone
            command = loaded.command
    with command.make_context(command.name, words, parent=context) as context:
        assert not isinstance(command, click.Group) or command.invoke_without_command, f"{page}: {line}"
