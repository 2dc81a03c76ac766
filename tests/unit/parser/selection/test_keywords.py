"""Patterns, and the first stage that is made of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from firetrial_parser.selection.keywords import Keywords
from firetrial_parser.selection.patterns import Hit, compiled

DATA = Path(__file__).parent / "data"


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("language model*", "two Language-Models here", "Language-Models"),
        ("language model*", "a language\nmodel", "language\nmodel"),
        ("study", "studying", None),
        ("study", "a study.", "study"),
        ("AI", "maintain", None),
        ("tokeni?ation", "tokenization", "tokenization"),
        ("tokeni?ation", "tokenisation", "tokenisation"),
        ("p <", "p < 0.01", "p <"),
        ("C++", "in C++ code", "C++"),
        ("pre trained", "pre–trained", "pre–trained"),
    ],
)
def test_a_pattern_finds_whole_words(pattern: str, text: str, found: str | None) -> None:
    match = compiled(pattern).search(text)
    assert (match[0] if match else None) == found


def test_each_hit_is_shown_with_its_rule_and_place() -> None:
    looked = Keywords().look("Do language models count?", "We measure accuracy.")
    assert looked.against == ()
    assert Hit("subject", "language model*", "title", "language models") in looked.hits
    assert Hit("study", "measur*", "abstract", "measure") in looked.hits


@pytest.mark.parametrize(
    ("title", "abstract", "against"),
    [
        ("Growing tomatoes in clay", "We measure the yield of twelve plots.", ("subject",)),
        ("Language as a river", "An essay on neural metaphors.", ("study",)),
        ("A survey of language models", "We compare many results.", ("leave-out",)),
        ("", "", ("subject", "study")),
    ],
)
def test_the_rules_that_speak_against_a_paper_are_named(
    title: str, abstract: str, against: tuple[str, ...]
) -> None:
    assert Keywords().look(title, abstract).against == against


def test_a_survey_is_told_by_its_title_alone() -> None:
    assert not Keywords().look("Do models agree?", "We measure answers to a survey with models.").against


@pytest.mark.parametrize(("half", "kept"), [("dev", 20), ("heldout", 17)])
def test_as_many_empirical_papers_go_on_as_the_documentation_says(half: str, kept: int) -> None:
    keywords = Keywords()
    assert keywords.version == "keywords-v1", "a new version is measured anew: docs/selection.md"
    items = [json.loads(line) for line in (DATA / f"{half}.jsonl").read_text().splitlines()]
    empirical = [item for item in items if item["label"] == "empirical"]
    looked = [keywords.look(item["title"], item["abstract"]) for item in empirical]
    assert (len(empirical), sum(not one.against for one in looked)) == (20, kept)
