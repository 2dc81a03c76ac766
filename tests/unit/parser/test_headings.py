import pytest
from hypothesis import given
from hypothesis import strategies as st

from firetrial_parser import headings
from firetrial_parser.headings import Number, follows, is_named, longest_chain, numbered


@pytest.mark.parametrize(
    ("text", "parts", "title"),
    [
        ("1 Introduction", ("1",), "Introduction"),
        ("2.3. Results", ("2", "3"), "Results"),
        ("A.4.1 Prompts", ("A", "4", "1"), "Prompts"),
        ("B Random distractors", ("B",), "Random distractors"),
        ("Appendix C Tokens", ("C",), "Tokens"),
    ],
)
def test_numbers_are_read(text: str, parts: tuple[str, ...], title: str) -> None:
    assert numbered(text) == Number(parts, title)


@pytest.mark.parametrize("text", ["Introduction", "12", "1 2 3", "2023 was a year", "3.5 % of all"])
def test_what_is_no_numbered_heading(text: str) -> None:
    assert numbered(text) is None


def test_names_do_not_depend_on_case_or_stop() -> None:
    assert is_named("REFERENCES")
    assert is_named("Related Work.")
    assert not is_named("Our great idea")


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (None, ("1",), True),
        (None, ("A",), False),
        (("1",), ("1", "1"), True),
        (("2", "3"), ("3",), True),
        (("2", "3"), ("2", "5"), True),
        (("2", "3"), ("2", "7"), False),
        (("7",), ("A",), True),
        (("B",), ("4",), False),
        (("2",), ("3", "1"), False),
    ],
)
def test_what_can_follow(before: tuple[str, ...] | None, after: tuple[str, ...], expected: bool) -> None:
    assert follows(before, after) is expected


def test_list_items_and_a_title_with_an_article_fall_out_of_the_chain() -> None:
    texts = ["A Tale of two", "1 Intro", "1.1 Aims", "9 Lives of cats", "2 Method", "3 Results", "A Proofs"]
    found = [numbered(text) for text in texts]
    assert longest_chain([n for n in found if n]) == {1, 2, 4, 5, 6}


@given(st.lists(st.integers(1, 30), max_size=40))
def test_chain_is_a_chain(numbers: list[int]) -> None:
    given_numbers = [Number((str(n),), "x") for n in numbers]
    chain = sorted(longest_chain(given_numbers))
    for before, after in zip([None, *chain], chain, strict=False):
        assert follows(None if before is None else given_numbers[before].parts, given_numbers[after].parts)


def test_what_follows_the_paper_proper() -> None:
    def beyond(*titles: str) -> list[str]:
        marks = headings.supplementary([(title, 1) for title in titles])
        return [title for title, mark in zip(titles, marks, strict=True) if mark]

    assert beyond("1 Introduction", "References", "A Proofs", "A.1 More", "B Data") == [
        "A Proofs",
        "A.1 More",
        "B Data",
    ]
    assert beyond("Introduction", "Appendix", "Tables", "References") == ["Appendix", "Tables"]
    assert beyond("Main", "Supplementary Material", "Notes") == ["Supplementary Material", "Notes"]
    assert beyond("I Introduction", "II Method", "A Data", "III Results", "References") == []
    assert beyond("A Tale of Two Methods", "1 Introduction") == []


def test_the_bibliography_by_any_number() -> None:
    assert all(map(headings.is_bibliography, ("References", "7. REFERENCES", "Bibliography")))
    assert not headings.is_bibliography("References to others")


def test_a_number_in_a_title_is_no_part_of_its_number() -> None:
    found = headings.numbered("G.1 10 Total Retrieved Documents")
    assert found is not None
    assert (found.parts, found.title) == (("G", "1"), "10 Total Retrieved Documents")
    assert headings.numbered("3 10 Documents") is None
