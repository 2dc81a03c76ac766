"""The report as a LaTeX table with a row for each agent."""

from firetrial_analyzer.render import text
from firetrial_analyzer.report import Report

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
