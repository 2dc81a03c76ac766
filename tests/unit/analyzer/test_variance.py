import itertools
import math
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firetrial_analyzer.variance import (
    Interval,
    MedianCv,
    Resampling,
    chance_of_pass,
    cv,
    mean_interval,
    median_cv,
    pass_at_k,
    repeat_interval,
    spread,
    task_cv,
    task_interval,
)

scores = st.lists(st.floats(0, 1), min_size=2, max_size=8)
samples = st.dictionaries(st.text("abc", min_size=1, max_size=3), scores, min_size=2, max_size=6)
FEW = Resampling(draws=200)


@given(scores)
def test_both_kinds_of_std(values: list[float]) -> None:
    found = spread(values)
    assert found.mean == pytest.approx(statistics.fmean(values))
    assert found.population_std == pytest.approx(statistics.pstdev(values), abs=1e-9)
    assert found.sample_std == pytest.approx(statistics.stdev(values), abs=1e-9)


def test_what_has_no_spread() -> None:
    assert (spread([]).mean, spread([]).population_std) == (None, None)
    assert (spread([0.4]).population_std, spread([0.4]).sample_std) == (0.0, None)


def test_cv_and_its_median_with_and_without_zero_means() -> None:
    assert (cv(0.5, 0.1), cv(0.0, 0.0), cv(None, 0.1)) == (0.2, None, None)
    assert median_cv([(50, 10), (0, 0), (50, 30)]) == MedianCv((0.2 + 0.6) / 2, 0.2, 3, 1)
    assert median_cv([]) == MedianCv(None, None, 0, 0)
    assert median_cv([(0, 0)]) == MedianCv(None, 0.0, 1, 1)
    assert task_cv({"a": [0.0, 1.0], "b": [0.5], "c": []}) == MedianCv(1.0, 1.0, 1, 0)


@given(samples, st.integers(0, 5))
def test_intervals_depend_on_the_seed_and_not_on_the_order(sample: dict[str, list[float]], seed: int) -> None:
    how = Resampling(seed=seed, draws=200)
    turned = {task: sample[task][::-1] for task in reversed(sample)}
    assert repeat_interval(sample, how) == repeat_interval(turned, how)
    assert task_interval(sample, how) == task_interval(turned, how)


@given(scores)
def test_intervals_hold_the_mean(values: list[float]) -> None:
    found = mean_interval(values, FEW)
    assert found is not None
    assert found.low - 1e-9 <= statistics.fmean(values) <= found.high + 1e-9


def test_no_interval_without_anything_to_resample() -> None:
    assert mean_interval([0.5]) is None
    assert task_interval({"a": [0.1, 0.2]}) is None
    assert repeat_interval({"a": [0.1, 0.2], "b": [0.1]}) is None
    assert repeat_interval({}) is None
    assert mean_interval([0.5, 0.5]) == Interval(0.5, 0.5, 0.95)


def coverage(count: int) -> float:
    """The share of 95 % intervals of `count` normal values that hold the true mean."""
    generator, held = np.random.default_rng(3), 0
    for trial in range(400):
        found = mean_interval(list(generator.normal(size=count)), Resampling(seed=trial, draws=400))
        assert found is not None
        held += found.low <= 0 <= found.high
    return held / 400


def test_intervals_over_thirty_tasks_hold_the_truth_about_as_often_as_they_say() -> None:
    assert 0.92 <= coverage(30) <= 0.975


def test_task_intervals_do_not_shrink_with_repeats_but_repeat_intervals_do() -> None:
    generator = np.random.default_rng(0)
    means = generator.uniform(0.2, 0.8, 100)

    def sample(repeats: int) -> dict[str, list[float]]:
        return {f"t{n}": list(mean + 0.1 * generator.normal(size=repeats)) for n, mean in enumerate(means)}

    def width(interval: Interval | None) -> float:
        assert interval is not None
        return interval.high - interval.low

    few, many = sample(3), sample(300)
    assert width(repeat_interval(many)) < width(repeat_interval(few)) / 5
    assert width(task_interval(many)) > width(task_interval(few)) / 2
    assert width(repeat_interval(few)) == pytest.approx(2 * 1.96 * 0.1 / math.sqrt(300), rel=0.15)


@given(st.integers(1, 7), st.data())
def test_pass_at_k_is_the_share_of_subsets_that_hold_a_pass(n: int, data: st.DataObject) -> None:
    c, k = data.draw(st.integers(0, n)), data.draw(st.integers(1, n))
    subsets = list(itertools.combinations([True] * c + [False] * (n - c), k))
    assert chance_of_pass(n, c, k) == pytest.approx(sum(map(any, subsets)) / len(subsets))


def test_pass_at_k_over_tasks_counts_what_it_leaves_out() -> None:
    found = pass_at_k({"a": [0.9, 0.1, 0.1], "b": [0.1, 0.2, 0.3], "c": [0.9]}, k=2, threshold=0.5)
    assert (found.tasks, found.short) == (2, 1)
    assert found.value == pytest.approx((2 / 3 + 0) / 2)
    assert pass_at_k({"a": [1.0]}, k=2, threshold=0.5).value is None
    assert pass_at_k({"a": [0.5]}, k=1, threshold=0.5).value == 1.0, "at the threshold is a pass"
    with pytest.raises(ValueError, match="k is 0"):
        pass_at_k({}, k=0, threshold=0.5)
