"""Instructions as sentences."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firetrial_parser.leaks.passages import asks_openly, passages, stated, units


def test_wrapped_lines_are_joined_and_items_stand_alone() -> None:
    text = "Measure the\naccuracy. Then stop.\n- Data: SQuAD\n- Models:\n  two\n\n# Budget\nA hundred calls."
    assert [unit.text for unit in units(text)] == [
        "Measure the accuracy.",
        "Then stop.",
        "Data: SQuAD",
        "Models:",
        "two",
        "Budget",
        "A hundred calls.",
    ]


@given(st.text(max_size=400))
def test_units_stand_where_they_say(text: str) -> None:
    for unit in units(text):
        assert unit.text == " ".join(text[unit.start : unit.end].split())


@pytest.mark.parametrize(
    "text", ["Does it fall?", "Ask: “does it fall?”", "Test whether it falls.", "Measure how it falls."]
)
def test_open(text: str) -> None:
    assert asks_openly(text)


@pytest.mark.parametrize("text", ["Why does it fall?", "It falls.", "By how much does it fall?"])
def test_not_open(text: str) -> None:
    assert not asks_openly(text)


def test_a_question_that_is_answered_at_once_stays() -> None:
    assert stated("Does it fall? Yes, always. Is it red? You are an agent.") == (
        "Does it fall?\n\nYes, always.\n\nYou are an agent."
    )


def test_neighbours_are_read_together() -> None:
    assert [p.text for p in passages("It falls. Then it rises.")] == [
        "It falls.",
        "Then it rises.",
        "It falls. Then it rises.",
    ]
