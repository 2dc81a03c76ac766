"""Which number belongs to what, and what values say together."""

from __future__ import annotations

import pytest

from firetrial_judge.bindings import bindings, compatible, conditions, difference, trend
from firetrial_judge.words import stems


def values(sentence: str) -> list[tuple[float, dict[str, float]]]:
    return [
        (round(b.quantity.value, 4), {kind: value.value for kind, value in b.conditions.items()})
        for b in bindings(sentence)
    ]


def test_each_value_stands_under_its_own_condition() -> None:
    assert values("Accuracy declines from 98.5% at k = 1 to 94.6% at k = 45.") == [
        (0.985, {"k": 1.0}),
        (0.946, {"k": 45.0}),
    ]


def test_a_condition_holds_until_another_of_its_kind_is_named() -> None:
    found = values("With 40% wrong labels, k = 5 loses 12.8 points and k = 15 loses 1.3 points.")
    assert found == [(0.128, {"%": 0.4, "k": 5.0}), (0.013, {"%": 0.4, "k": 15.0})]


def test_what_something_changed_from_is_told_apart() -> None:
    first, second = bindings("Removing the module reduces success from 71% to 34%.")
    assert first.initial
    assert not second.initial


def test_the_words_of_one_value_are_not_those_of_another() -> None:
    adults, children = bindings("The vaccine was effective in 94% of adults and 71% of children.")
    assert adults.own == stems("adult")
    assert children.own == stems("child") or children.own == stems("children")


@pytest.mark.parametrize(
    ("claim", "given", "fits"),
    [
        ("at k = 1", "at k = 1", True),
        ("at k = 1", "at k = 15", False),
        ("at k = 1", "with 40% noise", True),
        ("with 1,000 labels", "with 10,000 labels", False),
    ],
)
def test_conditions_clash_where_one_kind_has_two_values(claim: str, given: str, fits: bool) -> None:
    assert compatible(conditions(claim), conditions(given)) is fits


def test_values_compare_what_they_belong_to() -> None:
    given = bindings("Accuracy was 84.2% for the ensemble and 81.0% for the best single model.")
    assert difference(given, stems("ensemble"), stems("single model")) == 1
    assert difference(given, stems("single"), stems("ensemble")) == -1
    assert difference(given, stems("other"), stems("ensemble")) is None


def test_values_under_two_conditions_tell_a_trend() -> None:
    given = bindings("At temperature 1.0 the pass rate is 41%, at temperature 0.2 it is 55%.")
    assert trend(given, stems("temperature")) == -1
    assert trend(given, stems("size")) is None
