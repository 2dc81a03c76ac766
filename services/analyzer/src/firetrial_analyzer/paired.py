"""Which agents differ: comparisons over the tasks that both have, and how many repeats would show more.

Agents are compared task by task, since tasks differ far more than agents do. A task's repeats are averaged
first, so a task counts once however often it was run.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from statistics import NormalDist

import numpy as np

from firetrial_analyzer.variance import (
    DEFAULT,
    Array,
    Interval,
    Resampling,
    Sample,
    mean_interval,
    spread,
    task_means,
)

# All 2^n signs are tried up to here, random ones beyond.
_EXACT_TASKS = 14
# Sums that differ by rounding only count as equal.
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class Comparison:
    """`difference` is left minus right, the mean over `tasks` common tasks, with a task-bootstrap interval.

    `p_value` is two-sided, by flipping signs of the task differences; `p_adjusted` is Holm's over all pairs
    that were compared. `smallest_p` is the least that the test could give with so few tasks: above the
    wished level nothing can be shown. All are None for fewer than two common tasks.
    """

    left: str
    right: str
    tasks: int
    difference: float | None
    interval: Interval | None
    p_value: float | None
    p_adjusted: float | None
    smallest_p: float | None


def compare(agents: Mapping[str, Sample], how: Resampling = DEFAULT) -> tuple[Comparison, ...]:
    """Every pair of agents, ordered by name."""
    found = [
        _compared(left, right, task_differences(agents[left], agents[right]), how)
        for left, right in itertools.combinations(sorted(agents), 2)
    ]
    adjusted = holm([item.p_value for item in found])
    return tuple(replace(item, p_adjusted=p) for item, p in zip(found, adjusted, strict=True))


def task_differences(left: Sample, right: Sample) -> list[float]:
    """Left minus right for each common task, ordered by task."""
    lefts, rights = task_means(left), task_means(right)
    return [lefts[task] - rights[task] for task in sorted(lefts.keys() & rights.keys())]


def _compared(left: str, right: str, differences: Sequence[float], how: Resampling) -> Comparison:
    count = len(differences)
    mean = math.fsum(differences) / count if count else None
    if count < 2:
        return Comparison(left, right, count, mean, None, None, None, None)
    smallest = 2.0 ** (1 - count) if count <= _EXACT_TASKS else 1 / (how.draws + 1)
    p = sign_flip(differences, how)
    return Comparison(left, right, count, mean, mean_interval(differences, how), p, None, smallest)


def sign_flip(differences: Sequence[float], how: Resampling = DEFAULT) -> float:
    """Two-sided p that the differences lie about 0 evenly: the share of sign flips with as large a sum.

    Exact up to 14 differences; beyond, (hits + 1) / (draws + 1) over random flips, which is never 0
    (Phipson and Smyth, 2010).
    """
    values = np.asarray(differences, dtype=np.float64)
    observed = abs(float(values.sum())) - _ROUNDING * float(np.abs(values).sum())
    if len(values) <= _EXACT_TASKS:
        signs = np.array(list(itertools.product((-1.0, 1.0), repeat=len(values))))
        return float((np.abs(signs @ values) >= observed).mean())
    hits = int((np.abs(_random_signs(len(values), how) @ values) >= observed).sum())
    return (hits + 1) / (how.draws + 1)


@lru_cache(maxsize=4)
def _random_signs(count: int, how: Resampling) -> Array:
    """The same for every pair of agents with as many tasks."""
    flips = how.generator().integers(0, 2, (how.draws, count), dtype=np.int8)
    return flips.astype(np.float64) * 2 - 1


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Holm's step-down adjustment (1979), in the given order. A None is no test and stays None."""
    known = sorted((p, place) for place, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    reached = 0.0
    for rank, (p, place) in enumerate(known):
        reached = max(reached, min(1.0, p * (len(known) - rank)))
        adjusted[place] = reached
    return adjusted


@dataclass(frozen=True, slots=True)
class Needed:
    """What it would take to tell two agents apart that truly differ by `difference`.

    `repeats_same_tasks`: repeats of each task and agent, if the claim is about these tasks only.
    `repeats_any_tasks`: the same if it is about tasks of this kind; None where no number of repeats suffices,
    since the agents' difference varies too much from task to task. `tasks_needed`: tasks with the repeats of
    now. `within_variance` is one agent's variance between repeats, summed over both agents, and
    `task_variance` that of the true difference between tasks. Counts are None where there is no difference,
    no repeat to tell the variance by, or fewer than two common tasks.
    """

    difference: float | None
    tasks: int
    within_variance: float | None
    task_variance: float | None
    repeats_same_tasks: int | None
    repeats_any_tasks: int | None
    tasks_needed: int | None


def repeats_needed(
    left: Sample, right: Sample, *, difference: float | None = None, alpha: float = 0.05, power: float = 0.8
) -> Needed:
    """For a two-sided test at `alpha` with the chance `power` to see `difference` (default: what was seen).

    With z = z(1 - alpha/2) + z(power), T tasks, within variance w and task variance v: the variance of the
    mean difference with n repeats is (v + w / n) / T, and must not be over (difference / z)^2. Variances by
    moments: w from the sample variances, v = max(0, var(task differences) - mean of w / n). The normal law
    stands for the t, so that small answers are a little low.
    """
    return needed_of(repeated(left), repeated(right), difference=difference, alpha=alpha, power=power)


@dataclass(frozen=True, slots=True)
class Repeats:
    """The repeats of one task: how many, their mean, and their sample variance, None for a single one."""

    n: int
    mean: float
    variance: float | None


def repeated(sample: Sample) -> dict[str, Repeats]:
    """What `needed_of` must know of an agent, without the tasks that have no run."""
    return {
        task: Repeats(one.n, one.mean, None if one.sample_std is None else one.sample_std**2)
        for task, values in sample.items()
        if (one := spread(values)).mean is not None
    }


def needed_of(
    left: Mapping[str, Repeats],
    right: Mapping[str, Repeats],
    *,
    difference: float | None = None,
    alpha: float = 0.05,
    power: float = 0.8,
) -> Needed:
    """`repeats_needed` of agents whose repeats are summed up already."""
    common = sorted(left.keys() & right.keys())
    differences = [left[task].mean - right[task].mean for task in common]
    if difference is None and differences:
        difference = math.fsum(differences) / len(differences)
    within = [_within([agent[task] for task in common]) for agent in (left, right)]
    known = [variance for variance in within if variance is not None]
    if not difference or len(common) < 2 or len(known) < 2:
        return Needed(difference, len(common), sum(known) if len(known) == 2 else None, *[None] * 4)
    noise = _noise(left, right, common, known)
    between = max(0.0, (spread(differences).sample_std or 0.0) ** 2 - noise)
    normal = NormalDist()
    z = normal.inv_cdf(1 - alpha / 2) + normal.inv_cdf(power)
    allowed = (difference / z) ** 2
    return Needed(
        difference,
        len(common),
        sum(known),
        between,
        _repeats(sum(known), len(common) * allowed),
        _repeats(sum(known), len(common) * allowed - between),
        max(2, math.ceil((between + noise) / allowed)),
    )


def _within(repeats: Sequence[Repeats]) -> float | None:
    """Mean sample variance over the tasks that were repeated."""
    found = [one.variance for one in repeats if one.variance is not None]
    return math.fsum(found) / len(found) if found else None


def _noise(
    left: Mapping[str, Repeats], right: Mapping[str, Repeats], common: Sequence[str], within: Sequence[float]
) -> float:
    """Mean variance of a task's difference that comes from having few repeats."""
    parts = [within[0] / left[task].n + within[1] / right[task].n for task in common]
    return math.fsum(parts) / len(parts)


def _repeats(within: float, allowed: float) -> int | None:
    return max(1, math.ceil(within / allowed)) if allowed > 0 else None
