import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firetrial_analyzer.paired import compare, holm, repeats_needed, sign_flip
from firetrial_analyzer.variance import Resampling, Sample

p_values = st.lists(st.one_of(st.none(), st.floats(0, 1)), max_size=8)


def sample(generator: np.random.Generator, means: list[float], std: float, repeats: int) -> Sample:
    return {f"t{n:02}": list(mean + std * generator.normal(size=repeats)) for n, mean in enumerate(means)}


def test_sign_flips_by_hand() -> None:
    assert sign_flip([1, 1, 1]) == 2 / 8
    assert sign_flip([1, -1]) == 1.0
    assert sign_flip([0.0, 0.0]) == 1.0
    assert sign_flip([0.1, 0.2, -0.3]) == 1.0, "equal sums that differ by rounding count"


def test_random_flips_agree_with_all_flips() -> None:
    values = list(np.random.default_rng(1).normal(0.4, 1, 14))
    assert sign_flip([*values, 0.0], Resampling(draws=20_000)) == pytest.approx(sign_flip(values), abs=0.015)
    assert sign_flip([1.0] * 40, Resampling(draws=999)) == 1 / 1000, "never 0"


def test_p_is_uniform_where_there_is_no_difference() -> None:
    generator = np.random.default_rng(2)
    found = [sign_flip(list(generator.normal(size=10))) for _ in range(500)]
    assert 0.03 <= np.mean([p <= 0.05 for p in found]) <= 0.08
    assert 0.42 <= np.mean([p <= 0.5 for p in found]) <= 0.58


@given(p_values)
def test_holm_never_lowers_keeps_the_order_and_leaves_none(given_ps: list[float | None]) -> None:
    found = holm(given_ps)
    pairs = [(p, q) for p, q in zip(given_ps, found, strict=True) if p is not None and q is not None]
    assert [p is None for p in given_ps] == [q is None for q in found]
    assert all(p <= q <= 1 for p, q in pairs)
    assert [q for _, q in sorted(pairs)] == sorted(q for _, q in pairs)


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, None, 0.03]) == pytest.approx([0.03, 0.06, None, 0.06])


def test_agents_are_compared_over_their_common_tasks() -> None:
    generator = np.random.default_rng(5)
    hard = [0.1 * n for n in range(10)]
    agents = {
        "same": sample(generator, hard, 0.02, 3),
        "better": sample(generator, [mean + 0.1 for mean in hard], 0.02, 3),
        "alike": {**sample(generator, hard, 0.02, 3), "only here": [9.0]},
    }
    found = {(item.left, item.right): item for item in compare(agents)}
    assert list(found) == [("alike", "better"), ("alike", "same"), ("better", "same")]
    worse, equal = found["alike", "better"], found["alike", "same"]
    assert worse.tasks == 10
    assert worse.difference == pytest.approx(-0.1, abs=0.02)
    assert worse.interval is not None
    assert worse.difference is not None
    assert worse.interval.low < worse.difference < worse.interval.high < 0
    assert worse.p_value == pytest.approx(2 / 1024)
    assert worse.p_adjusted == pytest.approx(6 / 1024)
    assert equal.p_adjusted is not None
    assert equal.p_adjusted > 0.05


def test_too_few_common_tasks_are_no_test() -> None:
    (found,) = compare({"a": {"x": [1.0], "y": [0.5]}, "b": {"x": [0.5], "z": [0.5]}})
    assert (found.tasks, found.difference, found.interval, found.p_value) == (1, 0.5, None, None)
    assert (found.p_adjusted, found.smallest_p) == (None, None)
    (apart,) = compare({"a": {"x": [1.0]}, "b": {"y": [1.0]}})
    assert (apart.tasks, apart.difference) == (0, None)
    (two,) = compare({"a": {"x": [1.0], "y": [1.0]}, "b": {"x": [0.5], "y": [0.1]}})
    assert two.p_value == two.smallest_p == 0.5


def power_of(repeats: int, difference: float, tasks: int, std: float) -> float:
    """How often a z-test over fixed tasks sees the difference, over 2,000 experiments."""
    generator = np.random.default_rng(11)
    error = std * math.sqrt(2 / (repeats * tasks))
    seen = difference + error * generator.normal(size=2000)
    return float(np.mean(np.abs(seen) / error > 1.96))


def test_the_repeats_asked_for_do_tell_the_agents_apart() -> None:
    generator = np.random.default_rng(7)
    means = [0.5] * 12
    found = repeats_needed(
        sample(generator, [mean + 0.1 for mean in means], 0.3, 40), sample(generator, means, 0.3, 40),
        difference=0.1,
    )  # fmt: skip
    assert found.within_variance == pytest.approx(2 * 0.09, rel=0.15)
    assert found.repeats_same_tasks == pytest.approx(7.85 * 0.18 / (12 * 0.01), rel=0.2)
    assert found.repeats_same_tasks is not None
    assert 0.72 <= power_of(found.repeats_same_tasks, 0.1, 12, 0.3) <= 0.88


def test_no_number_of_repeats_helps_where_the_tasks_disagree() -> None:
    generator = np.random.default_rng(8)
    left = sample(generator, [0.9, 0.1] * 5, 0.05, 5)
    right = sample(generator, [0.1, 0.8] * 5, 0.05, 5)
    found = repeats_needed(left, right)
    assert found.repeats_any_tasks is None
    assert found.repeats_same_tasks is not None
    assert found.tasks_needed is not None
    assert found.tasks_needed > 100


def test_what_cannot_be_planned() -> None:
    once = {"a": [0.1], "b": [0.2]}
    assert repeats_needed(once, once).repeats_same_tasks is None
    twice: Sample = {"a": [0.1, 0.3], "b": [0.2, 0.2]}
    assert repeats_needed(twice, twice).repeats_same_tasks is None, "no difference to see"
    assert repeats_needed(twice, {"c": [1.0, 1.0]}) == repeats_needed({}, {})
