import pytest
from hypothesis import given
from hypothesis import strategies as st

from firetrial_parser.numerals import Numerals, numbers

PAPER = Numerals(
    "Accuracy is 12.34 and recall 0.876 over 1,234 items and 1 523 samples. A 7B model, a rate of 3e-4 and a "
    "decay of 2 × 10^-5; three seeds; 45.5% of 2.0 million pages; LLaMA-70B; 97.6 points."
)


@pytest.mark.parametrize(
    "statement",
    [
        "12.34", "12.3", "12", "-12.3", "0.88", "87.6%", "88 percent", "0.455", "46%", "1234", "1,234",
        "1.2k", "1523", "7B", "7 billion", "0.0003", "3e-4", "0.00002", "2e-5", "3 seeds", "2,000,000",
        "70 B", "2M", "no number at all", "three or four",
    ],
)  # fmt: skip
def test_the_paper_s_own_numbers_however_written(statement: str) -> None:
    assert PAPER.missing(statement) == []


@pytest.mark.parametrize(
    ("statement", "missing"),
    [
        ("rises from 12.34 to 12.35", "12.35"),
        ("13 of them", "13"),
        ("87.7% recall", "87.7%"),
        ("8B parameters", "8B"),
        ("80B parameters", "80B"),
        ("5e-4", "5e-4"),
        ("999,999 items", "999,999"),
        ("1.3k items", "1.3k"),
        ("0.8765", "0.8765"),
        ("1e999", "1e999"),
    ],
)
def test_numbers_that_are_not_the_paper_s(statement: str, missing: str) -> None:
    assert [number.text for number in PAPER.missing(statement)] == [missing]


@given(st.text(max_size=200))
def test_every_text_holds_its_own_numbers(text: str) -> None:
    assert Numerals(text).missing(text) == []


@given(st.decimals(0, 10**6, places=4), st.integers(0, 3))
def test_a_rounded_number_is_still_the_paper_s(value: object, places: int) -> None:
    assert Numerals(f"It is {value}.").missing(f"{value:.{places}f}") == []


def test_what_no_one_can_mean_is_harmless() -> None:
    hostile = "9" * 100_000 + " 1e-999 " + "0." + "1" * 10_000
    assert len(list(numbers(hostile))) == 3
    assert len(Numerals("1").missing(hostile)) == 3
