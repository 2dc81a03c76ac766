"""All formats over one ordinary and one hostile report."""

import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firetrial_analyzer.analysis import AnalysedRun, Judge
from firetrial_analyzer.compose import build
from firetrial_analyzer.integrity.findings import Finding, Integrity, NumberTrace, Trace
from firetrial_analyzer.outcomes import Outcome
from firetrial_analyzer.render import TABULAR, Format, render
from firetrial_analyzer.render.latex import latex_escaped
from firetrial_analyzer.render.markdown import escaped
from firetrial_analyzer.report import Experiment, Report
from firetrial_analyzer.taxonomy.steps import Citation
from support import made_experiment
from unit.analyzer import sample
from unit.analyzer.hostile import HOSTILE, Page, hostile

RENDERED = [form for form in Format if form not in TABULAR]


@pytest.mark.parametrize("form", RENDERED)
def test_the_same_report_gives_the_same_bytes(form: Format) -> None:
    assert render(sample.report(), form) == render(sample.report(), form)


@pytest.mark.parametrize("form", RENDERED)
def test_an_experiment_without_runs_still_renders(form: Format) -> None:
    assert render(build(Experiment("e-1", (), 3), []), form)


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


@pytest.mark.parametrize("text", HOSTILE)
def test_a_markdown_table_keeps_its_columns(text: str) -> None:
    shown = render(hostile(text), Format.MARKDOWN).decode()
    tables = [block.splitlines() for block in shown.split("\n\n") if block.startswith("|")]
    assert len(tables) == 9
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
    inert = latex_escaped(text).replace("$-$", "").replace(r"$\pm$", "")
    for command in ("backslash", "asciitilde", "asciicircum", "less", "greater", "bar", "quotedbl"):
        inert = inert.replace(f"\\text{command}{{}}", "")
    assert not re.search(r"(?<!\\)[&%$#_{}~^\\](?![&%$#_{}])", inert)
    assert inert.count("\\") == len(re.findall(r"\\[&%$#_{}]", inert))


def test_a_latex_caption_says_whole_that_the_judge_was_offline() -> None:
    assert (
        "Offline judge: a demonstration, not a benchmark score.}"
        in render(sample.report(), Format.LATEX).decode()
    )


def test_latex_spells_out_what_no_font_has() -> None:
    assert latex_escaped("Zoë 日 🎉 − ±") == r"Zoë [U+65E5] [U+1F389] $-$ $\pm$"


def test_the_markdown_shows_intervals_and_differences() -> None:
    written = render(sample.several_tasks(), Format.MARKDOWN).decode()
    assert "## Differences between agents" in written
    assert "| cheap\\@2 | dear\\@1 | 6 | -20.0 | -20.0 to -20.0 | 0.031 | 0.094 |" in written
    assert "Differences" not in render(sample.report(), Format.MARKDOWN).decode()


def test_the_markdown_shows_what_integrity_checks_found() -> None:
    number = NumberTrace("0.93", 0, 4, Trace.UNTRACED)
    found = Finding("untraced_number", "0.93 occurs nowhere", (Citation(7, "acc"),))
    run = replace(sample.runs()[0], integrity=Integrity((number,), (found,), complete=True))
    written = render(build(sample.experiment(), [run]), Format.MARKDOWN).decode()
    assert "## Integrity" in written
    assert re.search(r"\| 1 \| 0 \| 0 \| 1 \| 100 % \| untraced number 1 \|", written)
    assert "- untraced number: 0.93 occurs nowhere (step 7)" in written


def test_the_tables_have_the_shape_of_a_papers() -> None:
    report = made_experiment.report()
    written = render(report, Format.MARKDOWN).decode()
    for title in ("F1 by task and agent", "Why claims were missed", "Kinds of false claims", "Contamination"):
        assert f"\n## {title}\n" in written
    row = next(line for line in written.splitlines() if line.startswith("| label-noise-knn | "))
    bold = re.findall(r"\*\*([\d.]+) ± [\d.]+\*\*", row)
    means = [float(mean) for mean in re.findall(r"([\d.]+) ±", row)]
    assert len(means) == len(report.agents)
    assert [float(mean) for mean in bold] == [max(means)]
    average = next(line for line in written.splitlines() if line.startswith("| Average | "))
    assert f"**{100 * (report.agents[0].score.f1.mean or 0):.1f}" in average


def test_shares_of_errors_add_up_to_all_of_them() -> None:
    written = render(made_experiment.report(), Format.MARKDOWN).decode()
    section = written.partition("## Why claims were missed")[2].partition("\n## ")[0]
    rows = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("|")][2:-2]
    for column in range(1, len(rows[0])):
        assert sum(float(row[column]) for row in rows) == pytest.approx(100, abs=0.5)


@pytest.mark.parametrize("report", [made_experiment.report(), sample.report(), *map(hostile, HOSTILE)])
def test_latex_tables_are_whole(report: Report) -> None:
    written = render(report, Format.LATEX).decode()
    tables = re.findall(r"\\begin\{table\}(.*?)\\end\{table\}", written, re.DOTALL)
    assert len(tables) == written.count(r"\caption{") == written.count(r"\begin{tabular}")
    for table in tables:
        columns = re.search(r"\\begin\{tabular\}\{(l r*|lr*)\}", table)
        assert columns
        rows = [line for line in table.splitlines() if line.endswith(r"\\")]
        assert rows
        assert {len(re.findall(r"(?<!\\)&", row)) + 1 for row in rows} == {len(columns[1])}
        assert table.count("{") - table.count(r"\{") == table.count("}") - table.count(r"\}")


@pytest.mark.needs("pdflatex")
@pytest.mark.parametrize("report", [made_experiment.report(), *map(hostile, HOSTILE)])
def test_latex_compiles(report: Report, tmp_path: Path) -> None:
    head = r"\documentclass{article}\usepackage[T1]{fontenc}\usepackage{booktabs}\usepackage{graphicx}"
    body = render(report, Format.LATEX).decode()
    (tmp_path / "report.tex").write_text(f"{head}\n\\begin{{document}}\n{body}\n\\end{{document}}\n")
    ended = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "report.tex"],
        cwd=tmp_path, capture_output=True, text=True, errors="replace", timeout=60,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stdout[-2000:]
