"""Agreement as figures: known values, bounds, and intervals that cover what they say."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firetrial_parser.selection.agreement import Table, agreement, kappa, raw
from firetrial_parser.selection.review import Verdict
from unit.parser.selection.reviews import decision, review

COUNTS = st.integers(0, 40)


def test_a_worked_table() -> None:
    # Of 50: both yes 20, both no 15, apart 5 and 10. o = 0.7, e = 0.5·0.6 + 0.5·0.4 = 0.5, kappa 0.4.
    table = Table(both_accept=20, both_reject=15, first_accepts=5, second_accepts=10)
    assert raw(table).value == pytest.approx(0.7)
    assert kappa(table).value == pytest.approx(0.4)
    # Wilson's interval of 35 of 50.
    assert raw(table).low == pytest.approx(0.5625, abs=1e-4)
    assert raw(table).high == pytest.approx(0.8090, abs=1e-4)


def test_what_is_undefined_is_told_as_such() -> None:
    assert raw(Table()).value is None
    assert kappa(Table()).value is None
    assert kappa(Table(both_accept=9)).value is None, "chance alone agrees always"


def test_few_rounds_that_all_agree_do_not_prove_much() -> None:
    found = kappa(Table(both_accept=2, both_reject=2))
    assert found.value == 1.0
    assert found.low is not None
    assert found.low < 0.5


@given(COUNTS, COUNTS, COUNTS, COUNTS)
def test_kappa_lies_in_its_bounds_and_does_not_depend_on_who_is_first(a: int, b: int, c: int, d: int) -> None:
    one = kappa(Table(a, b, c, d), draws=50)
    other = kappa(Table(a, b, d, c), draws=50)
    assert (one.value is None) == (other.value is None)
    if one.value is not None and other.value is not None:
        assert -1 <= one.value <= 1
        assert one.value == pytest.approx(other.value)


def test_the_interval_covers_the_truth_as_often_as_it_says() -> None:
    cells = (0.45, 0.1, 0.15, 0.3)  # both accept, one, the other, both reject
    expected = 0.55 * 0.6 + 0.45 * 0.4
    truth = (0.75 - expected) / (1 - expected)
    drawn = random.Random(7)  # noqa: S311 - no secret
    covered = 0
    for trial in range(200):
        found = drawn.choices(range(4), cells, k=40)
        both, first, second, neither = (found.count(cell) for cell in range(4))
        estimate = kappa(Table(both, neither, first, second), seed=trial, draws=300)
        assert estimate.low is not None
        assert estimate.high is not None
        covered += estimate.low <= truth <= estimate.high
    assert covered >= 180


def test_pairs_are_counted_by_name_and_rounds_once() -> None:
    yes, no = Verdict.ACCEPT, Verdict.REJECT
    records = [
        review("r1", decision("Ada", yes), decision("Bob", yes)),
        review("r2", decision("bob ", no), decision("ada", yes)),
        review("r3", decision("Ada", no), decision("Eve", no)),
        review("r4", decision("Ada", yes)),
    ]
    overall, pairs = agreement(records)
    assert overall.table == Table(both_accept=1, both_reject=1, second_accepts=1)
    assert (overall.resolved, overall.disputed) == (0, 1)
    assert [(one.first, one.second, one.table) for one in pairs] == [
        ("Ada", "Bob", Table(both_accept=1, first_accepts=1)),
        ("Ada", "Eve", Table(both_reject=1)),
    ]
