"""All formats over one ordinary and one hostile report."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firetrial_analyzer.analysis import AnalysedRun, Judge, analyse_judged
from firetrial_analyzer.claims import JudgedClaim, Judgement, Verdict
from firetrial_analyzer.compose import build
from firetrial_analyzer.outcomes import Outcome
from firetrial_analyzer.render import TABULAR, Format, render
from firetrial_analyzer.render.latex import latex_escaped
from firetrial_analyzer.render.markdown import escaped
from firetrial_analyzer.report import Experiment, Report, Task
from unit.analyzer import sample

RENDERED = [form for form in Format if form not in TABULAR]
HOSTILE = (
    "<script>alert(1)</script><img src=https://evil.example/x onerror=alert(1)>",
    "</td></table></svg><style>*{display:none}</style>",
    "$\\frac{unclosed | [link](https://evil.example) www.evil.example `code` **bold** \\input{/etc/passwd}",
    '=HYPERLINK("https://evil.example")',
    "\x00\x07\x1b[31m\u202egnp.exe\udc80 日本語 🎉",
    "{{ 71 * 71 }}{% for x in y %} _x & %&amp; #1 ~^",
    "x" * 100_000,
)


class Page(HTMLParser):
    """What of a page matters here: its tags with attributes, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    def shows(self, text: str) -> bool:
        return text in " ".join(" ".join(self.text).split())


def hostile(text: str) -> Report:
    """A report with `text` wherever a stranger's text can stand."""
    run = replace(
        sample.outcome("x@1", 1, Outcome.SCORED, f1=0.5), agent=f"{text[:300]}@{text[:300]}",
        task=text[:300], reason=text, ending=text, experiment=text[:300], run_id=text[:300],
    )  # fmt: skip
    claim = JudgedClaim("a1", text, Verdict.NEUTRAL, text, text)
    judgement = Judgement(run.run_id, (claim,), (replace(claim, id="t1"),))
    judge = Judge("offline", text, text, text)
    task = Task(run.task, text, (text,))
    lost = replace(
        run, outcome=Outcome.INFRA_FAILED, attempt=0, run_id="r-0", precision=None, recall=None, f1=None
    )
    experiment = Experiment(run.experiment, (task, Task("other")), 2, (run.agent,), 1, text)
    return build(experiment, [analyse_judged(run, "j-1", judge, judgement), AnalysedRun(lost)])


@pytest.mark.parametrize("form", RENDERED)
def test_the_same_report_gives_the_same_bytes(form: Format) -> None:
    assert render(sample.report(), form) == render(sample.report(), form)


@pytest.mark.parametrize("form", RENDERED)
def test_an_experiment_without_runs_still_renders(form: Format) -> None:
    assert render(build(Experiment("e-1", (), 3), []), form)


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
        "contradictory",
        "overgeneralized",
        "no conclusion was left",
        "Earlier attempts",
        "A demonstration, not a benchmark score.",
        sample.JUDGE.quality,
    ):
        assert page.shows(text), text


def test_a_model_backed_judge_is_no_demonstration() -> None:
    judge = Judge("model", "some-model", "abc", "kappa 0.8")
    runs = [replace(item, judge=judge if item.judge else None) for item in sample.runs()]
    report = build(sample.experiment(), runs)
    for form in (Format.HTML, Format.MARKDOWN, Format.LATEX):
        assert b"demonstration" not in render(report, form)
    assert b"some-model" in render(report, Format.HTML)


def test_an_undefined_score_is_called_undefined() -> None:
    report = build(sample.experiment(), [AnalysedRun(sample.outcome("x@1", 1, Outcome.INFRA_FAILED))])
    assert Page(render(report, Format.HTML).decode()).shows("undefined")
    assert b"undefined" in render(report, Format.LATEX)
    assert b"undefined" in render(report, Format.MARKDOWN)


@pytest.mark.parametrize("text", HOSTILE)
def test_the_page_needs_nothing_and_runs_nothing(text: str) -> None:
    page = Page(render(hostile(text), Format.HTML).decode())
    names = {tag for tag, _ in page.tags}
    assert not names & {"script", "img", "iframe", "object", "embed", "a", "form", "image", "foreignobject"}
    for tag, attributes in page.tags:
        assert not any(name.startswith("on") for name in attributes)
        assert attributes.get("src") is None
        assert (attributes.get("href") or "#").startswith(("#", "data:,")), tag
    assert sum(tag == "style" for tag, _ in page.tags) == 1
    assert not page.shows("5041")


