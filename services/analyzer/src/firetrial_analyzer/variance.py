"""How much scores vary, and how sure their means are.

A `Sample` holds one agent's scores: task → the scores of its repeats. An agent's mean is the mean of its task
means, as in `scores`. Two kinds of std are told apart by name: population, sqrt(sum((x - m)^2) / n), and
sample, with n - 1. Nothing here depends on the order of tasks or repeats, and the same seed gives the same
intervals. Values are in any unit; what is undefined is None.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import median

import numpy as np
from numpy.typing import NDArray

Sample = Mapping[str, Sequence[float]]
Array = NDArray[np.float64]
_AT_ONCE = 1_000_000
_MANY = 1000
# Means of so many values are drawn from their normal limit instead of by resampling.
NORMAL_FROM = 100


@dataclass(frozen=True, slots=True)
class Spread:
    """Of n values; the sample std needs two."""

    n: int
    mean: float | None
    population_std: float | None
    sample_std: float | None


def spread(values: Sequence[float]) -> Spread:
    count = len(values)
    if not count:
        return Spread(0, None, None, None)
    mean, squares = moments(values)
    sample = math.sqrt(squares / (count - 1)) if count > 1 else None
    return Spread(count, mean, math.sqrt(squares / count), sample)


def moments(values: Sequence[float] | Array) -> tuple[float, float]:
    """Mean, and sum of the squared distances from it, of at least one value."""
    array = np.asarray(values, dtype=np.float64)
    mean = total(array) / len(array)
    return mean, total(np.square(array - mean))


def total(values: Array) -> float:
    """The sum, with the same bits in whatever order the values come: exact, or of many values sorted ones."""
    return math.fsum(values.tolist()) if len(values) < _MANY else float(np.sort(values).sum())


@dataclass(frozen=True, slots=True)
class MedianCv:
    """Median over tasks of std / mean. A task whose mean is 0 has no CV.

    `median` leaves such tasks out, as the FIRE-Bench paper does, and `zero_mean` counts them;
    `median_with_zeros` takes them for steady, with a CV of 0. `tasks` counts all of them.
    """

    median: float | None
    median_with_zeros: float | None
    tasks: int
    zero_mean: int


def cv(mean: float | None, std: float | None) -> float | None:
    """Coefficient of variation, std / |mean|; None where the mean is 0."""
    return std / abs(mean) if mean and std is not None else None


def median_cv(cells: Iterable[tuple[float, float]]) -> MedianCv:
    """Of the (mean, std) of each task; the kind of std is the caller's."""
    found = [cv(mean, std) for mean, std in cells]
    known = [value for value in found if value is not None]
    zeros = len(found) - len(known)
    return MedianCv(
        median(known) if known else None,
        median([*known, *[0.0] * zeros]) if found else None,
        len(found),
        zeros,
    )


def task_cv(sample: Sample) -> MedianCv:
    """`median_cv` by population std over the tasks that were repeated."""
    spreads = [spread(values) for values in sample.values() if len(values) > 1]
    return median_cv(
        (s.mean, s.population_std) for s in spreads if s.mean is not None and s.population_std is not None
    )


@dataclass(frozen=True, slots=True)
class Resampling:
    """How intervals and permutations are drawn."""

    seed: int = 0
    draws: int = 10_000
    level: float = 0.95

    def generator(self) -> np.random.Generator:
        return np.random.default_rng(self.seed)


DEFAULT = Resampling()


@dataclass(frozen=True, slots=True)
class Interval:
    low: float
    high: float
    level: float


def repeat_interval(sample: Sample, how: Resampling = DEFAULT) -> Interval | None:
    """Bootstrap interval of the agent's mean if the same tasks were run again: repeats are resampled.

    None unless every task was repeated. Deviations are stretched by sqrt(n / (n - 1)), without which the
    bootstrap of three repeats is a fifth too narrow (Davison and Hinkley, 1997, section 2.3). The mean of
    NORMAL_FROM or more repeats is drawn from the normal law that resampling tends to.
    """
    if not sample or any(len(values) < 2 for values in sample.values()):
        return None
    random = how.generator()
    means = sum(_drawn_means(sample[task], random, how.draws) for task in sorted(sample)) / len(sample)
    return percentiles(np.asarray(means), how.level)


