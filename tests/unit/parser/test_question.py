import doctest

import pytest

from firetrial_parser import question
from firetrial_parser.question import derive_question


def test_the_documented_example_holds() -> None:
    assert doctest.testmod(question).failed == 0


@pytest.mark.parametrize(
    ("sections", "title", "expected"),
    [
        (
            ["3 How Well Can Models Retrieve?", "3.2 Results"],
            "Lost: A Study",
            "How Well Can Models Retrieve?",
        ),
        (["4 RESULTS"], "", "What do experiments show about the question of this study?"),
        (["2 Label noise", "2.1 Results and Discussion"], "", "What do experiments show about label noise?"),
    ],
)
def test_derived(sections: list[str], title: str, expected: str) -> None:
    assert derive_question(sections, title).startswith(expected.rstrip("?"))


def test_a_heading_that_answers_is_not_the_question() -> None:
    asked = derive_question(["Why does accuracy not increase, but decrease?"], "Of Models and Long Contexts")
    assert "decrease" not in asked
    assert "long contexts" in asked


def test_words_of_result_stay_out() -> None:
    title = "LARGE LANGUAGE MODELS CANNOT SELF-CORRECT REASONING YET"
    asked = derive_question([], title)
    assert "cannot" not in asked.lower()
    assert title.lower() not in asked.lower()