@pytest.mark.parametrize("form", [Format.HTML, Format.MARKDOWN, Format.LATEX])
def test_unseen_characters_are_spelled_out(form: Format) -> None:
    shown = render(hostile(HOSTILE[4]), form).decode()
    assert not re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f\u202e]", shown)
    assert "u202e" in shown


@pytest.mark.parametrize("form", [Format.HTML, Format.MARKDOWN, Format.LATEX])
def test_a_very_long_text_is_cut_with_a_mark(form: Format) -> None:
    shown = render(hostile(HOSTILE[6]), form).decode()
    assert "x" * 2001 not in shown
    assert "cut:" in shown


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
    assert all(plot["role"] == "img" and plot["aria-label"] for plot in plots)
    assert sum(tag == "figcaption" for tag, _ in page.tags) == len(plots)
    headings = [int(tag[1]) for tag, _ in page.tags if re.fullmatch(r"h[1-6]", tag)]
    assert headings[0] == 1
    assert all(after - before <= 1 for before, after in pairwise(headings))


def test_plots_take_their_colours_from_the_style_sheet() -> None:
    page = render(sample.report(), Format.HTML).decode()
    assert "var(--series-3)" in page
    assert not re.search(r"#0[1-5]0[1-5]0[0-9]", page)


@pytest.mark.parametrize("text", HOSTILE)
def test_a_markdown_table_keeps_its_columns(text: str) -> None:
    shown = render(hostile(text), Format.MARKDOWN).decode()
    tables = [block.splitlines() for block in shown.split("\n\n") if block.startswith("|")]
    assert len(tables) == 4
    for table in tables:
        bars = {len(re.findall(r"(?<!\\)(?:\\\\)*\|", row)) for row in table}
        assert len(bars) == 1, table


@settings(max_examples=300)
@given(st.text())
def test_markdown_has_no_live_character(text: str) -> None:
    inert = escaped(text)
    assert "\n" not in inert
    assert not re.search(r"(?<!\\)(?:\\\\)*[`*_{}\[\]<>#|!&~$^@]", inert)
    assert not re.search(r"(?<!\\)(?:\\\\)*://", inert)


@given(st.text(max_size=100))
def test_latex_has_no_live_character(text: str) -> None:
    inert = latex_escaped(text)
    for command in ("backslash", "asciitilde", "asciicircum", "less", "greater", "bar", "quotedbl"):
        inert = inert.replace(f"\\text{command}{{}}", "")
    assert not re.search(r"(?<!\\)[&%$#_{}~^\\](?![&%$#_{}])", inert)
    assert inert.count("\\") == len(re.findall(r"\\[&%$#_{}]", inert))


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


def several_tasks() -> Report:
    """Two agents on six tasks, the better one dearer, and a third without a price."""
    runs = [
        AnalysedRun(
            sample.outcome(agent, repeat, Outcome.SCORED, f1=base + 0.1 * n, usd=usd, task=f"{n}-task")
        )
        for agent, base, usd in (("dear@1", 0.4, 0.5), ("cheap@2", 0.2, 0.1), ("unpriced@3", 0.1, None))
        for n in range(6)
        for repeat in (1, 2)
    ]
    return build(Experiment(sample.EXPERIMENT, (), len(runs)), runs)


def test_the_page_shows_intervals_differences_and_the_pareto_front() -> None:
    page = Page(render(several_tasks(), Format.HTML).decode())
    for text in (
        "Differences between agents",
        "-20.0",
        "-20.0 to -20.0",
        "0.031",
        "0.094",
        "$0.0077 a point",
    ):
        assert page.shows(text), text
    svg = [attrs for tag, attrs in page.tags if tag == "svg"]
    assert any("Mean F1 against mean cost" in (attrs.get("aria-label") or "") for attrs in svg)
    assert page.shows("Not shown for want of a price or score: 1.")


def test_the_markdown_shows_intervals_and_differences() -> None:
    written = render(several_tasks(), Format.MARKDOWN).decode()
    assert "## Differences between agents" in written
    assert "| cheap\\@2 | dear\\@1 | 6 | -20.0 | -20.0 to -20.0 | 0.031 | 0.094 |" in written
    assert "Differences" not in render(sample.report(), Format.MARKDOWN).decode()
