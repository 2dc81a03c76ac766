"""Values with the bounds of their bootstrap intervals, for whatever is held against people."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_INTERVAL = (2.5, 97.5)
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with the bounds of its 95 % interval; None where it is undefined, or nothing can be drawn."""

    value: float | None
    low: float | None = None
    high: float | None = None


def estimated(value: Floats, drawn: Floats) -> Estimate:
    """The first of `value` with the interval of what was drawn; NaN is undefined and left out."""
    if np.isnan(value[0]):
        return Estimate(None)
    defined = drawn[~np.isnan(drawn)]
    if not len(defined):
        return Estimate(float(value[0]))
    low, high = np.percentile(defined, _INTERVAL)
    return Estimate(float(value[0]), float(low), float(high))


def ratio(over: Floats, under: Floats) -> Floats:
    """Element by element; NaN where there is nothing to divide by."""
    result = np.full(over.shape, np.nan)
    np.divide(over, under, out=result, where=under > 0)
    return result
