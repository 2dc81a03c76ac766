"""What a paper claims that can be looked up: rows of tables, settings, programs that it names.

Tables are read in Markdown and in LaTeX.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

MOST_ROWS = 400
MOST_SETTINGS = 300
MOST_PROGRAMS = 100
_MOST_CELLS = 40
_EXACT = 0.05  # a number that is told less exactly may be in any unit
_RULE = re.compile(r"\s*\|?\s*:?-{2,}:?\s*(?:\|\s*:?-{2,}:?\s*)*\|?\s*")
_BEGIN, _END = r"\begin{tabular", r"\end{tabular"
_MOST_TABLE = 20_000
_COMMANDS = re.compile(
    r"\\(?:textbf|textit|emph|text|mathbf|underline|multicolumn\{\d+\}\{[^}]*\})\s?\{([^{}]*)\}"
)
_RULES = re.compile(r"\\(?:hline|toprule|midrule|bottomrule|cline\{[^}]*\}|cmidrule(?:\([^)]*\))?\{[^}]*\})")
_SETTING = re.compile(
    r"(?<![\w.])(?P<name>[A-Za-z][A-Za-z_]{0,30})`?\s?=\s?`?(?P<value>\d{1,12}(?:\.\d{1,12})?)(?![\w.]?\d)"
)
_PROGRAM = re.compile(r"[\w./-]{1,120}\.(?:py|sh|R|jl|ipynb)\b")
_CELL = re.compile(r"[-−+]?(?P<digits>\d{1,12}(?:\.(?P<decimals>\d{1,12}))?)\s?(?P<percent>\\?%)?")


@dataclass(frozen=True, slots=True)
class Number:
    """A cell that is a number, and half a unit of its last digit."""

    value: float
    half: float

    def fits(self, other: float) -> bool:
        """Whether a measured value is this one, up to rounding, as a share or in percent."""
        scales = (1.0, 100.0, 0.01) if self.half <= _EXACT * self.value else (1.0,)
        room = self.half * (1 + 1e-9) + 1e-12
        return any(abs(abs(other) * scale - self.value) <= room for scale in scales)

    def equals(self, other: float) -> bool:
        """Whether a setting's value is this one."""
        return abs(abs(other) - self.value) <= 1e-9 * max(1.0, self.value)


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell from `start` to `end` of the paper, under the header of its column; `number` where it is one."""

    header: str
    text: str
    start: int
    end: int
    number: Number | None


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table that has numbers."""

    cells: tuple[Cell, ...]

    @property
    def told(self) -> str:
        return " | ".join(cell.text for cell in self.cells)[:200]


@dataclass(frozen=True, slots=True)
class Setting:
    """`name = value` in the paper's text."""

    name: str
    number: Number
    text: str
    start: int


@dataclass(frozen=True, slots=True)
class Paper:
    """What was found, in the paper's order; of very much the first."""

    rows: tuple[Row, ...]
    settings: tuple[Setting, ...]
    programs: tuple[str, ...]


def read(text: str) -> Paper:
    """Find what can be looked up."""
    rows = [*_markdown(text), *_latex(text)][:MOST_ROWS]
    settings = [
        Setting(
            match["name"], _number(match["value"]) or Number(0.0, 0.0), match.group(), match.start("value")
        )
        for match in _SETTING.finditer(text)
    ]
    programs = dict.fromkeys(match.group().removeprefix("./") for match in _PROGRAM.finditer(text))
    return Paper(tuple(rows), tuple(settings[:MOST_SETTINGS]), tuple(programs)[:MOST_PROGRAMS])


def plain(text: str) -> str:
    """A name or a word in the form in which names are compared."""
    return re.sub(r"[^\w.]+", "", text).replace("_", "").lower()


def number_of(text: str) -> Number | None:
    """The number that a text is, and nothing else."""
    return _number(text.strip(" `*$"))


def _number(text: str) -> Number | None:
    match = _CELL.fullmatch(text)
    if match is None:
        return None
    return Number(float(match["digits"]), 0.5 * 10.0 ** -len(match["decimals"] or ""))


def _markdown(text: str) -> Iterator[Row]:
    lines = [(match.start(), match.group()) for match in re.finditer(r"[^\n]+", text)]
    headers: list[str] = []
    for (_, above), (start, line) in pairwise([(0, ""), *lines]):
        if "|" not in line:
            headers = []
        elif _RULE.fullmatch(line):
            headers = [cell for cell, _ in _split(above, "|")]
        elif headers:
            yield from _row(headers, _split(line, "|"), start)


def _latex(text: str) -> Iterator[Row]:
    begin = text.find(_BEGIN)
    while begin >= 0 and (end := text.find(_END, begin)) >= 0:
        yield from _tabular(text[begin:end][:_MOST_TABLE], begin)
        begin = text.find(_BEGIN, end)


def _tabular(table: str, at: int) -> Iterator[Row]:
    headers: list[str] = []
    for line in table.split(r"\\"):
        cells = _split(line, "&")
        if len(cells) > 1 and not headers:
            headers = [re.sub(r"^.*\}\s*", "", cell) for cell, _ in cells]
        elif headers:
            yield from _row(headers, cells, at)
        at += len(line) + 2


def _split(line: str, mark: str) -> list[tuple[str, int]]:
    """The cells of a line with where each begins; what only encloses them is no cell."""
    found, at = [], 0
    parts = line.split(mark)
    for n, part in enumerate(parts):
        bare = _COMMANDS.sub(r"\1", _RULES.sub("", part)).strip(" \t`*$\r")
        if bare.strip() or 0 < n < len(parts) - 1:
            found.append((bare.strip(), at + max(0, part.find(bare.strip()))))
        at += len(part) + len(mark)
    return found[:_MOST_CELLS]


def _row(headers: list[str], cells: list[tuple[str, int]], start: int) -> Iterator[Row]:
    found = tuple(
        Cell(header, text, start + at, start + at + len(text), number_of(text))
        for header, (text, at) in zip(headers, cells, strict=False)
    )
    if any(cell.number for cell in found):
        yield Row(found)
