"""Where quotes stand: word for word, over line ends and case, or in the nearest sentence."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firetrial_judge.quoting import Quoted
from firetrial_judge.text import units
from firetrial_judge.verdict import Span

TEXT = "# Results\nAccuracy falls\nwith noise. ISTANBUL'S İ stays. Recall rises by 3.5 points."


@pytest.mark.parametrize(
    ("quote", "found"),
    [
        ("Accuracy falls with noise", "Accuracy falls\nwith noise"),
        ("accuracy  FALLS", "Accuracy falls"),
        ("recall rises by 3.5", "Recall rises by 3.5"),
        ("Recall falls", None),
        ("", None),
        (" \n", None),
    ],
)
def test_a_passage_is_found_whatever_its_spaces_and_case(quote: str, found: str | None) -> None:
    span = Quoted(TEXT).passage(quote)
    assert (TEXT[span.start : span.end] if span else None) == found


@pytest.mark.parametrize(
    ("quote", "found"),
    [
        ("falls with", "Accuracy falls\nwith noise."),
        ("The recall rises by some points", "Recall rises by 3.5 points."),
        ("Pigs fly", None),
    ],
)
def test_a_quote_lies_in_a_sentence_or_in_the_nearest_one(quote: str, found: str | None) -> None:
    span = Quoted(TEXT, units(TEXT)).sentence(quote)
    assert (TEXT[span.start : span.end] if span else None) == found


@given(st.text(max_size=60), st.integers(0, 60), st.integers(1, 20))
def test_what_is_copied_from_a_text_is_found_in_it(text: str, start: int, length: int) -> None:
    quote = text[start : start + length]
    span = Quoted(text).passage(quote)
    if quote.strip():
        assert isinstance(span, Span)
        bare = "".join(quote.split()).lower()
        assert "".join(text[span.start : span.end].split()).lower() == bare


def test_many_quotes_from_a_long_text_are_found_in_time() -> None:
    text = "Accuracy falls with noise. " * 7000
    quoted = Quoted(text)
    began = time.process_time()
    assert all(quoted.passage(f"no such passage {n}") is None for n in range(200))
    assert time.process_time() - began < 1.0
