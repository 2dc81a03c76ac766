"""Numbers and their units."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firetrial_judge.quantities import quantities


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("77.3% and 12 percent", [(0.773, "%"), (0.12, "%")]),
        ("3.5 points", [(0.035, "points")]),
        ("twelve of the sixteen tasks", [(0.75, "%")]),
        ("three quarters", [(0.75, "%")]),
        ("50,000 images in twenty-five epochs", [(50000.0, ""), (25.0, "")]),
        ("2.5x faster on 7B", [(2.5, "times"), (7e9, "")]),
        ("GPT-3.5 is the other one", []),
    ],
)
def test_values(text: str, expected: list[tuple[float, str]]) -> None:
    found = quantities(text)
    assert [q.value for q in found] == pytest.approx([value for value, _ in expected])
    assert [q.unit for q in found] == [unit for _, unit in expected]


def test_conditions_and_bounds() -> None:
    at, k, over, bits = quantities("at 40% noise with k = 15, more than 90% in 8-bit form")
    assert (at.condition, k.condition, bits.condition) == (True, True, True)
    assert (over.bound, over.condition) == (">", False)


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ("98.8%", "98.5%", True),
        ("59.8%", "59.0%", True),
        ("91.2%", "78.4%", False),
        ("1%", "30%", False),
        ("10 examples", "50 examples", False),
        ("0.75", "75%", True),
        ("2.1 points", "2.6 points", True),
        ("2 times", "2%", False),
    ],
)
def test_equal_within_what_a_repetition_changes(a: str, b: str, same: bool) -> None:
    (one,), (other,) = quantities(a), quantities(b)
    assert one.matches(other) is other.matches(one) is same


@given(st.text(alphabet="0123456789.,%-/ ofthalfkmbx", max_size=60))
def test_any_text_of_digits_is_read(text: str) -> None:
    assert all(0 <= q.start < q.end <= len(text) for q in quantities(text))
