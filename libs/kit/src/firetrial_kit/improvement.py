"""How far a figure lies above its baseline, and how a file of results tells it.

The formulas are those of FML-bench's scorer. What is undefined is None.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import Literal

MOST = 1e100
"""Figures beyond are none: sums and ratios of a few of them are no floating-point numbers any more."""
Worst = float | Literal["baseline"]


class Direction(StrEnum):
    """Which figures are better."""

    HIGHER = "higher"
    LOWER = "lower"


def normalized_improvement(
    value: float | None, baseline: float | None, direction: Direction, best: float, worst: Worst
) -> float | None:
    """max(0, improvement over the baseline / |best - worst|). Not capped at 1; None if undefined.

    What is beyond all floating-point numbers is undefined, too: one such run would make a mean infinite.
    """
    if value is None or baseline is None:
        return None
    unit = scale(baseline, best, worst)
    found = None if unit is None else max(0.0, gain(value, baseline, direction) / unit)
    return found if found is None or math.isfinite(found) else None


def gain(value: float, baseline: float, direction: Direction) -> float:
    """How much better `value` is than the baseline, in its own unit; below 0 where it is worse."""
    return value - baseline if direction is Direction.HIGHER else baseline - value


def scale(baseline: float, best: float, worst: Worst) -> float | None:
    """|best - worst|; None where that is 0."""
    return abs(best - (baseline if worst == "baseline" else worst)) or None


def neg_log10(value: float | None) -> float | None:
    """-log10(v), the form in which FML-bench compares p-values of unlearning; None for v <= 0."""
    return -math.log10(value) if value is not None and value > 0 else None


def primary_metric(
    results: Mapping[str, object], metric: str, datasets: Collection[str] | None = None
) -> float | None:
    """The mean of `metric` over the datasets that report it, else the flat entry of that name, else None."""
    found = [
        value
        for name, dataset in results.items()
        if (datasets is None or name in datasets) and (value := _reported(dataset, metric)) is not None
    ]
    return math.fsum(found) / len(found) if found else number(results.get(metric))


def _reported(dataset: object, metric: str) -> float | None:
    means = dataset.get("means") if isinstance(dataset, Mapping) else None
    return number(means.get(metric)) if isinstance(means, Mapping) else None


def number(value: object) -> float | None:
    """`value` where it is a number from -MOST to MOST, and no truth value."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if abs(found) <= MOST else None
