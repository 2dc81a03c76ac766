"""The ways in which a number can follow from others, and how near the parts of each are to the sentence."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from statistics import fmean

from firetrial_analyzer.integrity.derivation import of_many, of_one, of_two
from firetrial_analyzer.integrity.labels import label
from firetrial_analyzer.integrity.ledger import Cell, Series
from firetrial_analyzer.integrity.matching import Match
from firetrial_analyzer.integrity.quantities import Quantity
from firetrial_analyzer.integrity.sorting import Sort

_PAIRED = 40
_TOLD = 1.0
_BESIDE, _IN_LINE = 3.0, 1.0
_LONGEST_ROW, _FEWEST_LINES = 24, 3
_NEAR = 3
_FAR = 200  # characters
# What two numbers of different kinds can give: a share and its count, an estimate and its error.
_MIXED = frozenset({"deviation", "interval"})
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
class Try:
    """A value that follows from `parts`, and how near these are to the sentence."""

    score: float
    value: float
    how: Callable[[], str]
    parts: tuple[Cell, ...]


_Pair = tuple[frozenset[str], Cell, Cell]


def _weight(cue: str, told: frozenset[str]) -> float:
    return _TOLD if cue in told else 0.0


def of_one_cell(wish: Wish, match: Match, told: frozenset[str]) -> Iterator[Try]:
    sign = wish.quantity.sign
    named = wish.exact and any(map(match.is_named, match.cells))
    for cell in match.nearest(match.cells, 4 * _PAIRED):
        for cue, how, value in of_one(cell.value):
            other = named and cell.name[0] != "#" and not match.is_named(cell)
            if cue and cue not in told:
                continue
            if not cue and (other or (sign and (sign == "-") != (value < 0))):
                continue
            yield Try(match.score(cell) + _weight(cue, told), value, _named(how, cell), (cell,))


def groups_of(match: Match) -> Iterator[list[Cell]]:
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


def score_of(match: Match, group: Sequence[Cell]) -> float:
    line = group[0].row == group[-1].row and any(cell.name[0] != "#" for cell in group)
    return match.worth(match.shared(group)) + (-_TOLD if line else match.own(group[0]))


def of_groups(match: Match, groups: Iterable[list[Cell]], told: frozenset[str]) -> Iterator[Try]:
    for group in groups:
        score = score_of(match, group)
        for cue, how, value in of_many([cell.value for cell in group]):
            if cue not in told and not (cue == "mean" and score):
                continue
            if cue != "count" and all(cell.is_set for cell in group):
                continue
            yield Try(score + _weight(cue, told), value, _of_some(how, len(group)), (group[0], group[-1]))


def weighted(match: Match) -> Iterator[Try]:
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
                yield Try(score, value, _of_some("weighted mean", len(group)), (group[0], group[-1]))


def of_lines(match: Match, told: frozenset[str]) -> Iterator[Try]:
    """Means and extremes of what two numbers of each line give: the mean gap to the optimum."""
    for both in _in_lines(match.cells):
        score = match.own(both[0][0]) + match.own(both[0][1])
        given: dict[tuple[str, str, int], list[float]] = defaultdict(list)
        for one, other in both:
            for n, (cue, how, value) in enumerate(of_two(one.value, other.value)):
                given[cue, how, n].append(value)
        for (cue, how, _), values in given.items():
            if cue in told and cue not in _MIXED and len(values) == len(both):
                shown = _of_some(f"{how}, line by line,", len(both))
                for value in (fmean(values), min(values), max(values)):
                    yield Try(score, value, shown, (both[0][0], both[-1][0]))


def _in_lines(cells: Iterable[Cell]) -> Iterator[list[tuple[Cell, Cell]]]:
    """Two numbers that stand together in at least so many lines, unless both are settings."""
    lines: dict[int, dict[str, Cell]] = defaultdict(dict)
    for cell in cells:
        if cell.row >= 0:
            lines[cell.row][cell.name] = cell
    pairs: dict[tuple[str, str], list[tuple[Cell, Cell]]] = defaultdict(list)
    for line in lines.values():
        for one, other in combinations(line.values(), 2) if len(line) <= _LONGEST_ROW else ():
            if not (one.is_set and other.is_set):
                pairs[one.name, other.name].append((one, other))
    yield from (both for both in pairs.values() if len(both) >= _FEWEST_LINES)


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
        return True
    if one.row < 0 or other.row < 0:
        return False
    return one.column == other.column or abs(one.row - other.row) <= _NEAR


def pairs_of(match: Match, cells: Iterable[Cell], groups: Iterable[list[Cell]]) -> list[_Pair]:
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


def of_pairs(wish: Wish, match: Match, pairs: Iterable[_Pair], told: frozenset[str]) -> Iterator[Try]:
    for common, one, other in pairs:
        score = match.worth(common) + match.own(one) + match.own(other) + _together(wish, one, other)
        if (not common and one.row != HERE) or not _belong(wish, one, other):
            continue
        for cue, how, value in of_two(one.value, other.value):
            if cue not in told and not (wish.exact and cue == "ratio"):
                continue
            if cue not in _MIXED and (
                one.unit != other.unit or (_strange(one, other) and not _is_share(cue, value))
            ):
                continue
            yield Try(score + _weight(cue, told), value, _named(how, one, other), (one, other))


def _belong(wish: Wish, one: Cell, other: Cell) -> bool:
    """Whether a result can follow from them: not from two settings."""
    return wish.quantity.sort is Sort.SETTING or not (one.is_set and other.is_set)


def of_counts(counts: Sequence[Cell]) -> Iterator[Try]:
    for one, other in combinations(counts, 2):
        for how, value in (
            ("difference", other.value - one.value),
            ("product", one.value * other.value),
        ):
            yield Try(0.0, value, _named(f"{how} in the code", one, other), ())


def of_shares(
    match: Match, cells: Sequence[Cell], groups: Iterable[list[Cell]], counts: Sequence[Cell]
) -> Iterator[Try]:
    """What was counted, of a whole number of the code."""
    means = [replace(group[0], value=fmean(cell.value for cell in group)) for group in groups]
    scores = [(match.score(cell), cell) for cell in match.nearest(cells, _PAIRED)]
    scores += [(score_of(match, group), mean) for group, mean in zip(groups, means, strict=True)]
    for score, cell in scores:
        for whole in counts:
            if 0 < cell.value < whole.value and not cell.is_set:
                yield Try(score, cell.value / whole.value, _named("ratio", cell, whole), (cell,))


def of_series(every: Iterable[Series], match: Match, told: frozenset[str]) -> Iterator[Try]:
    for series in every:
        score = match.own(Cell(0.0, series.name, -1, frozenset(), own=label(series.name)))
        for cue, how, value in _whole(series):
            yield Try(score + _weight(cue, told), value, _of_all(how, series), ())


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
