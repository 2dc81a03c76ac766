import pytest

from firetrial_parser.quoting import QUOTE_SCORE, found_of, quoted
from unit.parser.study import TEXT, document

RISE = "Hardness increases from 410 at 10 minutes to 655 at 40 minutes"


def passage(text: str) -> str:
    quote = quoted(text, document())
    return document().pages[quote.page - 1][quote.start : quote.end]


def test_words_have_their_place() -> None:
    assert passage(RISE) == RISE
    assert quoted(RISE, document()).score == 1


@pytest.mark.parametrize(
    "nearly",
    [
        "hardness   increases from 410 at 10 min-\nutes to 655 at 40 minutes",
        "Hardness “increases” from 410 at 10 minutes to 655 at 40 minutes",
        "Hardness rises from 410 at 10 minutes to 655 at 40 minutes",
        "The spread of all the readings does not grow with the heating time",
    ],
)
def test_nearly_so_is_found_with_a_score(nearly: str) -> None:
    quote = quoted(nearly, document())
    assert quote.page == 1
    assert QUOTE_SCORE <= quote.score <= 1


@pytest.mark.parametrize(
    "other",
    [
        "Hardness increases from 410 at 10 minutes to 755 at 40 minutes",
        "Hardness increases from 410 at 10 minutes to 6.55 at 40 minutes",
        "The spread of the readings does grow with the heating time",
        "Longer times were tried",
        "steel is always harder than iron",
        "",
    ],
)
def test_another_number_another_negation_or_other_words_are_not(other: str) -> None:
    assert quoted(other, document()).page == 0


def test_only_what_is_found_is_kept_and_once() -> None:
    assert [q.text for q in found_of([RISE, "", "no such words here", RISE], document())] == [RISE]


def test_no_part_of_the_paper_is_too_hostile() -> None:
    paper = document(TEXT + "\n\n" + "ab" * 50_000 + "\n")
    assert quoted("ab" * 3_000 + "c", paper).score >= 0
