"""The report as tables for other programs: CSV with a row for each run, LaTeX with a row for each agent."""

import csv
import io

from firetrial_analyzer.analysis import AnalysedRun
from firetrial_analyzer.outcomes import METRICS, USAGE_FIELDS
from firetrial_analyzer.render import text
from firetrial_analyzer.report import Report

_RUN_FIELDS = ("experiment", "task", "agent", "repeat", "attempt", "run_id", "outcome")
COLUMNS = (*_RUN_FIELDS, *METRICS, *USAGE_FIELDS, "claims", "false_claims", "missing", "reason")
# A spreadsheet takes a cell that starts so for a formula, also after blanks and in full width.
_FORMULA = tuple("=+-@＝＋－＠|%")
_LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        '"': r"\textquotedbl{}",
    }
    | {char: f"\\{char}" for char in "&%$#_{}"}
)


def csv_text(report: Report) -> str:
    """One row a run, also of earlier attempts, with `COLUMNS`; empty where unknown or undefined."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(COLUMNS)
    items = [*report.runs, *(AnalysedRun(run) for run in report.earlier_attempts)]
    for item in sorted(items, key=lambda item: (item.run.slot, item.run.attempt)):
        writer.writerow(_row(item))
    return out.getvalue()


def _row(item: AnalysedRun) -> list[str]:
    run = item.run
    cells: list[object] = [getattr(run, name) for name in (*_RUN_FIELDS, *METRICS)]
    cells += [getattr(run.usage, name) for name in USAGE_FIELDS]
    cells += [
        len(item.judgement.agent_claims) if item.judgement else None,
        len(item.attribution.false_positives) if item.attribution else None,
        len(item.attribution.missing) if item.attribution else None,
        run.reason,
    ]
    return [_cell(cell) for cell in cells]


def _cell(value: object) -> str:
    """Numbers as they are; text with its unseen characters spelled out and never the start of a formula."""
    if value is None:
        return ""
    if not isinstance(value, str):
        return str(value)
    safe = text.shown(value)
    return f"'{safe}" if safe.startswith(_FORMULA) else safe


def latex(report: Report) -> str:
    """A booktabs table: agent, precision, recall, F1 as mean ± std in points of 100, runs counted."""
    rows = [
        " & ".join(
            (
                latex_escaped(row.agent),
                *(
                    _latex_mean(text.mean_and_spread(mean))
                    for mean in (row.score.precision, row.score.recall, row.score.f1)
                ),
                f"{row.score.f1.counted}/{row.score.f1.total}",
            )
        )
        + r" \\"
        for row in report.agents
    ]
    spread = "over the task means" if len(report.tasks) > 1 else "over repeats"
    offline = any(judge.offline for judge in report.judges)
    caveat = " Offline judge: a demonstration, not a benchmark score." if offline else ""
    return "\n".join(
        (
            r"\begin{table}",
            r"\centering",
            rf"\caption{{Mean $\pm$ population standard deviation {spread}, points of 100.{caveat}}}",
            r"\begin{tabular}{lrrrr}",
            r"\toprule",
            r"Agent & Precision & Recall & F1 & Runs \\",
            r"\midrule",
            *rows,
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
            "",
        )
    )


def latex_escaped(value: str) -> str:
    """`value` as plain text in LaTeX."""
    return text.shown(value, 120).translate(_LATEX)


def _latex_mean(value: str) -> str:
    return value if value == text.UNDEFINED else f"${value.replace('±', chr(92) + 'pm')}$"
