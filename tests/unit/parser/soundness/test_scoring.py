"""Figures of the gate against worked numbers, printed digits and their own rules."""

from __future__ import annotations

import json
from itertools import chain, repeat
from math import comb
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firetrial_parser.soundness.assessment import Bucket
from firetrial_parser.soundness.proposal import Experiment, Proposal
from firetrial_parser.soundness.scoring import Confusion, MeanThreshold, baselines, label
from firetrial_parser.soundness.support import Claim, Ruled, Support

HIGH, LOW = Bucket.HIGH, Bucket.LOW
FIGURES = ("low_recall", "high_recall", "fpr", "accuracy", "balanced_accuracy")


@pytest.fixture(scope="module")
def reference(shared: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((shared / "firebench" / "soundness.json").read_text())
    return found


def confusion(low_low: int, low_high: int, high_high: int, high_low: int) -> Confusion:
    """As it is counted from verdicts, one by one."""
    pairs = ((LOW, LOW), low_low), ((LOW, HIGH), low_high), ((HIGH, HIGH), high_high), ((HIGH, LOW), high_low)
    return Confusion.of(chain.from_iterable(repeat(pair, times) for pair, times in pairs))


def values(found: Confusion) -> dict[str, float | None]:
    return {name: getattr(found, name).value for name in FIGURES}


@pytest.mark.needs("shared")
def test_the_worked_confusions(reference: dict[str, Any]) -> None:
    cases = reference["worked_examples_constructed_here"]["confusion"]
    assert len(cases) == 3
    for case in cases:
        counts = (case[n] for n in ("low_pred_low", "low_pred_high", "high_pred_high", "high_pred_low"))
        assert values(confusion(*counts)) == pytest.approx({name: case[name] for name in FIGURES}, abs=1e-9)


@pytest.mark.needs("shared")
def test_the_trivial_baselines_to_their_printed_digits(reference: dict[str, Any]) -> None:
    counts = reference["counts"]
    assert counts["low"] + counts["high"] == counts["proposals"] == reference["checks"]["458+641"]
    plan = Proposal("A is better than B.", experiments=(Experiment("Compare."),))
    told = baselines([(plan, LOW)] * counts["low"] + [(plan, HIGH)] * counts["high"])
    for name in ("always_high", "always_low"):
        printed = reference["baselines"][name]
        found = {key: told[name][key]["value"] for key in printed}
        assert {key: round(value, 4) for key, value in found.items()} == printed


@pytest.mark.needs("shared")
def test_the_mean_threshold(reference: dict[str, Any]) -> None:
    case = reference["worked_examples_constructed_here"]["mean_threshold"]
    rule = MeanThreshold.of(case["high_values"], case["low_values"])
    assert rule == MeanThreshold(case["threshold"], high_above=True)
    assert case["predict_high_if"] == f">= {rule.threshold}"
    pairs = [(HIGH, rule.verdict(v)) for v in case["high_values"]]
    found = Confusion.of([*pairs, *((LOW, rule.verdict(v)) for v in case["low_values"])])
    assert found.high_recall.value == case["high_recall"]
    assert found.low_recall.value == case["low_recall"]


@pytest.mark.needs("shared")
def test_the_support_ratios(reference: dict[str, Any]) -> None:
    for case in reference["worked_examples_constructed_here"]["support_ratio"]:
        total, held = case["total"], case["supported"]
        ruled = tuple(Ruled(Claim(f"claim {i}", "abstract"), i < held) for i in range(total))
        ratio = Support(ruled, "test").ratio
        assert ratio is not None
        assert round(ratio, 4) == case["ratio"]


@pytest.mark.needs("shared")
def test_the_labels_and_the_identity_of_the_rates(reference: dict[str, Any]) -> None:
    assert reference["labels"]["boundaries_inclusive"]
    example, second = (reference["atomic_claim_support"][n] for n in ("example", "second_example"))
    assert label(example["mean_soundness"]) == example["label"]
    assert label(second["mean_soundness"]) == second["label"]
    assert [label(score) for score in (1, 2, 2.01, 2.99, 3, 4)] == [LOW, LOW, None, None, HIGH, HIGH]
    standard = reference["results_percent"]["standard"]
    assert 100 - standard["mean_low_recall"] == standard["mean_fpr"] == reference["checks"]["100-26.0"]


def test_the_threshold_has_a_side_and_a_rule_for_ties() -> None:
    rule = MeanThreshold.of([1, 3], [9, 11])
    assert rule == MeanThreshold(6, high_above=False)
    assert [rule.verdict(value) for value in (5.9, 6, 6.1)] == [HIGH, HIGH, LOW]
    assert MeanThreshold.of([4], [4]).verdict(4) is HIGH


def test_what_could_not_be_read_is_in_no_share() -> None:
    found = Confusion.of([(LOW, LOW), (LOW, None), (HIGH, HIGH), (HIGH, None), (HIGH, None)])
    assert (found.low_unparsed, found.high_unparsed) == (1, 2)
    assert values(found) == dict.fromkeys(FIGURES, 1.0) | {"fpr": 0.0}


def test_nothing_to_divide_by_is_no_number() -> None:
    assert values(Confusion.of([(HIGH, HIGH)])) == {
        "low_recall": None,
        "high_recall": 1.0,
        "fpr": None,
        "accuracy": 1.0,
        "balanced_accuracy": None,
    }


@given(*(st.integers(0, 400),) * 4)
def test_intervals_hold_their_values(a: int, b: int, c: int, d: int) -> None:
    found = confusion(a, b, c, d)
    for name in FIGURES:
        figure = getattr(found, name)
        if figure.value is not None:
            assert -1e-9 <= figure.low <= figure.value + 1e-9
            assert figure.value - 1e-9 <= figure.high <= 1 + 1e-9
    if found.fpr.value is not None:
        assert found.fpr.value == pytest.approx(1 - (found.low_recall.value or 0), abs=1e-12)


def test_the_balanced_accuracy_covers_as_often_as_it_says() -> None:
    """Against every outcome of 12 + 9 proposals, weighted by its chance: near 95 %, never far below."""
    for low, high in ((0.3, 0.9), (0.5, 0.5), (0.8, 0.6)):
        true, covered = (low + high) / 2, 0.0
        for a in range(13):
            for b in range(10):
                chance = comb(12, a) * low**a * (1 - low) ** (12 - a)
                chance *= comb(9, b) * high**b * (1 - high) ** (9 - b)
                figure = confusion(a, 12 - a, b, 9 - b).balanced_accuracy
                assert figure.low is not None
                assert figure.high is not None
                covered += chance * (figure.low <= true <= figure.high)
        assert 0.93 <= covered <= 1
