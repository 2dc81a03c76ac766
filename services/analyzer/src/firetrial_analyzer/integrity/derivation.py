"""Numbers that follow from others: the drop between two accuracies, the mean of a column, the share of a count.

With thousands of numbers anything can be derived, so a derivation counts only where the sentence tells of one
(a drop, a mean, a factor), where its parts stand together, and where a made-up number would have been
derivable too in less than a given share of the cases.
"""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from firetrial_analyzer.integrity.labels import label, shared
from firetrial_analyzer.integrity.passages import Passage
from firetrial_analyzer.integrity.quantities import Quantity
from firetrial_analyzer.integrity.scanning import Text, Wanted
from firetrial_analyzer.taxonomy.steps import Citation, cite

# A made-up number may be derivable in so many cases: from numbers that the conclusion itself puts beside it,
# and from numbers that stand in the outputs.
CHANCE_BESIDE = 0.3
CHANCE_IN_OUTPUTS = 0.05
MAX_ROWS = 64
MAX_TABLES = 20_000
_MAX_CELLS = 400
_PAIRED_CELLS = 24

_CUES: dict[str, re.Pattern[str]] = {
    name: re.compile(pattern, re.IGNORECASE)
    for name, pattern in {
        "difference": r"\b(?:drop|f[ae]ll|decreas|increas|gain|improv|gap|differ|high|low|more|less|fewer"
        r"|r[io]s[ei]|points?\b|pp\b|percentage points|delta|reduc|lift|boost|margin|outperform|better|worse"
        r"|declin|degrad|faster|slower|loss|los[et]|advantage|spread|range|shift|chang|exceed|above|below|ahead)"
        r"|Δ|[+−]\d",
        "ratio": r"\b(?:times|fold|factor|ratio|twice|share|rate|per\b|each|proportion|of\b|average|percent)"
        r"|%|×|\dx\b",
        "change": r"%|\bpercent",
        "mean": r"\b(?:averag|mean|overall|across|avg|macro|pooled|per\b)",
        "sum": r"\b(?:total|sum|overall|altogether|combined|in all|together|all\b)",
        "rest": r"\b(?:err|fail|remain|rest\b|other|without|not\b|incorrect|wrong|miss|invalid|false)",
        "square": r"\b(?:r\^?2|r²|squared|variance)",
        "product": r"\b(?:total|in all|altogether|calls|prompts|overall|runs|queries|responses)",
    }.items()
}


@dataclass(frozen=True, slots=True)
class Derived:
    """How a number follows, for people, and the steps that show its parts."""

    how: str
    citations: tuple[Citation, ...] = ()


def cues(sentence: str, quantity: Quantity) -> frozenset[str]:
    """The operations that a sentence can be telling of."""
    found = {name for name, pattern in _CUES.items() if pattern.search(sentence)}
    if quantity.sign:
        found.add("difference")
    if quantity.unit != "%":
        found.discard("change")
    return frozenset(found)


def _of_two(a: float, b: float, told: frozenset[str]) -> Iterator[tuple[str, float]]:
    """Operations on two numbers, both ways; a share is told in percent as well."""
    if "difference" in told:
        yield "difference", abs(a - b)
    for one, other in ((a, b), (b, a)):
        if not other:
            continue
        if "ratio" in told:
            yield "ratio", abs(one / other)
        if "change" in told and "difference" in told:
            yield "change in percent", 100 * abs(one - other) / abs(other)
    if "mean" in told:
        yield "mean", (a + b) / 2
    if "sum" in told:
        yield "sum", a + b
    if "product" in told and a == int(a) and b == int(b) and min(a, b) > 1:
        yield "product", a * b


def _of_one(a: float, told: frozenset[str], unit: str) -> Iterator[tuple[str, float]]:
    if "rest" in told:
        yield "rest", abs((100 if unit == "%" and a > 1 else 1) - a)
    if "square" in told:
        yield "square", a * a


def _of_many(values: Sequence[float], told: frozenset[str]) -> Iterator[tuple[str, float]]:
    if "mean" in told:
        yield "mean", math.fsum(values) / len(values)
    if "sum" in told:
        yield "sum", math.fsum(values)
    if "difference" in told:
        yield "range", max(values) - min(values)


class Chances:
    """The values that could be derived for one number, told as exactly as it is, and the way that fits."""

    def __init__(self, quantity: Quantity) -> None:
        self._quantity = quantity
        self._size, self._half = abs(quantity.value), quantity.half
        self._near: set[int] = set()
        self._scales = (1.0, 100.0) if quantity.unit == "%" else (1.0,)
        self.found: Derived | None = None

    def offer(self, how: str, value: float, citations: tuple[Citation, ...] = ()) -> None:
        """A value that follows by some operation."""
        for scale in self._scales:
            if not math.isfinite(value) or not self._half:
                return
            scaled = abs(value) * scale
            if self._size / 2 <= scaled <= self._size * 2 and len(self._near) < _MAX_CELLS * 100:
                self._near.add(round(scaled / (2 * self._half)))
            if (
                self.found is None
                and abs(scaled - self._size) <= self._half * (1 + 1e-9) + 1e-12 * self._size
            ):
                self.found = Derived(how, citations)

    def within(self, chance: float) -> Derived | None:
        """The derivation, where a made-up number would not have had one too often."""
        forms = max(1.0, 1.5 * self._size / (2 * self._half)) if self._half else 1.0
        seldom = len(self._near) <= 1 or len(self._near) / forms <= chance
        return self.found if seldom else None


@dataclass(frozen=True, slots=True)
class Part:
    """A number that is known: as the conclusion writes it, and as it was found."""

    text: str
    values: tuple[float, ...]
    unit: str
    citation: Citation | None = None


