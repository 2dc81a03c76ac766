"""How widely an agent explored and how it got better, from the code and the validation result of each step.

The formulas are those of FML-bench's scorer. `embeddings` are one vector a step. Sums are in double
precision, where the scorer keeps the spread in single precision. What is undefined is None, with three
exceptions that the scorer fixes: the effective dimension of fewer than two or of equal vectors is 0, the
late gain of a single step is 0, and the step of the best is 0 (the baseline) where nothing beat the baseline.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from firetrial_kit.improvement import Direction, Worst, gain, scale

Matrix = NDArray[np.float64]

# Two steps are one idea where their embeddings are nearer than this cosine distance.
SAME_IDEA = 0.015
# A shorter vector has no direction; FML-bench embeds empty code as the zero vector.
NO_DIRECTION = 1e-8
NO_GAIN = 1e-12
FIRST_GAIN = 1e-15


@dataclass(frozen=True, slots=True)
class Exploration:
    """Spread and reach in units of the embedding (>= 0), uniqueness in (0, 1], dimension in [0, d]."""

    exploration_spread: float | None
    exploration_uniqueness: float | None
    exploration_reach: float | None
    effective_dim: float | None


def exploration(embeddings: Matrix | None, baseline: Matrix | None) -> Exploration:
    """Of N x d embeddings, N >= 1, and the baseline's of length d. What lacks its input is None."""
    if embeddings is None:
        return Exploration(None, None, None, None)
    reach = None if baseline is None else float(np.linalg.norm(embeddings - baseline, axis=1).max())
    return Exploration(
        exploration_spread=_spread(embeddings),
        exploration_uniqueness=_ideas(embeddings) / len(embeddings),
        exploration_reach=reach,
        effective_dim=_effective_dim(embeddings),
    )


def _spread(embeddings: Matrix) -> float:
    """(1/N) sum ||e_i - mean(e)||."""
    return float(np.linalg.norm(_centred(embeddings), axis=1).mean())


def _effective_dim(embeddings: Matrix) -> float:
    """(sum l)^2 / sum l^2 over the eigenvalues l of the covariance: 1 for a line, d for a ball."""
    if len(embeddings) < 2:
        return 0.0
    centred = _centred(embeddings)
    largest = float(np.abs(centred).max())
    if largest == 0:
        return 0.0
    eigenvalues = np.linalg.svd(centred / largest, compute_uv=False) ** 2
    return float(eigenvalues.sum() ** 2 / (eigenvalues**2).sum())


def _centred(embeddings: Matrix) -> Matrix:
    """Distances from the mean; rounding of the mean is not a distance, so equal vectors give zeros."""
    centred: Matrix = embeddings - embeddings.mean(axis=0)
    rounding = len(embeddings) * np.finfo(np.float64).eps * np.abs(embeddings).max(axis=0)
    centred[np.abs(centred) <= rounding] = 0.0
    return centred


def _ideas(embeddings: Matrix) -> int:
    """Clusters of directions; the vectors without one are one more cluster together."""
    norms = np.linalg.norm(embeddings, axis=1)
    directed = embeddings[norms > NO_DIRECTION] / norms[norms > NO_DIRECTION, None]
    without = len(directed) < len(embeddings)
    return _clusters(1.0 - np.clip(directed @ directed.T, -1.0, 1.0)) + without


def _clusters(distance: Matrix) -> int:
    """How many clusters average linkage leaves when it merges only what is nearer than SAME_IDEA.

    By nearest-neighbour chains (Murtagh, 1983), in O(n^2): average linkage is reducible, so the merges are
    those of the greedy method, and their heights never fall.
    """
    count = len(distance)
    if count < 2:
        return count
    distance = distance.copy()
    np.fill_diagonal(distance, np.inf)
    size = np.ones(count)
    alive = np.ones(count, dtype=bool)
    chain: list[int] = []
    merged = 0
    for _ in range(count - 1):
        left, right = _mutual_neighbours(distance, alive, chain)
        merged += bool(distance[left, right] < SAME_IDEA)
        joined = (size[left] * distance[left] + size[right] * distance[right]) / (size[left] + size[right])
        joined[left] = np.inf
        distance[left, :] = distance[:, left] = joined
        distance[right, :] = distance[:, right] = np.inf
        size[left] += size[right]
        alive[right] = False
    return count - merged


def _mutual_neighbours(distance: Matrix, alive: NDArray[np.bool_], chain: list[int]) -> tuple[int, int]:
    """Two clusters that are nearest to each other, taken off the end of the chain that leads to them."""
    if not chain:
        chain.append(int(np.argmax(alive)))
    while True:
        here = chain[-1]
        nearest = int(np.argmin(distance[here]))
        if len(chain) > 1 and distance[here, chain[-2]] <= distance[here, nearest]:
            return chain.pop(), chain.pop()
        chain.append(nearest)


@dataclass(frozen=True, slots=True)
class Progress:
    """How the best result so far rose above the baseline, in units of |p_best - p_worst|.

    `auc` is the mean of `improvement_curve`, which has a value a step. Steps count from 1. `step_of_best` is
    the first at which the final best was reached, 0 for the baseline; `best_improvement_step` the last one
    that has the best value, whether or not it beats the baseline. `late_gain_fraction` is in [0, 1].
    """

    auc: float | None
    first_improvement_step: int | None
    late_gain_fraction: float | None
    step_of_best: int | None
    best_improvement_step: int | None
    n_steps: int
    n_valid: int
    improvement_curve: tuple[float, ...] | None


def progress(
    metrics: Sequence[float | None],
    baseline: float | None,
    direction: Direction,
    p_best: float,
    p_worst: Worst,
) -> Progress:
    """From the validation metric of each step; None for a failed one, which carries the best on."""
    valid = [value for value in metrics if value is not None]
    last_best = _last_best(metrics, direction)
    unit = None if baseline is None else scale(baseline, p_best, p_worst)
    if not metrics or baseline is None or unit is None:
        return Progress(None, None, None, None, last_best, len(metrics), len(valid), None)
    curve = _curve(metrics, baseline, direction, unit)
    return Progress(
        auc=math.fsum(curve) / len(curve),
        first_improvement_step=next((k for k, gain in enumerate(curve, 1) if gain > FIRST_GAIN), None),
        late_gain_fraction=_late_gain(curve),
        step_of_best=curve.index(curve[-1]) + 1 if curve[-1] > 0 else 0,
        best_improvement_step=last_best,
        n_steps=len(metrics),
        n_valid=len(valid),
        improvement_curve=tuple(curve),
    )


def _curve(
    metrics: Sequence[float | None], baseline: float, direction: Direction, unit: float
) -> list[float]:
    best, curve = 0.0, []
    for value in metrics:
        if value is not None:
            best = max(best, gain(value, baseline, direction) / unit)
        curve.append(best)
    return curve


def _late_gain(curve: Sequence[float]) -> float | None:
    """(c_K - c_floor(K/2)) / c_K."""
    if curve[-1] <= NO_GAIN:
        return None
    if len(curve) == 1:
        return 0.0
    return (curve[-1] - curve[len(curve) // 2 - 1]) / curve[-1]


def _last_best(metrics: Sequence[float | None], direction: Direction) -> int | None:
    valid = [value for value in metrics if value is not None]
    if not valid:
        return None
    best = max(valid) if direction is Direction.HIGHER else min(valid)
    return max(step for step, value in enumerate(metrics, 1) if value == best)
