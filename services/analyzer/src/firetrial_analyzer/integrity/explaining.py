"""Numbers that follow from others in one step: the drop between two accuracies, the mean over seeds, a share.

With enough numbers anything follows from something. So ways are tried in the order of how near their parts
are to the sentence, by the words, names and numbers that they have in common, and only as long as chance is
little: of the F numbers of one form between half and twice its size, a made-up one meets one of m given
values with a probability of at most m / F (Boole's inequality; evenly spread). Of each of the five kinds of
ways (one number, a group, two of the conclusion, two of the run, two counts of the code) the first m <=
CHANCE * F values count.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations
from statistics import fmean

from firetrial_analyzer.integrity.derivation import cues, deviations, of_many, of_one, of_two
from firetrial_analyzer.integrity.labels import label
from firetrial_analyzer.integrity.ledger import Cell, Ledger, Series
from firetrial_analyzer.integrity.matching import Match, rarity
from firetrial_analyzer.integrity.quantities import Quantity
from firetrial_analyzer.integrity.sorting import Sort
from firetrial_analyzer.taxonomy.steps import Citation

CHANCE = 0.1
# A number of few digits may be met by so many values.
LEAST_TRIED = 4
MOST_EXPLAINED = 100
"""Numbers of a conclusion that are looked into; one with more untraced ones needs no more."""
_PAIRED, _GROUPS = 40, 120
_TOLD = 1.0
_BESIDE, _IN_LINE = 3.0, 1.0
_LONGEST_ROW = 24
_NEAR = 3
_WHOLE = 0.5
_FAR = 200  # characters
HERE = -1
"""The row of what the conclusion itself has beside a number."""


@dataclass(frozen=True, slots=True)
class Wish:
    """A number that is to follow from others, what its sentence tells, and the words that it is about.

    The `near` ones count twice. `mean` is the number that it is told as the deviation of; a value may be
    told multiplied by one of `scales`. Nothing explains what was `typed` into the code. Where the words are
    `exact`, as in a table, a number of another name is not this one if there is one of its own.
    """

    quantity: Quantity
    sentence: str
    words: frozenset[str]
    near: frozenset[str] = frozenset()
    mean: Quantity | None = None
    scales: tuple[float, ...] = (1.0,)
    typed: bool = False
    exact: bool = False


@dataclass(frozen=True, slots=True)
class Derived:
    """How a number follows, for people, its value before rounding, and the steps that show its parts."""

    how: str
    value: float
    citations: tuple[Citation, ...] = ()


@dataclass(frozen=True, slots=True)
class _Try:
    score: float
    value: float
    how: Callable[[], str]
    parts: tuple[Cell, ...]


_Pair = tuple[frozenset[str], Cell, Cell]


def forms(quantity: Quantity) -> float:
    """How many numbers of this form there are between half and twice its size."""
    return max(1.0, 1.5 * abs(quantity.value) / (2 * quantity.half)) if quantity.half else 1.0


class Explainer:
    """Looks for what numbers follow from, in what a run printed and in known numbers of the conclusion."""

    def __init__(self, ledger: Ledger) -> None:
        self._cells = list(ledger.cells())
        self._series = list(ledger.series())
        self._counts = [Cell(value, "code", HERE, frozenset()) for value in ledger.counts]
        self._rare = rarity(self._cells)

    def explain(self, wish: Wish, known: Sequence[Cell] = ()) -> Derived | None:
        """How it follows; None where it does not, or would too easily."""
        if wish.typed:
            return None
        match = Match([*self._cells, *known], wish.words, wish.near, self._rare)
        groups = sorted(_groups(match), key=lambda group: _score(match, group), reverse=True)[:_GROUPS]
        if wish.mean and (derived := _deviation(wish, wish.mean, groups)):
            return derived
        told = cues(wish.sentence, wish.quantity)
        for tries in (
            _of_one(wish, match, told),
            chain(
                _of_groups(match, groups, told),
                self._of_series(match, told),
                _weighted(match) if "mean" in told else (),
            ),
            _of_pairs(wish, match, _pairs(match, known, []), told),
            _of_pairs(wish, match, _pairs(match, self._cells, groups), told),
            self._of_counts() if wish.quantity.half >= _WHOLE and not wish.quantity.unit else (),
        ):
            if derived := _first(wish, tries):
                return derived
        return None

    def explain_by(self, wish: Wish, known: Sequence[Cell]) -> Derived | None:
        """How it follows from known numbers of the conclusion."""
        if wish.typed:
            return None
        match = Match(known, wish.words, wish.near, self._rare)
        return _first(
            wish, _of_pairs(wish, match, _pairs(match, known, []), cues(wish.sentence, wish.quantity))
        )

    def _of_counts(self) -> Iterator[_Try]:
        for one, other in combinations(self._counts, 2):
            for how, value in (
                ("difference", other.value - one.value),
                ("product", one.value * other.value),
            ):
                yield _Try(0.0, value, _named(f"{how} in the code", one, other), ())

    def _of_series(self, match: Match, told: frozenset[str]) -> Iterator[_Try]:
        for series in self._series:
            score = match.own(Cell(0.0, series.name, -1, frozenset(), own=label(series.name)))
            for cue, how, value in _whole(series):
                yield _Try(score + _weight(cue, told), value, _of_all(how, series), ())


def _weight(cue: str, told: frozenset[str]) -> float:
    return _TOLD if cue in told else 0.0


def _of_one(wish: Wish, match: Match, told: frozenset[str]) -> Iterator[_Try]:
    sign = wish.quantity.sign
    named = wish.exact and any(map(match.is_named, match.cells))
    for cell in match.nearest(match.cells, 4 * _PAIRED):
        for cue, how, value in of_one(cell.value, cell.unit):
            other = named and cell.name[0] != "#" and not match.is_named(cell)
            if cue and cue not in told:
                continue
            if not cue and (other or (sign and (sign == "-") != (value < 0))):
                continue
            yield _Try(match.score(cell) + _weight(cue, told), value, _named(how, cell), (cell,))


def _groups(match: Match) -> Iterator[list[Cell]]:
    """Numbers of a name or a column: all, with a word of the sentence, with the same ones; and of a line."""
    by_name: dict[str, list[Cell]] = defaultdict(list)
    rows: dict[int, list[Cell]] = defaultdict(list)
    for cell in match.cells:
        by_name[cell.name].append(cell)
        rows[cell.row].append(cell)
    for cells in (*by_name.values(), *_columns(match.cells).values()):
        parts: dict[frozenset[str], list[Cell]] = {frozenset(): cells}
        for cell in cells:
            common = match.raw_of(cell)
            for part in (common | {"="}, *(frozenset([word]) for word in sorted(common))):
                parts.setdefault(part, []).append(cell)
        alike = {tuple(map(id, group)): group for group in parts.values() if len(group) > 1}
        yield from alike.values()
    yield from (row for row in rows.values() if 2 < len(row) <= _LONGEST_ROW)


def _score(match: Match, group: Sequence[Cell]) -> float:
    line = group[0].row == group[-1].row and any(cell.name[0] != "#" for cell in group)
    return match.worth(match.shared(group)) + (-_TOLD if line else match.own(group[0]))


def _of_groups(match: Match, groups: Iterable[list[Cell]], told: frozenset[str]) -> Iterator[_Try]:
    for group in groups:
        score = _score(match, group)
        for cue, how, value in of_many([cell.value for cell in group]):
            if cue not in told and not (cue == "mean" and score):
                continue
            if cue != "count" and all(cell.is_set for cell in group):
                continue
            yield _Try(score + _weight(cue, told), value, _of_some(how, len(group)), (group[0], group[-1]))


def _weighted(match: Match) -> Iterator[_Try]:
    """Means of a column, weighted with a column of counts beside it."""
    columns = [group for group in _columns(match.cells).values() if len(group) > 1]
    for counts in columns:
        if any(cell.value != int(cell.value) or cell.value < 2 for cell in counts):
            continue
        rows, total = [cell.row for cell in counts], math.fsum(cell.value for cell in counts)
        for group in columns:
            if group is not counts and [cell.row for cell in group] == rows:
                value = math.fsum(a.value * n.value for a, n in zip(group, counts, strict=True)) / total
                score = match.worth(match.shared(group)) + match.own(group[0]) + _TOLD
                yield _Try(score, value, _of_some("weighted mean", len(group)), (group[0], group[-1]))


def _columns(cells: Iterable[Cell]) -> dict[tuple[int, int], list[Cell]]:
    columns: dict[tuple[int, int], list[Cell]] = defaultdict(list)
    for cell in cells:
        if cell.column[0] >= 0:
            columns[cell.column].append(cell)
    return columns


def _strange(one: Cell, other: Cell) -> bool:
    """Whether one is a setting and the other a result: the loss is not lower than the seed."""
    near = abs(one.value) <= 2 * abs(other.value) <= 4 * abs(one.value)
    return one.is_set != other.is_set and one.name != other.name and not near


def _is_share(cue: str, value: float) -> bool:
    return cue == "ratio" and value <= 1


def _together(wish: Wish, one: Cell, other: Cell) -> float:
    if one.row != other.row:
        return 0.0
    if one.row != HERE:
        return _IN_LINE
    return _BESIDE - sum(abs(cell.column[1] - wish.quantity.start) for cell in (one, other)) / _FAR


def _comparable(one: Cell, other: Cell) -> bool:
    """Whether two numbers stand under one name, in one line, in one column, or in lines near each other."""
    if one.name == other.name or one.row == other.row:
        return one.unit == other.unit
    together = one.column[0] == other.column[0] >= 0
    return together and (one.column == other.column or abs(one.row - other.row) <= _NEAR)


def _pairs(match: Match, cells: Iterable[Cell], groups: Iterable[list[Cell]]) -> list[_Pair]:
    """Two of the nearest numbers, and the means of two groups of a name."""
    near = match.nearest(cells, _PAIRED)
    pairs = [
        (match.common(one) | match.common(other), one, other)
        for one, other in combinations(near, 2)
        if _comparable(one, other)
    ]
    means = [
        (match.shared(group), replace(group[0], value=fmean(c.value for c in group))) for group in groups
    ]
    means.sort(key=lambda mean: match.worth(mean[0]), reverse=True)
    return pairs + [
        (left | right, one, other)
        for (left, one), (right, other) in combinations(means[:_PAIRED], 2)
        if _comparable(one, other) and left != right
    ]


def _of_pairs(wish: Wish, match: Match, pairs: Iterable[_Pair], told: frozenset[str]) -> Iterator[_Try]:
    for common, one, other in pairs:
        score = match.worth(common) + match.own(one) + match.own(other) + _together(wish, one, other)
        if (not common and one.row != HERE) or not _belong(wish, one, other):
            continue
        for cue, how, value in of_two(one.value, other.value):
            if (cue not in told and not (wish.exact and cue == "ratio")) or (
                _strange(one, other) and not _is_share(cue, value)
            ):
                continue
            yield _Try(score + _weight(cue, told), value, _named(how, one, other), (one, other))


def _belong(wish: Wish, one: Cell, other: Cell) -> bool:
    """Whether a result can follow from them: not from two settings."""
    return wish.quantity.sort is Sort.SETTING or not (one.is_set and other.is_set)


def _deviation(wish: Wish, mean: Quantity, groups: Iterable[Sequence[Cell]]) -> Derived | None:
    """ "0.81 ± 0.01" follows from numbers that have both as their mean and their deviation."""
    for group in groups:
        for scale in wish.scales:
            values = [scale * cell.value for cell in group]
            if not _rounds_to(math.fsum(values) / len(values), mean):
                continue
            for value in deviations(values):
                if _rounds_to(value, wish.quantity):
                    return Derived(f"deviation of {len(values)} numbers", value, _shown(group[0], group[-1]))
    return None


def _first(wish: Wish, tries: Iterable[_Try]) -> Derived | None:
    """The nearest way that fits, where so few nearer ones or as near were tried that chance is little."""
    most = max(LEAST_TRIED, CHANCE * forms(wish.quantity))
    told, half = abs(wish.quantity.value), wish.quantity.half
    near: set[int] = set()
    for one in sorted(tries, key=lambda one: -one.score):
        for scale in wish.scales:
            value = abs(one.value) * scale
            if told / 2 <= value <= 2 * told:
                near.add(round(value / (2 * half)))
                if len(near) > most:
                    return None
                if _rounds_to(value, wish.quantity):
                    return Derived(one.how(), value, _shown(*one.parts))
    return None


def _rounds_to(value: float, told: Quantity) -> bool:
    return abs(abs(value) - abs(told.value)) <= told.half * (1 + 1e-9) + 1e-12 * abs(value)


def _whole(series: Series) -> Iterator[tuple[str, str, float]]:
    yield "mean", "mean", series.mean
    yield "count", "count", float(series.count)
    yield "deviation", "deviation", series.deviation


def _named(how: str, *cells: Cell) -> Callable[[], str]:
    return lambda: f"{how} of {' and '.join(f'{cell.value:g}' for cell in cells)}"


def _of_some(how: str, count: int) -> Callable[[], str]:
    return lambda: f"{how} of {count} numbers"


def _of_all(how: str, series: Series) -> Callable[[], str]:
    return lambda: f"{how} of {series.count} numbers"


def _shown(*cells: Cell) -> tuple[Citation, ...]:
    return tuple(dict.fromkeys(cell.citation for cell in cells if cell.citation))
