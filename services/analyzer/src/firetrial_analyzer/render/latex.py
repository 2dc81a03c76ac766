"""The report as LaTeX tables in the shape that papers print them; they need booktabs and graphicx."""

from __future__ import annotations

import re

from firetrial_analyzer.render import text
from firetrial_analyzer.render.sheets import Cell, Sheet, sheets
from firetrial_analyzer.report import Report

_SPECIAL = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        '"': r"\textquotedbl{}",
        "−": "$-$",
        "±": r"$\pm$",
    }
    | {char: f"\\{char}" for char in "&%$#_{}"}
)
# What LaTeX knows without a package: Latin letters with accents, quotes, dashes and dots.
_UNKNOWN = re.compile("[^\x20-\x7e\xa1-\u017f‘’“”–—…−]")
# More columns than this are made to fit the width of the text.
_FITTING = 6


def latex(report: Report) -> str:
    """A table environment for each sheet, the best of a row or column bold."""
    head = "% Needs \\usepackage{booktabs} and \\usepackage{graphicx}."
    return "\n\n".join([head, *map(_table, sheets(report))]) + "\n"


def latex_escaped(value: str, limit: int = 120) -> str:
    """`value` as plain text in LaTeX; a character that no usual font has stands as its number."""
    known = _UNKNOWN.sub(lambda found: f"[U+{ord(found[0]):04X}]", text.shown(value, limit))
    return known.translate(_SPECIAL)


def _table(sheet: Sheet) -> str:
    body = sheet.rows[: len(sheet.rows) - sheet.foot]
    foot = [r"\midrule", *map(_row, sheet.rows[len(body) :])] if sheet.foot else []
    rows = [
        rf"\begin{{tabular}}{{l{'r' * (len(sheet.head) - 1)}}}",
        r"\toprule",
        " & ".join(map(latex_escaped, sheet.head)) + r" \\",
        r"\midrule",
        *map(_row, body),
        *foot,
        r"\bottomrule",
        r"\end{tabular}",
    ]
    wide = len(sheet.head) > _FITTING
    fitted = [r"\resizebox{\textwidth}{!}{%", *rows[:-1], rows[-1] + "}"] if wide else rows
    return "\n".join(
        (
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{latex_escaped(sheet.title)}. {latex_escaped(sheet.note, text.MAX_TEXT)}}}",
            rf"\label{{tab:{sheet.name}}}",
            *fitted,
            r"\end{table}",
        )
    )


def _row(cells: tuple[Cell, ...]) -> str:
    return " & ".join(map(_cell, cells)) + r" \\"


def _cell(cell: Cell) -> str:
    said = latex_escaped(cell.text)
    return rf"\textbf{{{said}}}" if cell.best else said
