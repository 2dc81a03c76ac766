"""Wilson's interval against published values and its own properties."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firetrial_kit.shares import wilson


@pytest.mark.parametrize(
    ("hits", "n", "low", "high"),
    # Newcombe (1998), "Two-sided confidence intervals for the single proportion", table I, method 3.
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_published_intervals(hits: int, n: int, low: float, high: float) -> None:
    assert wilson(hits / n, n) == pytest.approx((low, high), abs=5e-5)


@given(st.integers(1, 5000), st.floats(0, 1), st.sampled_from([0.8, 0.95, 0.99]))
def test_it_holds_the_share_and_stays_within_bounds(n: int, share: float, level: float) -> None:
    low, high = wilson(share, n, level)
    assert 0 <= low <= share + 1e-12
    assert share - 1e-12 <= high <= 1
