"""Directions as sets of outcomes."""

from __future__ import annotations

import pytest

from firetrial_judge.effects import effect
from firetrial_judge.words import words

SIGNS = {"+": 1, "0": 0, "-": -1}


@pytest.mark.parametrize(
    ("sentence", "signs"),
    [
        ("Dropout improves accuracy.", "+"),
        ("Dropout reduces overfitting.", "+"),
        ("Dropout worsens overfitting.", "-"),
        ("Without dropout, the network overfits.", "+"),
        ("Error rates rise with noise.", "-"),
        ("Smaller models are better calibrated.", "-"),
        ("It does not improve accuracy.", "0-"),
        ("It has no effect on accuracy.", "0"),
        ("It has little effect on accuracy.", "0"),
        ("The difference was not statistically significant.", "0"),
        ("Accuracy stays constant.", "0"),
        ("Order affects accuracy.", "+-"),
        ("No model failed to benefit.", "+"),
        ("None of the models improve.", "0-"),
        ("There is no benefit.", "0"),
        ("Accuracy holds at low noise.", "+"),
    ],
)
def test_signs(sentence: str, signs: str) -> None:
    assert effect(words(sentence)).signs == {SIGNS[c] for c in signs}


def test_a_turned_comparison() -> None:
    assert effect(words("A is better than B")).turned().signs == {-1}
