"""Numbers that stand together in outputs, as tables or lines, and what follows from them."""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from firetrial_analyzer.integrity.derivation import (
    CHANCE_IN_OUTPUTS,
    MAX_PAIRED,
    Chances,
    Derived,
    cues,
    deviations,
    of_many,
    of_one,
    of_two,
)
from firetrial_analyzer.integrity.labels import label, shared
from firetrial_analyzer.integrity.passages import Passage
from firetrial_analyzer.integrity.quantities import Quantity
from firetrial_analyzer.integrity.scanning import EVERY, Found, Text
from firetrial_analyzer.taxonomy.steps import Citation, cite

MAX_ROWS = 64
MAX_TABLES = 20_000
_MAX_CELLS = 400
_MAX_LINE = 2000
_WORD_AFTER = 20
_DIGIT = re.compile("[0-9]")


@dataclass(frozen=True, slots=True)
class Cell:
    """A number of a table or of lines that belong together, with the words beside it alone."""

    row: int
    column: int
    value: float
    words: frozenset[str]
    citation: Citation | None


@dataclass(frozen=True, slots=True)
class Wish:
    """A number of a conclusion, its sentence and the words of it; `whole` is the 20 of "3 of 20", or 0.

    `mean` is the number that it is told as the deviation of, None for no deviation.
    """

    key: int
    quantity: Quantity
    sentence: str
    words: frozenset[str]
    whole: float = 0.0
    mean: Quantity | None = None


class Deriver:
    """Sees outputs in their order, table by table, and keeps what the wished numbers could follow from."""

    def __init__(self, wishes: Iterable[Wish]) -> None:
        told = [(wish, cues(wish.sentence, wish.quantity)) for wish in wishes]
        self._wishes = [(wish, cue, Chances(wish.quantity)) for wish, cue in told if cue or wish.mean]
        self._counted: dict[int, Derived] = {}
        self._tables = 0

    @property
    def all_read(self) -> bool:
        """Whether there were no more tables than are looked through."""
        return self._tables <= MAX_TABLES

    def see(self, passage: Passage) -> None:
        """Take the next passage of the run."""
        if not self._wishes or passage.code:
            return
        for head, table in _tables(passage):
            self._tables += 1
            if self._tables > MAX_TABLES:
                return
            cells = _cells(table)
            if 2 <= len(cells) <= _MAX_CELLS:
                self._table(cells, head)

    def found(self, key: int) -> Derived | None:
        """How the number with this key follows from what was seen."""
        chances = next((chances for wish, _, chances in self._wishes if wish.key == key), None)
        derived = chances.within(CHANCE_IN_OUTPUTS) if chances else None
        return derived or self._counted.get(key)

    def _table(self, cells: list[Cell], head: frozenset[str]) -> None:
        groups = _groups(cells)
        common = frozenset.intersection(*(cell.words for cell in cells))
        every = head.union(*(cell.words for cell in cells))
        for wish, told, chances in self._wishes:
            for group in (*groups, *_of_a_word(cells, wish.words)):
                for how, result in of_many([cell.value for cell in group], told):
                    chances.offer(f"{how} of {len(group)} numbers", result, _shown(group[0], group[-1]))
                self._together(wish, group, every)
            for result in _weighted(groups) if "mean" in told else ():
                chances.offer("weighted mean", result, _shown(cells[0], cells[-1]))
            for cell in _shares(cells, wish.words) if "rest" in told else ():
                for how, result in of_one(cell.value, frozenset({"rest"}), ""):
                    chances.offer(f"{how} of {cell.value:g}", result, _shown(cell))
            for one, other in _named(cells, common, wish.words):
                for how, result in of_two(one.value, other.value, told):
                    text = f"{how} of {one.value:g} and {other.value:g}"
                    chances.offer(text, result, _shown(one, other))

    def _together(self, wish: Wish, group: Sequence[Cell], words: frozenset[str]) -> None:
        """What follows from a group as a whole, where chance has no say."""
        if wish.key in self._counted:
            return
        if wish.whole and shared(words, wish.words):
            self._count(wish, group)
        if wish.mean is not None:
            self._deviate(wish, wish.mean, group)

    def _count(self, wish: Wish, group: Sequence[Cell]) -> None:
        """ "3 of 4" follows from four numbers of which three are above 0, or below it."""
        values = [cell.value for cell in group]
        signs = {sum(value > 0 for value in values), sum(value < 0 for value in values)}
        if (
            len(values) == wish.whole
            and min(values) < 0 < max(values)
            and wish.quantity.value in signs | {wish.whole}
        ):
            told = f"count among {len(values)} numbers"
            self._counted[wish.key] = Derived(told, _shown(group[0], group[-1]))

    def _deviate(self, wish: Wish, mean: Quantity, group: Sequence[Cell]) -> None:
        """ "0.81 ± 0.01" follows from numbers that have both as their mean and their deviation."""
        values = [cell.value for cell in group]
        for scale in (1.0, 100.0):
            scaled = [scale * value for value in values]
            if _rounds_to(math.fsum(scaled) / len(scaled), mean) and any(
                _rounds_to(deviation, wish.quantity) for deviation in deviations(scaled)
            ):
                self._counted[wish.key] = Derived(
                    f"deviation of {len(values)} numbers", _shown(group[0], group[-1])
                )