def beside(quantity: Quantity, sentence: str, parts: Sequence[Part]) -> Derived | None:
    """How a number follows from known ones that the conclusion puts beside it."""
    told, chances = cues(sentence, quantity), Chances(quantity)
    for part in parts[:_PAIRED_CELLS]:
        for value in part.values:
            for how, result in _of_one(value, told, part.unit):
                chances.offer(f"{how} of {part.text}", result, _cited(part))
    for one, other in combinations(parts[:_PAIRED_CELLS], 2):
        for left, right in zip(one.values, other.values, strict=False):
            for how, result in _of_two(left, right, told):
                chances.offer(f"{how} of {one.text} and {other.text}", result, _cited(one, other))
    return chances.within(CHANCE_BESIDE)


def _cited(*parts: Part) -> tuple[Citation, ...]:
    return tuple(dict.fromkeys(part.citation for part in parts if part.citation))


@dataclass(frozen=True, slots=True)
class Cell:
    """A number of a table or of lines that belong together, with the words beside it alone."""

    row: int
    column: int
    value: float
    words: frozenset[str]
    citation: Citation | None


class Deriver:
    """Sees outputs in their order, table by table, and keeps what the numbers looked for could follow from."""

    def __init__(self, wanted: Iterable[tuple[int, Quantity, str, frozenset[str]]]) -> None:
        """`wanted` are (key, number, sentence, its words)."""
        self._wanted = [(key, cues(sentence, item), words, item) for key, item, sentence, words in wanted]
        self._wanted = [entry for entry in self._wanted if entry[1]]
        self._chances = {key: Chances(item) for key, _, _, item in self._wanted}
        self.tables = 0

    @property
    def all_read(self) -> bool:
        return self.tables <= MAX_TABLES

    def see(self, passage: Passage) -> None:
        """Take the next passage of the run."""
        if not self._wanted or passage.code:
            return
        for table in _tables(passage):
            self.tables += 1
            if self.tables > MAX_TABLES:
                return
            self._table(_cells(table))

    def _table(self, cells: list[Cell]) -> None:
        if not 2 <= len(cells) <= _MAX_CELLS:
            return
        columns: dict[int, list[Cell]] = {}
        rows: dict[int, list[Cell]] = {}
        for cell in cells:
            columns.setdefault(cell.column, []).append(cell)
            rows.setdefault(cell.row, []).append(cell)
        many = [group for group in (*columns.values(), *rows.values()) if len(group) > 1]
        common = frozenset.intersection(*(cell.words for cell in cells))
        for key, told, words, item in self._wanted:
            chances = self._chances[key]
            for group in many:
                values = [cell.value for cell in group]
                for how, result in _of_many(values, told):
                    chances.offer(f"{how} of {len(values)} numbers", result, _shown(group[0], group[-1]))
                for count in _counts(values) if item.pair >= 0 else ():
                    chances.offer(f"count among {len(values)} numbers", count, _shown(group[0], group[-1]))
            named = [cell for cell in cells if shared(cell.words - common, words)][:_PAIRED_CELLS]
            for one, other in combinations(named, 2):
                if (one.column == other.column or one.row == other.row) and _distinct(
                    one, other, common, words
                ):
                    for how, result in _of_two(one.value, other.value, told):
                        text = f"{how} of {one.value:g} and {other.value:g}"
                        chances.offer(text, result, _shown(one, other))

    def found(self, key: int) -> Derived | None:
        """How the number with this key follows from what was seen."""
        chances = self._chances.get(key)
        return chances.within(CHANCE_IN_OUTPUTS) if chances else None


def _counts(values: Sequence[float]) -> Iterator[float]:
    """How many there are, and how many are above and below 0."""
    yield float(len(values))
    if min(values) < 0 < max(values):
        yield float(sum(value > 0 for value in values))
        yield float(sum(value < 0 for value in values))


def _distinct(one: Cell, other: Cell, common: frozenset[str], words: frozenset[str]) -> bool:
    """Whether the sentence has a word for each of the two."""
    left, right = one.words - common, other.words - common
    return bool(shared(left - right, words)) and bool(shared(right - left, words))


def _shown(*cells: Cell) -> tuple[Citation, ...]:
    return tuple(dict.fromkeys(cell.citation for cell in cells if cell.citation))


def _tables(passage: Passage) -> Iterator[Passage]:
    """Runs of lines with numbers that are no longer than a table; longer ones are logs."""
    rows: list[int] = []
    for n, line in enumerate(passage.lines):
        if any(map(str.isdigit, line.text[:2000])):
            rows.append(n)
            continue
        if 0 < len(rows) <= MAX_ROWS:
            yield Passage(tuple(passage.lines[row] for row in rows), file=passage.file)
        rows = []
    if 0 < len(rows) <= MAX_ROWS:
        yield Passage(tuple(passage.lines[row] for row in rows), file=passage.file)


def _cells(table: Passage) -> list[Cell]:
    text = Text.of(tuple(line for line in table.lines if len(line.text) <= 2000))
    cells: list[Cell] = []
    row, column, end = -1, 0, 0
    for found in text.found(Wanted([(0.0, math.inf)])):
        line = text.lines[found.line]
        if found.line != row:
            row, column, end = found.line, 0, 0
        own = label(line.text[end : found.start])
        words = own or (cells[-1].words if column and cells else label(line.text[: found.start]))
        citation = cite(line.step, line.text) if line.step else None
        value = -found.value if found.negative else found.value
        cells.append(Cell(row, column, value, words, citation))
        column, end = column + 1, found.start + 1
        if len(cells) > _MAX_CELLS:
            break
    return cells