def task_interval(sample: Sample, how: Resampling = DEFAULT) -> Interval | None:
    """Bootstrap interval of the agent's mean for other tasks of the same kind: whole tasks are resampled.

    A task's repeats stay together, so that they do not pass for independent evidence (cluster bootstrap).
    None for fewer than two tasks.
    """
    means = task_means(sample)
    return mean_interval([means[task] for task in sorted(means)], how)


def mean_interval(values: Sequence[float], how: Resampling = DEFAULT) -> Interval | None:
    """Bootstrap interval of a mean, stretched as in `repeat_interval`; None for fewer than two values."""
    if len(values) < 2:
        return None
    if len(values) * how.draws > _AT_ONCE:
        return percentiles(_drawn_means(values, how.generator(), how.draws), how.level)
    ordered, stretched = _stretched(values)
    return percentiles(ordered.mean() + _weights(len(values), how) @ stretched, how.level)


@lru_cache(maxsize=4)
def _weights(count: int, how: Resampling) -> Array:
    """Draws × values: the weight of each value in the mean of a resample; the same for all as many values."""
    places = how.generator().integers(0, count, (how.draws, count))
    places += count * np.arange(how.draws)[:, np.newaxis]
    taken = np.bincount(places.ravel(), minlength=how.draws * count)
    return taken.reshape(how.draws, count) / count


def task_means(sample: Sample) -> dict[str, float]:
    """Task → mean over its repeats, without the tasks that have none."""
    return {task: math.fsum(values) / len(values) for task, values in sample.items() if values}


def _stretched(values: Sequence[float]) -> tuple[Array, Array]:
    """The values in order, and their distances from the mean, stretched."""
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    return ordered, (ordered - ordered.mean()) * math.sqrt(len(ordered) / (len(ordered) - 1))


def _drawn_means(values: Sequence[float], random: np.random.Generator, draws: int) -> Array:
    """Means of `draws` resamples."""
    ordered, stretched = _stretched(values)
    count = len(ordered)
    if count >= NORMAL_FROM:
        return random.normal(ordered.mean(), stretched.std() / math.sqrt(count), draws)
    rows = max(1, _AT_ONCE // count)
    parts = [
        stretched[random.integers(0, count, (min(rows, draws - begin), count))].mean(axis=1)
        for begin in range(0, draws, rows)
    ]
    found: Array = ordered.mean() + np.concatenate(parts)
    return found


def percentiles(drawn: Array, level: float) -> Interval:
    """The middle `level` of what was drawn."""
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), float(high), level)


@dataclass(frozen=True, slots=True)
class PassAtK:
    """Mean chance that one of k runs reaches the threshold, over `tasks`; `short` tasks had too few runs."""

    k: int
    threshold: float
    value: float | None
    tasks: int
    short: int


def pass_at_k(sample: Sample, k: int, threshold: float) -> PassAtK:
    """The unbiased estimator 1 - C(n - c, k) / C(n, k) for c of n runs at or above the threshold, k >= 1.

    Chen et al., 2021 (arXiv 2107.03374), equation 1.
    """
    if k < 1:
        raise ValueError(f"k is {k}: must be at least 1")
    chances = [
        chance_of_pass(len(values), int((np.asarray(values) >= threshold).sum()), k)
        for values in sample.values()
        if len(values) >= k
    ]
    value = math.fsum(chances) / len(chances) if chances else None
    return PassAtK(k, threshold, value, len(chances), len(sample) - len(chances))


def chance_of_pass(n: int, c: int, k: int) -> float:
    """Chance that k of n runs, drawn without return, hold one of the c that passed."""
    return 1.0 - math.comb(n - c, k) / math.comb(n, k)