def _rounds_to(value: float, told: Quantity) -> bool:
    return abs(value - told.value) <= told.half * (1 + 1e-9)


def _groups(cells: Sequence[Cell]) -> list[list[Cell]]:
    """Columns and rows of at least two numbers."""
    columns: dict[int, list[Cell]] = {}
    rows: dict[int, list[Cell]] = {}
    for cell in cells:
        columns.setdefault(cell.column, []).append(cell)
        rows.setdefault(cell.row, []).append(cell)
    return [group for group in (*columns.values(), *rows.values()) if len(group) > 1]


def _weighted(groups: Sequence[Sequence[Cell]]) -> Iterator[float]:
    """Means of each column, weighted with each column of counts beside it."""
    columns = [group for group in groups if group[0].column == group[-1].column]
    for counts in columns:
        if any(cell.value != int(cell.value) or cell.value < 2 for cell in counts):
            continue
        for column in columns:
            if column is not counts and [cell.row for cell in column] == [cell.row for cell in counts]:
                total = math.fsum(n.value for n in counts)
                yield math.fsum(a.value * n.value for a, n in zip(column, counts, strict=True)) / total


def _of_a_word(cells: Sequence[Cell], words: frozenset[str]) -> Iterator[list[Cell]]:
    """The numbers that have one word of the sentence beside them, for each such word, but not all numbers."""
    for word in sorted(words):
        group = [cell for cell in cells if word in cell.words]
        if 1 < len(group) < len(cells):
            yield group


def _shares(cells: Sequence[Cell], words: frozenset[str]) -> Iterator[Cell]:
    """Shares of a whole that the sentence has a word for."""
    return (cell for cell in cells if 0 < cell.value < 1 and shared(cell.words, words))


def _named(
    cells: Sequence[Cell], common: frozenset[str], words: frozenset[str]
) -> Iterator[tuple[Cell, Cell]]:
    """Pairs of numbers that the sentence has a word for each of, and that have not only the same words."""
    named = [cell for cell in cells if shared(cell.words - common, words)][:MAX_PAIRED]
    for one, other in combinations(named, 2):
        left, right = one.words - common, other.words - common
        if shared(left - right, words) and shared(right - left, words):
            yield one, other


def _shown(*cells: Cell) -> tuple[Citation, ...]:
    return tuple(dict.fromkeys(cell.citation for cell in cells if cell.citation))


def _tables(passage: Passage) -> Iterator[tuple[frozenset[str], Passage]]:
    """Runs of lines with numbers, with the words above them; what is longer than a table is a log."""
    rows: list[int] = []
    head = ""
    for n, line in enumerate((*passage.lines, None)):
        if line is not None and _DIGIT.search(line.text, 0, _MAX_LINE):
            rows.append(n)
            continue
        if 0 < len(rows) <= MAX_ROWS:
            yield label(head), Passage(tuple(passage.lines[row] for row in rows), file=passage.file)
        rows = []
        head = line.text[:_MAX_LINE] if line is not None else ""


def _cells(table: Passage) -> list[Cell]:
    text = Text.of(tuple(line for line in table.lines if len(line.text) <= _MAX_LINE))
    cells: list[Cell] = []
    row, column, end = -1, 0, 0
    for found in _in_order(text):
        line = text.lines[found.line]
        if found.line != row:
            row, column, end = found.line, 0, 0
        words = label(line.text[end : found.start]) or (cells[-1].words if column else frozenset())
        after = label(" ".join(line.text[found.end : found.end + _WORD_AFTER].split()[:1]))
        citation = cite(line.step, line.text) if line.step else None
        value = -found.value if found.negative else found.value
        cells.append(Cell(row, column, value, words | after, citation))
        column, end = column + 1, found.end
    return cells


def _in_order(text: Text) -> list[Found]:
    """Every number once: 840,000 is one, and not 840 and 0."""
    found = sorted(text.found(EVERY), key=lambda item: (item.line, item.start, -item.end))
    kept: list[Found] = []
    for item in found[: 4 * _MAX_CELLS]:
        if not kept or (item.line, item.start) >= (kept[-1].line, kept[-1].end):
            kept.append(item)
    return kept
