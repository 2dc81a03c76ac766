"""The report as a page: what it shows, what it needs, and what it lets run."""

import base64
import gzip
import hashlib
import json
import re
from dataclasses import replace
from importlib.resources import files
from itertools import pairwise
from typing import Any

import pytest

from firetrial_analyzer.analysis import AnalysedRun
from firetrial_analyzer.compose import build
from firetrial_analyzer.outcomes import Outcome
from firetrial_analyzer.render import Format, render
from firetrial_analyzer.render.nodes import ATTRIBUTES, TAGS, markup, node
from firetrial_analyzer.render.text import shown
from firetrial_analyzer.report import Experiment, Report
from support import made_experiment
from unit.analyzer import sample
from unit.analyzer.hostile import HOSTILE, Page, hostile

FORBIDDEN = {"img", "iframe", "object", "embed", "form", "image", "foreignobject", "base"}


def test_the_page_shows_scores_coverage_claims_and_kinds() -> None:
    page = Page(render(sample.report(), Format.HTML).decode())
    for text in (
        sample.QUESTION,
        "90.5 ± 6.7",
        "2 of 3 runs",
        "1 scored, 1 agent failed, 1 judge failed",
        "$0.0123",
        "unknown",
        "Larger neighbourhoods are always more accurate.",
        "Contradictory",
        "Overgeneralized",
        "no conclusion was left",
        "Earlier attempts",
        "A demonstration, not a benchmark score.",
        sample.JUDGE.quality,
    ):
        assert page.shows(text), text


@pytest.mark.parametrize("text", HOSTILE)
def test_the_page_needs_nothing_and_runs_nothing_but_its_own(text: str) -> None:
    source = render(hostile(text), Format.HTML).decode()
    page = Page(source)
    assert not {tag for tag, _ in page.tags} & FORBIDDEN
    for tag, attributes in page.tags:
        assert not any(name.startswith("on") for name in attributes)
        assert attributes.get("src") is None
        assert (attributes.get("href") or "#").startswith(("#", "data:,")), tag
    assert sum(tag == "style" for tag, _ in page.tags) == 1
    assert not page.shows("5041")
    (script,) = [attributes for tag, attributes in page.tags if tag == "script"]
    assert script == {}
    assert allowed(source) == own_script(source)


def allowed(source: str) -> str:
    """The hash of the one script that the page's policy lets run."""
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', source)
    assert policy
    assert "default-src 'none'" in policy[1]
    (sources,) = re.findall(r"script-src ([^;]*);", policy[1])
    return str(sources).strip("'").removeprefix("sha256-")


def own_script(source: str) -> str:
    """The hash of what the page would run."""
    (script,) = re.findall(r"<script>(.*?)</script>", source, re.DOTALL)
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def test_a_page_without_runs_runs_nothing() -> None:
    source = render(build(Experiment("e-1", (), 3), []), Format.HTML).decode()
    assert "<script" not in source
    assert allowed(source) == "none"


@pytest.mark.parametrize("text", HOSTILE)
def test_packed_runs_hold_text_and_no_markup(text: str) -> None:
    source = render(hostile(text, repeats=30), Format.HTML).decode()
    page = Page(source)
    places = [attributes for tag, attributes in page.tags if "data-block" in attributes]
    assert len(places) == 30
    packs = re.findall(r'<script type="text/plain" id="runs-\d+">(.*?)</script>', source)
    assert all(re.fullmatch(r"[A-Za-z0-9+/=]+", pack) for pack in packs)
    blocks = [json.loads(gzip.decompress(base64.b64decode(pack))) for pack in packs]
    view = blocks[int(places[-1]["data-block"] or 0)][int(places[-1]["data-place"] or 0)]
    tags, texts = zip(*(walked(part) for part in view), strict=True)
    assert set().union(*tags) <= TAGS
    assert shown(text) in set().union(*texts)


def walked(part: Any) -> tuple[set[str], set[str]]:
    """Tags and texts of a packed part."""
    if isinstance(part, str):
        return set(), {part}
    tag, attributes, *children = part
    assert set(attributes) <= ATTRIBUTES
    assert attributes.get("href", "#").startswith("#")
    found = [walked(child) for child in children]
    return {tag}.union(*(tags for tags, _ in found)), set().union(*(texts for _, texts in found))


def test_the_script_makes_the_elements_that_the_server_packs() -> None:
    script = files("firetrial_analyzer.render").joinpath("templates", "report.js").read_text()
    tags, attributes = re.findall(r"const (?:TAGS|ATTRIBUTES) = new Set\((.*?)\);", script)
    assert set(re.findall(r"[\w-]+", tags.partition(".split")[0])) == TAGS
    assert set(re.findall(r"[\w-]+", attributes)) == ATTRIBUTES


