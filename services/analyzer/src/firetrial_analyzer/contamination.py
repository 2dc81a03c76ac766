"""Does an agent do better on findings that its model may have read? Before the cutoff against after it.

Tasks are compared within strata of equal difficulty, since older papers may be easier. One task is one value,
the mean F1 of its repeats. The pooled effect is the mean of the strata's effects (before minus after), each
weighted by b * a / (b + a) for b tasks before and a after: the weights that have the least variance where
tasks vary alike. The p-value is by permuting the sides within each stratum (two-sided). The interval is a
bootstrap of the tasks' distances from the mean of their cell, stretched by sqrt(n / (n - 1)) and taken
together over cells, so that a cell of one task is not held for certain.

The verdict, by `Rule`:
- `too_few_data`: fewer than `least_tasks` tasks on a side in the strata that have both; or no signal, and the
  data could not have shown one: an effect of `relevant` would be seen with a chance below `power`.
- `signal`: p <= `alpha` and the effect is above 0, which is what remembering would look like.
- `no_signal`: otherwise. An effect below 0 is no sign of remembering, however sure.
A signal is a reason to look, not a proof: what else differs between old and new papers differs here too.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import NormalDist

import numpy as np

from firetrial_analyzer.cutoffs import Side
from firetrial_analyzer.variance import DEFAULT, Array, Interval, Resampling, percentiles, spread

_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class TaskPoint:
    """A task as one agent did it: mean F1 in [0, 1], the stratum, and the side of the model's cutoff."""

    task: str
    difficulty: str
    side: Side
    score: float


@dataclass(frozen=True, slots=True)
class Cell:
    """Mean and population std over the n tasks of a stratum on one side."""

    difficulty: str
    side: Side
    n: int
    mean: float | None
    std: float | None


@dataclass(frozen=True, slots=True)
class Stratum:
    """`effect` is the mean before minus the mean after; its interval needs two tasks on each side."""

    difficulty: str
    before: Cell
    after: Cell
    effect: float | None
    interval: Interval | None


class Verdict(StrEnum):
    NO_SIGNAL = "no_signal"
    SIGNAL = "signal"
    TOO_FEW_DATA = "too_few_data"


@dataclass(frozen=True, slots=True)
class Rule:
    """When to speak. `relevant` is the effect worth finding, in F1."""

    alpha: float = 0.05
    power: float = 0.8
    relevant: float = 0.2
    least_tasks: int = 5


@dataclass(frozen=True, slots=True)
class Contamination:
    """Strata in the order of `difficulties`.

    `detectable` is the least effect that these data would show with the rule's power. `unclear` tasks have no
    side and are in no cell. `why` tells the verdict's reason to people.
    """

    strata: tuple[Stratum, ...]
    unclear: int
    effect: float | None
    interval: Interval | None
    p_value: float | None
    detectable: float | None
    verdict: Verdict
    why: str


@dataclass(frozen=True, slots=True)
class _Both:
    """The scores of a stratum that has both sides."""

    before: Array
    after: Array

    @property
    def weight(self) -> float:
        return len(self.before) * len(self.after) / (len(self.before) + len(self.after))

    @property
    def effect(self) -> float:
        return float(self.before.mean() - self.after.mean())


def contamination(
    points: Iterable[TaskPoint],
    difficulties: Sequence[str] = ("Easy", "Medium", "Hard"),
    rule: Rule = Rule(),
    how: Resampling = DEFAULT,
) -> Contamination:
    """The finding for one agent. Difficulties that are not listed come last, by name."""
    ordered = sorted(points, key=lambda point: point.task)
    known = [point for point in ordered if point.side is not Side.UNCLEAR]
    names = [*difficulties, *sorted({point.difficulty for point in known} - set(difficulties))]
    by_cell = {(name, side): _scores(known, name, side) for name in names for side in Side}
    both = [
        _Both(before, after)
        for name in names
        if len(before := by_cell[name, Side.BEFORE]) and len(after := by_cell[name, Side.AFTER])
    ]
    effect = _pooled(both)
    p, detectable = _permuted(both, how), _detectable(both, rule)
    verdict, why = _verdict(both, effect, p, detectable, rule)
    unclear = len(ordered) - len(known)
    return Contamination(
        strata=tuple(_stratum(name, by_cell, how) for name in names),
        unclear=unclear,
        effect=effect,
        interval=_pooled_interval(both, how),
        p_value=p,
        detectable=detectable,
        verdict=verdict,
        why=f"{why} For {unclear} tasks the side is not known." if unclear else why,
    )


def _scores(points: Iterable[TaskPoint], difficulty: str, side: Side) -> Array:
    found = [point.score for point in points if (point.difficulty, point.side) == (difficulty, side)]
    return np.array(found, dtype=np.float64)


