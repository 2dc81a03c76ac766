"""How far a rubric judge agrees with people: leaf by leaf, and in the score that its leaves give.

Intervals are percentile bootstraps, 95 %: of the leaves' figures over leaves (pooled over all trees), of the
root's error over trees. A leaf counts as passed from a score of 0.5 on. Leaves without a score on either side
are left out and counted; a tree with any has no root score.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from firetrial_judge.estimate import Estimate, Floats, estimated, ratio
from firetrial_judge.rubric.scoring import Scores, weighted
from firetrial_judge.rubric.tree import Rubric

_PASS = 0.5
_DRAWS = 2_000
# Cells of judge × people: both pass, the judge alone, people alone, neither.
_TP, _FP, _FN, _TN = range(4)


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
    random = np.random.default_rng(seed)
    by_category, unscored = _count(compared)
    cells = sum(by_category.values(), np.zeros(4))
    drawn = _drawn(cells, random, draws)

    def estimate(figure: Callable[[Floats], Floats]) -> Estimate:
        return estimated(figure(cells[None]), figure(drawn))

    return Agreement(
        leaves=int(cells.sum()),
        unscored=unscored,
        accuracy=estimate(_accuracy),
        precision=estimate(lambda c: ratio(c[:, _TP], c[:, _TP] + c[:, _FP])),
        recall=estimate(lambda c: ratio(c[:, _TP], c[:, _TP] + c[:, _FN])),
        f1=estimate(lambda c: ratio(2 * c[:, _TP], 2 * c[:, _TP] + c[:, _FP] + c[:, _FN])),
        kappa=estimate(_kappa),
        root_error=_root_error(compared, random, draws),
        by_category={
            name: estimated(_accuracy(of[None]), _accuracy(_drawn(of, random, draws)))
            for name, of in sorted(by_category.items())
            if name
        },
    )


def _count(compared: Sequence[Compared]) -> tuple[dict[str, Floats], int]:
    """For each category how often judge and people said what, and how many leaves were left out."""
    counts: dict[str, Floats] = {}
    unscored = 0
    for one in compared:
        for leaf in one.rubric.leaves:
            judge, people = one.judge.get(leaf.id), one.people.get(leaf.id)
            if judge is None or people is None:
                unscored += 1
            else:
                cell = 2 * (judge < _PASS) + (people < _PASS)
                counts.setdefault(leaf.category, np.zeros(4))[cell] += 1
    return counts, unscored


def _drawn(cells: Floats, random: np.random.Generator, draws: int) -> Floats:
    """Leaves drawn with replacement: of such a sample only the cells count, and those are multinomial."""
    size = int(cells.sum())
    return random.multinomial(size, cells / size, draws).astype(float) if size else np.zeros((draws, 4))


def _accuracy(cells: Floats) -> Floats:
    return ratio(cells[:, _TP] + cells[:, _TN], cells.sum(1))


def _kappa(cells: Floats) -> Floats:
    """Cohen 1960: (agreement − agreement by chance) / (1 − agreement by chance)."""
    size = cells.sum(1)
    passed = ratio(cells[:, _TP] + cells[:, _FP], size)
    given = ratio(cells[:, _TP] + cells[:, _FN], size)
    chance = passed * given + (1 - passed) * (1 - given)
    return ratio(_accuracy(cells) - chance, 1 - chance)


def _root_error(compared: Sequence[Compared], random: np.random.Generator, draws: int) -> Estimate:
    """One submission alone has no interval."""
    roots = [(weighted(c.rubric, c.judge).score, weighted(c.rubric, c.people).score) for c in compared]
    errors = np.array([abs(j - p) for j, p in roots if j is not None and p is not None])
    if not len(errors):
        return Estimate(None)
    picks = random.integers(0, len(errors), (draws if len(errors) > 1 else 0, len(errors)))
    return estimated(errors.mean(keepdims=True), errors[picks].mean(1))