def test_a_part_of_a_page_is_of_known_make() -> None:
    for tag, attributes in (("script", {}), ("p", {"onclick": "x"}), ("a", {"href": "https://evil.example"})):
        with pytest.raises(ValueError, match="is no part of a page"):
            node(tag, "x", **attributes)
    assert markup(node("p", "<b>", node("q", '"&"'), cls="a")) == (
        '<p class="a">&lt;b&gt;<q>&quot;&amp;&quot;</q></p>'
    )


@pytest.mark.parametrize("report", [sample.report(), *map(hostile, HOSTILE)])
def test_the_page_is_accessible_in_structure(report: Report) -> None:
    page = Page(render(report, Format.HTML).decode())
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    labels = [attributes["aria-labelledby"] for _, attributes in page.tags if "aria-labelledby" in attributes]
    assert set(labels) <= set(ids)
    assert all("scope" in attributes for tag, attributes in page.tags if tag == "th")
    plots = [attributes for tag, attributes in page.tags if tag == "svg"]
    assert plots
    assert all(plot["role"] == "img" for plot in plots)
    assert {plot["aria-labelledby"] for plot in plots} | {plot["aria-describedby"] for plot in plots} <= set(
        ids
    )
    assert sum(tag == "desc" for tag, _ in page.tags) == len(plots)
    assert sum(tag == "figcaption" for tag, _ in page.tags) == len(plots)
    headings = [int(tag[1]) for tag, _ in page.tags if re.fullmatch(r"h[1-6]", tag)]
    assert headings[0] == 1
    assert all(after - before <= 1 for before, after in pairwise(headings))


def test_plots_take_their_colours_from_the_style_sheet() -> None:
    page = render(sample.report(), Format.HTML).decode()
    assert "var(--series-1)" in page
    assert not re.search(r"#0[1-5]0[1-5]0[0-9]", page)


def test_several_tasks_are_told_apart() -> None:
    runs = [
        AnalysedRun(sample.outcome("a@1", 1, Outcome.SCORED, f1=0.2, task="one")),
        AnalysedRun(sample.outcome("a@1", 1, Outcome.SCORED, f1=0.6, task="two")),
        AnalysedRun(sample.outcome("b@1", 1, Outcome.SCORED, f1=0.1, task="two")),
    ]
    page = Page(render(build(Experiment(sample.EXPERIMENT, (), 3), runs), Format.HTML).decode())
    assert page.shows("2 tasks")
    assert page.shows("40.0 ± 20.0")
    assert page.shows("not run")
    assert page.shows("over the task means")


def test_the_page_shows_intervals_differences_and_the_pareto_front() -> None:
    source = render(sample.several_tasks(), Format.HTML).decode()
    page = Page(source)
    # The better one of a pair stands first.
    for text in ("Differences", "dear cheap 6 +20.0 20.0 to 20.0 0.031 0.094", "$0.0077"):
        assert page.shows(text), text
    assert '<title id="f1-cost-title">Mean F1 against mean cost.' in source
    assert page.shows("1 not shown for want of a price or score.")


def test_a_usual_experiment_shows_every_section() -> None:
    source = render(made_experiment.report(), Format.HTML).decode()
    page = Page(source)
    names = re.findall(r"<h2[^>]*>([^<]+)</h2>", source)
    assert names == [
        "Agents", "Tasks", "Differences", "Missed claims", "False claims", "Variance", "Cost and speed",
        "Contamination", "Integrity", "Runs",
    ]  # fmt: skip
    anchors = {attributes["href"] for tag, attributes in page.tags if tag == "a"}
    assert anchors == {f"#{attributes['id']}" for tag, attributes in page.tags if tag == "h2"}
    assert sum(tag == "details" and a.get("class") == "of-run" for tag, a in page.tags) == 360
    assert len(source) < 5_000_000
    for text in ("The judge is calibrated", "Too few data", "Closed-book probe", "pass@3", "24 more pairs"):
        assert page.shows(text), text


def test_a_judge_that_nobody_compared_with_people_is_told_before_any_score() -> None:
    judge = replace(made_experiment.JUDGE, calibration_id="")
    items = [replace(item, judge=judge if item.judge else None) for item in made_experiment.runs(1)[:20]]
    source = render(build(Experiment(made_experiment.EXPERIMENT, (), 20), items), Format.HTML).decode()
    assert 0 < source.index("The judge is not calibrated.") < source.index("<h2")


def test_runs_that_are_left_out_are_told() -> None:
    items = made_experiment.runs()
    report = build(Experiment(made_experiment.EXPERIMENT, (), len(items)), items, shown=100)
    page = Page(render(report, Format.HTML).decode())
    assert page.shows(f"{360 - len(report.runs)} further runs have no details here")
