"""Kappa and alpha against published examples, figures against counts by hand, intervals that repeat."""

from __future__ import annotations

import pytest

from firetrial_judge.calibration.agreement import Compared, agreement, alpha, kappa
from firetrial_judge.verdict import Verdict

E, C, N, U = Verdict.ENTAILED, Verdict.CONTRADICTED, Verdict.NEUTRAL, Verdict.UNSCORED


def table(yes_yes: int, yes_no: int, no_yes: int, no_no: int) -> tuple[list[str], list[str]]:
    """Two raters' labels from a two-by-two table."""
    first = ["y"] * (yes_yes + yes_no) + ["n"] * (no_yes + no_no)
    second = ["y"] * yes_yes + ["n"] * yes_no + ["y"] * no_yes + ["n"] * no_no
    return first, second


@pytest.mark.parametrize(
    ("cells", "value"),
    [
        # Textbook tables: 50 grant applications; two with the same agreement of 60 % and other margins.
        ((20, 5, 10, 15), 0.4),
        ((45, 15, 25, 15), 0.1304),
        ((25, 35, 5, 35), 0.2593),
        ((10, 0, 0, 10), 1.0),
        ((0, 10, 10, 0), -1.0),
    ],
)
def test_kappa_of_known_tables(cells: tuple[int, int, int, int], value: float) -> None:
    assert kappa(*table(*cells)) == pytest.approx(value, abs=5e-5)


def test_kappa_of_one_label_alone_is_undefined() -> None:
    assert kappa(["y"] * 4, ["y"] * 4) is None


# Krippendorff 2011, examples A (binary), B (nominal, two observers) and C (four observers, missing data).
MEG, OWEN = "0100000010", "1110010000"


def test_alpha_of_two_observers_and_two_values() -> None:
    assert alpha([*zip(MEG, OWEN, strict=True)]) == pytest.approx(0.095, abs=5e-4)


def test_alpha_of_two_observers_and_five_values() -> None:
    ben, gerry = "aabbdcccedda", "babbbccceddd"
    assert alpha([*zip(ben, gerry, strict=True)]) == pytest.approx(0.692, abs=5e-4)


def test_alpha_of_four_observers_with_missing_values() -> None:
    rows = ["123321412...", "1233224125.3", ".3332342251.", "12332441251."]
    units = [[None if v == "." else v for v in unit] for unit in zip(*rows, strict=True)]
    assert alpha(units) == pytest.approx(0.743, abs=5e-4)


def said(judge: Verdict, *people: Verdict, label: Verdict | None = None, kind: str = "other") -> Compared:
    return Compared(kind, judge, people, label or people[0])


def test_figures_are_those_of_counting() -> None:
    compared = [said(E, E)] * 6 + [said(E, C)] + [said(N, E)] * 2 + [said(C, C)] * 5 + [said(N, N)] * 6
    found = agreement(compared)
    assert found.items == 20
    assert found.accuracy.value == pytest.approx(17 / 20)
    assert found.precision.value == pytest.approx(6 / 7)
    assert found.recall.value == pytest.approx(6 / 8)
    assert found.f1.value == pytest.approx(12 / 15)
    assert found.base_rates == {E: 0.4, C: 0.3, N: 0.3}
    assert found.confusion[("other", E, N)] == 2
    labels = [c.label.value for c in compared if c.label]
    assert found.kappa.value == pytest.approx(kappa([c.judge.value for c in compared], labels))
    assert found.alpha.value == pytest.approx(alpha([(c.judge, *c.people) for c in compared]))


def test_intervals_hold_the_value_and_repeat() -> None:
    compared = [said(E, E)] * 30 + [said(E, C)] * 4 + [said(N, E)] * 6 + [said(N, N)] * 20
    first, second = agreement(compared, seed=3), agreement(compared, seed=3)
    assert first == second
    for estimate in (first.accuracy, first.precision, first.recall, first.f1, first.kappa, first.alpha):
        low, value, high = estimate.low or 0.0, estimate.value or 0.0, estimate.high or 0.0
        assert 0.0 < low <= value <= high < 1.0
    # Of 60 claims, 50 right: the binomial's standard error is 0.048.
    width = (first.accuracy.high or 0.0) - (first.accuracy.low or 0.0)
    assert width == pytest.approx(2 * 1.96 * 0.048, rel=0.15)


def test_unscored_and_disputed_claims_are_left_out_and_told() -> None:
    disputed = Compared("other", E, (E, C), None)
    found = agreement([said(U, E, kind="quantitative"), said(E, E), disputed])
    assert found.items == 1
    assert found.confusion == {("other", E, E): 1, ("quantitative", E, U): 1}
    assert found.precision.value == 1.0


def test_nothing_to_compare_is_undefined_not_zero() -> None:
    found = agreement([])
    assert found.items == 0
    assert found.accuracy.value is found.kappa.value is found.alpha.value is None
    assert found.base_rates == {}
