"""Numbers that follow from others in one step: the drop between two accuracies, the mean over seeds, a share.

With enough numbers anything follows from something. So ways are tried in the order of how near their parts
are to the sentence, by the words, names and numbers that they have in common, and only as long as chance is
little: of the F numbers of one form between half and twice its size, a made-up one meets one of m given
values with a probability of at most m / F (Boole's inequality; evenly spread). Of each kind of ways (one
number, a group, two of the conclusion, two of the run, two of each line, counts and shares of what the code
has) the first m <= CHANCE * F values count; all together are bounded by the sum, and measured in
docs/integrity.md.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

from firetrial_analyzer.integrity.derivation import cues, deviations
from firetrial_analyzer.integrity.ledger import Cell, Ledger
from firetrial_analyzer.integrity.matching import Match, rarity
from firetrial_analyzer.integrity.quantities import Quantity, is_usual
from firetrial_analyzer.integrity.ways import (
    HERE,
    Try,
    Wish,
    groups_of,
    of_counts,
    of_groups,
    of_lines,
    of_one_cell,
    of_pairs,
    of_series,
    of_shares,
    pairs_of,
    score_of,
    weighted,
)
from firetrial_analyzer.taxonomy.steps import Citation

CHANCE = 0.1
# A number of few digits may be met by so many values.
LEAST_TRIED = 4
MOST_EXPLAINED = 100
"""Numbers of a conclusion that are looked into; one with more untraced ones needs no more."""
_GROUPS = 120
_WHOLE = 0.5


@dataclass(frozen=True, slots=True)
class Derived:
    """How a number follows, for people, its value before rounding, and the steps that show its parts."""

    how: str
    value: float
    citations: tuple[Citation, ...] = ()


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
        if not _explicable(wish):
            return None
        known = [cell for cell in known if is_usual(cell.value)]
        match = Match([*self._cells, *known], wish.words, wish.near, self._rare)
        groups = sorted(groups_of(match), key=lambda group: score_of(match, group), reverse=True)[:_GROUPS]
        if wish.mean and (derived := _deviation(wish, wish.mean, groups)):
            return derived
        told = cues(wish.sentence, wish.quantity)
        for tries in (
            of_one_cell(wish, match, told),
            chain(
                of_groups(match, groups, told),
                of_series(self._series, match, told),
                weighted(match) if "mean" in told else (),
            ),
            of_pairs(wish, match, pairs_of(match, known, []), told),
            of_pairs(wish, match, pairs_of(match, self._cells, groups), told),
            of_lines(match, told),
            of_counts(self._counts) if wish.quantity.half >= _WHOLE and not wish.quantity.unit else (),
            of_shares(match, self._cells, groups, self._counts) if "ratio" in told or wish.exact else (),
        ):
            if derived := _first(wish, tries):
                return derived
        return None

    def explain_by(self, wish: Wish, known: Sequence[Cell]) -> Derived | None:
        """How it follows from known numbers of the conclusion."""
        if not _explicable(wish):
            return None
        known = [cell for cell in known if is_usual(cell.value)]
        match = Match(known, wish.words, wish.near, self._rare)
        return _first(
            wish, of_pairs(wish, match, pairs_of(match, known, []), cues(wish.sentence, wish.quantity))
        )


def _explicable(wish: Wish) -> bool:
    told = wish.quantity
    return not wish.typed and told.half > 0 and is_usual(told.value) and is_usual(told.half)


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


def _first(wish: Wish, tries: Iterable[Try]) -> Derived | None:
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


def _shown(*cells: Cell) -> tuple[Citation, ...]:
    return tuple(dict.fromkeys(cell.citation for cell in cells if cell.citation))
