"""The stand-in for a rater: counts, thresholds, and a label."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from firetrial_parser.difficulty import HEURISTIC, rate_by_heuristic
from firetrial_parser.rating import AXES
from firetrial_parser.tree import Node

PLAIN = Node("leaf", "T", evidence="Table 1", conclusion="It falls.")
RICH = Node(
    "leaf",
    "T",
    evidence="Table 1",
    datasets=("A", "B"),
    models=("x", "y"),
    protocol="A randomized control, shuffled labels as baseline; correlation, regression, calibration.",
    conclusion="It falls.",
)


def test_plain_is_easy_and_rich_is_hard() -> None:
    easy, hard = rate_by_heuristic(PLAIN, ["a"]), rate_by_heuristic(RICH, ["a", "b", "c", "d"])
    assert (easy.difficulty.level, hard.difficulty.level) == ("easy", "hard")
    assert easy.difficulty.rated_by == HEURISTIC
    assert len(hard.reasons) == len(AXES)
    assert hard.reasons[0].startswith("4 findings")


@given(st.text(max_size=200), st.lists(st.text(max_size=10), max_size=9))
def test_any_leaf_has_a_rating(text: str, statements: list[str]) -> None:
    rated = rate_by_heuristic(Node("leaf", "T", protocol=text, conclusion=text), statements)
    assert list(rated.difficulty.faults("difficulty")) == []
