"""How far a judge agrees with people, as figures with intervals.

`kappa` is Cohen's (1960) over the three verdicts, of the judge against the people's majority. `alpha` is
Krippendorff's for nominal data with any number of raters and missing values (Krippendorff 2011, "Computing
Krippendorff's alpha-reliability"), the judge being one rater more. Intervals are percentile bootstraps over
claims, 95 %.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from firetrial_judge.estimate import Estimate, Floats, estimated, ratio
from firetrial_judge.verdict import Verdict

VERDICTS = (Verdict.ENTAILED, Verdict.CONTRADICTED, Verdict.NEUTRAL)
DRAWS = 2_000


@dataclass(frozen=True, slots=True)
class Compared:
    """One claim: its kind, what the judge said (or UNSCORED), what each person said, and what most did."""

    kind: str
    judge: Verdict
    people: tuple[Verdict, ...]
    label: Verdict | None


@dataclass(frozen=True, slots=True)
class Agreement:
    """`items` are the claims that both sides decided; accuracy, precision, recall, F1 are those of ENTAILED.

    `base_rates` gives each label's share among the people's, `confusion` counts (kind, label, verdict);
    claims that the judge left UNSCORED are counted there alone.
    """

    items: int
    accuracy: Estimate
    precision: Estimate
    recall: Estimate
    f1: Estimate
    kappa: Estimate
    alpha: Estimate
    base_rates: Mapping[Verdict, float]
    confusion: Mapping[tuple[str, Verdict, Verdict], int]


def agreement(compared: Sequence[Compared], *, seed: int = 0, draws: int = DRAWS) -> Agreement:
    """Compare a judge with people; the same seed draws the same intervals."""
    random = np.random.default_rng(seed)
    labelled = [one for one in compared if one.label is not None]
    decided = [one for one in labelled if one.judge is not Verdict.UNSCORED]
    cells = np.zeros((len(VERDICTS), len(VERDICTS)))
    for one in decided:
        cells[VERDICTS.index(one.judge), VERDICTS.index(one.label or one.judge)] += 1
    drawn = _drawn(cells, random, draws)

    def estimate(figure: Callable[[Floats], Floats]) -> Estimate:
        return estimated(figure(cells[None]), figure(drawn))

    confusion: dict[tuple[str, Verdict, Verdict], int] = {}
    for one in labelled:
        key = one.kind, one.label or one.judge, one.judge
        confusion[key] = confusion.get(key, 0) + 1
    return Agreement(
        items=len(decided),
        accuracy=estimate(_accuracy),
        precision=estimate(lambda c: ratio(c[:, 0, 0], c[:, 0].sum(-1))),
        recall=estimate(lambda c: ratio(c[:, 0, 0], c[:, :, 0].sum(-1))),
        f1=estimate(lambda c: ratio(2 * c[:, 0, 0], c[:, 0].sum(-1) + c[:, :, 0].sum(-1))),
        kappa=estimate(_kappa),
        alpha=_alpha([(*one.people, one.judge) for one in compared], random, draws),
        base_rates={v: sum(o.label is v for o in labelled) / len(labelled) for v in VERDICTS if labelled},
        confusion=dict(sorted(confusion.items())),
    )


def _drawn(cells: Floats, random: np.random.Generator, draws: int) -> Floats:
    """Claims drawn with replacement: of such a sample only the cells count, and those are multinomial."""
    size = int(cells.sum())
    if not size:
        return np.zeros((draws, *cells.shape))
    return random.multinomial(size, cells.ravel() / size, draws).reshape(-1, *cells.shape).astype(float)


def _accuracy(cells: Floats) -> Floats:
    """Of entailed against the rest: both say so, or neither does."""
    return ratio(cells[:, 0, 0] + cells[:, 1:, 1:].sum((1, 2)), cells.sum((1, 2)))


def _kappa(cells: Floats) -> Floats:
    size = cells.sum((1, 2))
    observed = ratio(np.trace(cells, axis1=1, axis2=2), size)
    expected = ratio((cells.sum(1) * cells.sum(2)).sum(1), size**2)
    return ratio(observed - expected, 1 - expected)


def kappa(first: Sequence[Hashable], second: Sequence[Hashable]) -> float | None:
    """Cohen's kappa of two raters' labels of the same things; None where chance alone would agree."""
    values = sorted(set(first) | set(second), key=str)
    cells = np.zeros((1, len(values), len(values)))
    for a, b in zip(first, second, strict=True):
        cells[0, values.index(a), values.index(b)] += 1
    return estimated(_kappa(cells), np.empty(0)).value


def alpha(units: Sequence[Sequence[Hashable]]) -> float | None:
    """Krippendorff's nominal alpha; each unit lists the values given to it, None where a rater gave none."""
    return estimated(_alpha_of(_coincidences(units).sum(0)[None]), np.empty(0)).value


def _alpha(units: Sequence[Sequence[Verdict]], random: np.random.Generator, draws: int) -> Estimate:
    said = [[v for v in unit if v is not Verdict.UNSCORED] for unit in units]
    per_unit = _coincidences(said)
    if not len(per_unit):
        return Estimate(None)
    weights = random.multinomial(len(per_unit), np.full(len(per_unit), 1 / len(per_unit)), draws)
    drawn = np.tensordot(weights.astype(float), per_unit, axes=1)
    return estimated(_alpha_of(per_unit.sum(0)[None]), _alpha_of(drawn))


def _coincidences(units: Sequence[Sequence[Hashable]]) -> Floats:
    """Shape (units, values, values): how often two values meet in a unit, each weighted by 1 / (m − 1)."""
    values = sorted({v for unit in units for v in unit if v is not None}, key=str)
    table = np.zeros((len(units), len(values), len(values)))
    for n, unit in enumerate(units):
        counts = np.array([sum(v == value for v in unit) for value in values], dtype=float)
        if counts.sum() > 1:
            table[n] = (np.outer(counts, counts) - np.diag(counts)) / (counts.sum() - 1)
    return table


def _alpha_of(tables: Floats) -> Floats:
    """1 − observed / expected disagreement, of coincidence tables."""
    totals = tables.sum(2)
    size = totals.sum(1)
    observed = size - np.trace(tables, axis1=1, axis2=2)
    expected = ratio(size**2 - (totals**2).sum(1), size - 1)
    return 1 - ratio(observed, expected)