def _stratum(name: str, by_cell: Mapping[tuple[str, Side], Array], how: Resampling) -> Stratum:
    before, after = by_cell[name, Side.BEFORE], by_cell[name, Side.AFTER]
    both = [_Both(before, after)] if len(before) and len(after) else []
    return Stratum(
        name,
        _cell(name, Side.BEFORE, before),
        _cell(name, Side.AFTER, after),
        _pooled(both),
        _pooled_interval(both, how) if min(len(before), len(after)) > 1 else None,
    )


def _cell(difficulty: str, side: Side, scores: Array) -> Cell:
    found = spread([float(score) for score in scores])
    return Cell(difficulty, side, found.n, found.mean, found.population_std)


def _pooled(strata: Sequence[_Both]) -> float | None:
    if not strata:
        return None
    total = math.fsum(stratum.weight for stratum in strata)
    return math.fsum(stratum.weight * stratum.effect for stratum in strata) / total


def _pooled_interval(strata: Sequence[_Both], how: Resampling) -> Interval | None:
    """None where no cell has two tasks, so that nothing tells how tasks vary."""
    cells = [cell for stratum in strata for cell in (stratum.before, stratum.after)]
    parts = [_stretched(cell) for cell in cells if len(cell) > 1]
    if not parts:
        return None
    pool, random = np.concatenate(parts), how.generator()
    total = math.fsum(stratum.weight for stratum in strata)
    drawn = np.full(how.draws, _pooled(strata))
    for stratum in strata:
        before, after = (
            pool[random.integers(0, len(pool), (how.draws, len(cell)))].mean(axis=1)
            for cell in (stratum.before, stratum.after)
        )
        drawn += stratum.weight / total * (before - after)
    return percentiles(drawn, how.level)


def _stretched(cell: Array) -> Array:
    """Distances from the mean whose mean square is the sample variance."""
    distances: Array = (cell - cell.mean()) * math.sqrt(len(cell) / (len(cell) - 1))
    return distances


def _permuted(strata: Sequence[_Both], how: Resampling) -> float | None:
    """(hits + 1) / (draws + 1) over random sides within strata."""
    observed = _pooled(strata)
    if observed is None:
        return None
    random = how.generator()
    total = math.fsum(stratum.weight for stratum in strata)
    drawn = np.zeros(how.draws)
    for stratum in strata:
        scores = np.sort(np.concatenate([stratum.before, stratum.after]))
        shuffled = random.permuted(np.tile(scores, (how.draws, 1)), axis=1)
        count = len(stratum.before)
        effect = shuffled[:, :count].mean(axis=1) - shuffled[:, count:].mean(axis=1)
        drawn += stratum.weight / total * effect
    hits = int((np.abs(drawn) >= abs(observed) - _ROUNDING).sum())
    return (hits + 1) / (how.draws + 1)


def _detectable(strata: Sequence[_Both], rule: Rule) -> float | None:
    """(z(1 - alpha/2) + z(power)) standard errors, from the variance within cells; None if it is unknown."""
    cells = [cell for stratum in strata for cell in (stratum.before, stratum.after)]
    freedom = sum(len(cell) - 1 for cell in cells)
    if freedom < 1:
        return None
    variance = math.fsum(float(((cell - cell.mean()) ** 2).sum()) for cell in cells) / freedom
    normal = NormalDist()
    z = normal.inv_cdf(1 - rule.alpha / 2) + normal.inv_cdf(rule.power)
    return z * math.sqrt(variance / math.fsum(stratum.weight for stratum in strata))


def _verdict(
    strata: Sequence[_Both], effect: float | None, p: float | None, detectable: float | None, rule: Rule
) -> tuple[Verdict, str]:
    before, after = sum(len(s.before) for s in strata), sum(len(s.after) for s in strata)
    if effect is None or p is None or detectable is None or min(before, after) < rule.least_tasks:
        need = f"{rule.least_tasks} on each side are needed in strata that have both"
        return Verdict.TOO_FEW_DATA, f"{before} tasks before and {after} after the cutoff: {need}."
    told = f"the effect is {effect:+.2f} (p = {p:.2g})"
    if p <= rule.alpha and effect > 0:
        return Verdict.SIGNAL, f"Better before the cutoff: {told}."
    if detectable > rule.relevant:
        limit = f"only one of {detectable:.2f} would be seen {rule.power:.0%} of the time"
        return Verdict.TOO_FEW_DATA, f"Nothing is shown: {told}, but {limit}."
    return Verdict.NO_SIGNAL, f"Not better before the cutoff: {told}; one of {detectable:.2f} would be seen."
