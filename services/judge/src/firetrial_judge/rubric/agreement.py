"""How far a rubric judge agrees with people: leaf by leaf, and in the score that its leaves give.

Intervals are percentile bootstraps, 95 %: of the leaves' figures over leaves (pooled over all trees), of the
root's error over trees. A leaf counts as passed from a score of 0.5 on. Leaves without a score on either side
are left out and counted; a tree with any has no root score.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from firetrial_judge.rubric.scoring import Scores, weighted
from firetrial_judge.rubric.tree import Rubric

_PASS = 0.5
_DRAWS = 2_000
_LOW, _HIGH = 2.5, 97.5
Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with the bounds of its 95 % interval; None where it is undefined, or nothing can be drawn."""

    value: float | None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Compared:
    """One submission: the judge's scores and people's, by leaf id."""

    rubric: Rubric
    judge: Scores
    people: Scores


@dataclass(frozen=True, slots=True)
class Agreement:
    """`leaves` compared, `unscored` left out; precision, recall and F1 are those of "passed".

    `kappa` is Cohen's; `root_error` the mean absolute difference of the root's scores, 0 to 1; `by_category`
    the accuracy on the leaves of each category.
    """

    leaves: int
    unscored: int
    accuracy: Estimate
    precision: Estimate
    recall: Estimate
    f1: Estimate
    kappa: Estimate
    root_error: Estimate
    by_category: Mapping[str, Estimate]


def agreement(compared: Sequence[Compared], *, seed: int = 0, draws: int = _DRAWS) -> Agreement:
    """Compare a judge with people over some submissions; the same seed draws the same intervals."""
    judged, said, categories, unscored = _pairs(compared)
    random = np.random.default_rng(seed)
    picks = random.integers(0, len(said), (draws, len(said))) if len(said) else np.empty((0, 0), np.int64)

    def estimate(figure: Callable[[Bools, Bools], Floats]) -> Estimate:
        return _estimate(figure(judged[None], said[None]), figure(judged[picks], said[picks]))

    return Agreement(
        leaves=len(said),
        unscored=unscored,
        accuracy=estimate(_accuracy),
        precision=estimate(_precision),
        recall=estimate(lambda judge, people: _precision(people, judge)),
        f1=estimate(_f1),
        kappa=estimate(_kappa),
        root_error=_root_error(compared, random, draws),
        by_category={
            name: _share(judged[of] == said[of], random, draws)
            for name in sorted(set(categories) - {""})
            if (of := np.array([category == name for category in categories])).any()
        },
    )


def _pairs(compared: Sequence[Compared]) -> tuple[Bools, Bools, list[str], int]:
    judged, said, categories, unscored = [], [], [], 0
    for one in compared:
        for leaf in one.rubric.leaves:
            judge, people = one.judge.get(leaf.id), one.people.get(leaf.id)
            if judge is None or people is None:
                unscored += 1
                continue
            judged.append(judge >= _PASS)
            said.append(people >= _PASS)
            categories.append(leaf.category)
    return np.array(judged, np.bool_), np.array(said, np.bool_), categories, unscored


def _accuracy(judge: Bools, people: Bools) -> Floats:
    return _ratio((judge == people).sum(1), np.full(len(judge), judge.shape[1]))


def _precision(judge: Bools, people: Bools) -> Floats:
    return _ratio((judge & people).sum(1), judge.sum(1))


def _f1(judge: Bools, people: Bools) -> Floats:
    return _ratio(2 * (judge & people).sum(1), judge.sum(1) + people.sum(1))


def _kappa(judge: Bools, people: Bools) -> Floats:
    """Cohen 1960: (agreement − agreement by chance) / (1 − agreement by chance)."""
    size = judge.shape[1]
    passed, given = judge.sum(1) / max(size, 1), people.sum(1) / max(size, 1)
    chance = passed * given + (1 - passed) * (1 - given)
    return _ratio(_accuracy(judge, people) - chance, 1 - chance)


def _root_error(compared: Sequence[Compared], random: np.random.Generator, draws: int) -> Estimate:
    errors = []
    for one in compared:
        judge, people = weighted(one.rubric, one.judge).score, weighted(one.rubric, one.people).score
        if judge is not None and people is not None:
            errors.append(abs(judge - people))
    return _share(np.array(errors), random, draws)


def _share(values: NDArray[np.float64] | Bools, random: np.random.Generator, draws: int) -> Estimate:
    """The mean of some values. One value alone has no interval."""
    if not len(values):
        return Estimate(None)
    value = float(values.mean())
    if len(values) == 1:
        return Estimate(value)
    drawn = values[random.integers(0, len(values), (draws, len(values)))].mean(1)
    return _estimate(np.array([value]), drawn)


def _ratio(over: NDArray[np.generic], under: NDArray[np.generic]) -> Floats:
    """NaN where there is nothing to divide by."""
    result = np.full(over.shape, np.nan)
    np.divide(over, under, out=result, where=np.asarray(under, float) > 0)
    return result


def _estimate(value: Floats, drawn: Floats) -> Estimate:
    defined = drawn[~np.isnan(drawn)]
    if np.isnan(value[0]):
        return Estimate(None)
    if not len(defined):
        return Estimate(float(value[0]))
    low, high = np.percentile(defined, [_LOW, _HIGH])
    return Estimate(float(value[0]), float(low), float(high))
