"""The lexical classifier against labelled items; what the held-out half gave is pinned to the version."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from firetrial_parser.intake import MAX_BYTES
from firetrial_parser.reading import read_document
from firetrial_parser.selection.contribution import Kind, LexicalClassifier

DATA = Path(__file__).parent / "data"


def measured(half: str) -> tuple[int, Counter[tuple[bool, bool]]]:
    """Items whose kind is right, and (is empirical, is kept) counted."""
    classifier, right = LexicalClassifier(), 0
    kept: Counter[tuple[bool, bool]] = Counter()
    for line in (DATA / f"{half}.jsonl").read_text().splitlines():
        item = json.loads(line)
        found = classifier.classify(item["title"], item["abstract"])
        right += found.kind == item["label"].upper()
        kept[item["label"] == "empirical", found.kept] += 1
    return right, kept


def test_the_halves_are_as_large_as_is_told() -> None:
    sizes = {half: len((DATA / f"{half}.jsonl").read_text().splitlines()) for half in ("dev", "heldout")}
    assert sizes == {"dev": 56, "heldout": 56}


def test_the_figures_of_the_documentation_are_those_of_this_version() -> None:
    assert LexicalClassifier().version == "lexical-v1", "a new version is measured anew: docs/selection.md"
    assert measured("heldout") == (
        51,
        {(True, True): 18, (True, False): 2, (False, True): 3, (False, False): 33},
    )
    assert measured("dev")[0] == 56


def test_reasons_name_the_words_that_decided() -> None:
    found = LexicalClassifier().classify("A theorem on attention", "We prove a lower bound.")
    assert found.kind is Kind.THEORY
    assert "“theorem”" in found.reason
    assert {(hit.rule, hit.where) for hit in found.cues} >= {("theory", "title"), ("theory", "abstract")}


def test_a_paper_without_any_cue_is_left_to_people() -> None:
    found = LexicalClassifier().classify("Zebra", "")
    assert (found.kept, found.reason) == (True, "no word tells what it contributes")


@pytest.mark.needs("shared")
def test_the_benchmarks_own_papers_are_kept(shared: Path) -> None:
    classifier = LexicalClassifier()
    paper = shared / "firebench" / "papers" / "llm_value_consistency.pdf"
    document = read_document(paper.read_bytes(), paper.name, limit=MAX_BYTES)
    assert classifier.classify(document.title, document.abstract).kind is Kind.EMPIRICAL
