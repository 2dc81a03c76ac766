"""What programs printed, number by number, with the words beside it; of much the first and last of a name."""

import math
import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from firetrial_analyzer.integrity.labels import label
from firetrial_analyzer.integrity.literals import sets
from firetrial_analyzer.integrity.passages import Passage
from firetrial_analyzer.integrity.quantities import NUMBER_WORDS, is_usual
from firetrial_analyzer.integrity.scanning import EVERY, Found, Text, header
from firetrial_analyzer.taxonomy.actions import Line
from firetrial_analyzer.taxonomy.steps import Citation, cite

MAX_SEEN = 200_000
"""Numbers of outputs that are put down."""
MAX_NAMES = 400
MAX_CELLS = 1600
"""Numbers that others can follow from."""
_KEPT = 48  # of each name, from the beginning and again from the end
_MAX_LINE = 2000
_MOST_IN_CODE = 2000
_MOST_COUNTS = 60
_SHOWN = 300
_NAME = 40
_WORD_AFTER = 20
_FIELD = re.compile(r"[^\s,|\[\]]+")
_NUMERAL = re.compile(
    r"(?:(?<![A-Za-z_])([A-Za-z_]\w{0,30})\s{0,2}[=: ]\s{0,2})?"
    r"(?<![\w.])(\d{1,12}(?:\.\d{1,12})?)(?![\w.]?\d)(?!\w)"
)
_SAME = dict.fromkeys(("sd", "std", "stdev"), label("deviation"))
_LETTERS = re.compile(r"[a-z]+")


@dataclass(frozen=True, slots=True)
class Cell:
    """A number, the name that it stands under, and the words and other numbers of its line and command.

    `column` is the same for numbers in one place of lines that were printed together. It `is_set` where the
    code has it, as settings are that are printed beside results.
    """

    value: float
    name: str
    row: int
    words: frozenset[str]
    citation: Citation | None = None
    unit: str = ""
    own: frozenset[str] = frozenset()
    column: tuple[int, int] = (-1, 0)
    is_set: bool = False


@dataclass(frozen=True, slots=True)
class _Raw:
    value: float
    row: int
    line: Line
    above: str
    command: str
    column: tuple[int, int]


@dataclass(slots=True)
class _Named:
    """The numbers under one name; sums by Welford's recurrence, so that none has to be kept for them."""

    first: list[_Raw] = field(default_factory=list)
    last: deque[_Raw] = field(default_factory=lambda: deque(maxlen=_KEPT))
    count: int = 0
    mean: float = 0.0
    squares: float = 0.0

    def add(self, raw: _Raw) -> None:
        self.count += 1
        away = raw.value - self.mean
        self.mean += away / self.count
        self.squares += away * (raw.value - self.mean)
        (self.first if len(self.first) < _KEPT else self.last).append(raw)


@dataclass(frozen=True, slots=True)
class Series:
    """Mean and sample deviation of all numbers under a name, of which too many were printed to be kept."""

    name: str
    count: int
    mean: float
    deviation: float


