"""One finding a clause."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firetrial_judge.clauses import findings


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        (
            "Self-correction lowers accuracy on CommonSenseQA and leaves GSM8K unchanged.",
            ["Self-correction lowers accuracy on CommonSenseQA", "Self-correction leaves GSM8K unchanged."],
        ),
        (
            "Eight bits leave accuracy unchanged, while four bits cost two points.",
            ["Eight bits leave accuracy unchanged", "four bits cost two points."],
        ),
        ("The middle performs worst; the end rebounds slightly and shows recency.",
         ["The middle performs worst", "the end rebounds slightly and shows recency."]),
        (
            "Early stopping prevented overfitting but did not shorten training.",
            ["Early stopping prevented overfitting", "Early stopping did not shorten training."],
        ),
        (
            "k = 1 suffers most from noise: its accuracy drops from 98% to 60%.",
            ["k = 1 suffers most from noise", "For k = 1, its accuracy drops from 98% to 60%."],
        ),
        ("Accuracy and recall improve with data and compute.", None),
        ("Models are sensitive to prompt and template changes.", None),
        ("Clear effect: placing the document early boosts accuracy.", None),
        ("The gain (small, and it shrinks) is real.", None),
    ],
)  # fmt: skip
def test_findings(sentence: str, expected: list[str] | None) -> None:
    assert findings(sentence) == (expected or [sentence])


@given(st.text(alphabet="abcdefgh ,;:and but while improves", max_size=200))
def test_any_text_ends_and_no_number_is_invented(sentence: str) -> None:
    pieces = findings(sentence)
    assert pieces
    assert not any(c.isdigit() for piece in pieces for c in piece)