class Ledger:
    """Takes outputs in their order; memory does not grow with them."""

    def __init__(self) -> None:
        self._names: dict[str, _Named] = {}
        self._seen = 0
        self._rows = 0
        self._block = 0
        self._width = 0
        self._in_code: set[float] = set()

    @property
    def all_read(self) -> bool:
        """Whether everything could be put down."""
        return self._seen <= MAX_SEEN

    def see(self, passage: Passage) -> None:
        """Take the next passage of the run."""
        if passage.code:
            self._code(passage)
        elif self.all_read:
            self._output(passage)

    def _code(self, passage: Passage) -> None:
        text = Text.of(tuple(line for line in passage.lines if len(line.text) <= _MAX_LINE))
        for found in text.found(EVERY):
            if len(self._in_code) >= _MOST_IN_CODE:
                return
            if sets(text.lines[found.line].text, found.start, found.value, found.half):
                self._in_code.add(found.value)

    def _output(self, passage: Passage) -> None:
        text = Text.of(tuple(line for line in passage.lines if len(line.text) <= _MAX_LINE))
        row: list[Found] = []
        for found in [*_in_order(text), None]:
            if row and (found is None or found.line != row[0].line):
                self._row(text, row, passage.command or passage.file)
                row = []
            if found is not None:
                row.append(found)
        self._rows += len(passage.lines)
        self._block += 1

    def _row(self, text: Text, row: list[Found], command: str) -> None:
        line = text.lines[row[0].line]
        if len(row) != self._width:
            self._block, self._width = self._block + 1, len(row)
        above: str | None = None
        end, last = 0, ""
        for column, found in enumerate(row):
            self._seen += 1
            told = line.text[max(end, found.start - _NAME) : found.start]
            letters = "_".join(_LETTERS.findall(told.lower()))
            if not letters:
                above = header(text, found.line) if above is None else above
            last = letters or _heading(above or "", line.text, found.start) or last or f"#{column}"
            end = found.end
            if (named := self._named(last)) is None:
                continue
            if above is None and named.count < _KEPT:
                above = header(text, found.line)
            value = -found.value if found.negative else found.value
            if not is_usual(value):
                continue
            shown = Line(line.step, line.text[:_SHOWN])
            named.add(
                _Raw(value, self._rows + found.line, shown, above or "", command, (self._block, column))
            )

    def _named(self, name: str) -> _Named | None:
        if name not in self._names and len(self._names) >= MAX_NAMES:
            return None
        return self._names.setdefault(name, _Named())

    @property
    def counts(self) -> list[float]:
        """Whole numbers of the code, as it has them: of 600 rows 150 may be for training."""
        return sorted(value for value in self._in_code if value == int(value) and value > 1)[:_MOST_COUNTS]

    def cells(self) -> Iterator[Cell]:
        """What was kept, name by name; of many names less of each."""
        each = max(1, min(_KEPT, MAX_CELLS // (2 * max(1, len(self._names)))))
        for name, named in self._names.items():
            for raw in (*named.first[:each], *list(named.last)[-each:]):
                told = f"{name} {raw.line.text} {raw.above} {raw.command}"
                own = label(name) | _SAME.get(name, frozenset())
                words = label(told) | own | settings(raw.line.text, raw.command) - settings(f"{raw.value:g}")
                citation = cite(raw.line.step, raw.line.text) if raw.line.step else None
                yield Cell(
                    raw.value,
                    name,
                    raw.row,
                    words,
                    citation,
                    own=own,
                    column=raw.column,
                    is_set=abs(raw.value) in self._in_code,
                )

    def series(self) -> Iterator[Series]:
        """Of the names of which not all could be kept."""
        for name, named in self._names.items():
            if named.count > 2 * _KEPT:
                deviation = math.sqrt(named.squares / (named.count - 1))
                yield Series(name, named.count, named.mean, deviation)


def settings(*texts: str) -> frozenset[str]:
    """The numbers of texts as words, with the names that they are set to: 0.1, l2=0.1."""
    return frozenset(
        f"{name.lower()}={float(digits):g}" if name else f"{float(digits):g}"
        for text in texts
        for name, digits in _NUMERAL.findall(text)
    )


def numerals(text: str) -> frozenset[str]:
    """The numbers of a text as words, without names."""
    worded = (str(n) for n, word in enumerate(("one", *NUMBER_WORDS), 1) if word in text.lower().split())
    return frozenset([*(word.rpartition("=")[2] for word in settings(text)), *worded])


def _heading(above: str, line: str, start: int) -> str:
    """The word over a number in a table whose columns are words."""
    heads = _FIELD.findall(above)
    fields = [match.start() for match in _FIELD.finditer(line)]
    at = max((n for n, begin in enumerate(fields) if begin <= start), default=-1)
    fits = at >= 0 and len(heads) <= len(fields) <= len(heads) + 1 and at < len(heads)
    return "_".join(_LETTERS.findall(heads[at].lower())) if fits else ""


def _in_order(text: Text) -> Iterator[Found]:
    """Every number once: 840,000 is one, and not 840 and 0."""
    line = end = -1
    for found in sorted(text.found(EVERY), key=lambda item: (item.line, item.start, -item.end)):
        if found.line != line or found.start >= end:
            yield found
            line, end = found.line, found.end
