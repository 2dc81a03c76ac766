"""Normal forms."""

from __future__ import annotations

import pytest

from firetrial_judge.words import fold, opposite, same, stem, words


def s(word: str) -> str:
    return stem(fold(word))


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("improves", "improvement"),
        ("generalisation", "generalize"),
        ("prevented", "prevents"),
        ("noisy", "noise"),
        ("behaviour", "behaviors"),
        ("fell", "falls"),
        ("quantised", "quantization"),
        ("memorises", "memorization"),
    ],
)
def test_inflections_meet(a: str, b: str) -> None:
    assert s(a) == s(b)


@pytest.mark.parametrize(("a", "b"), [("student", "study"), ("larger", "lower"), ("model", "mode")])
def test_different_words_stay_apart(a: str, b: str) -> None:
    assert s(a) != s(b)


def test_synonyms_and_opposites() -> None:
    assert same(s("passage"), s("documents"))
    assert not same(s("accuracy"), s("latency"))
    assert opposite(s("beginning"), s("middle"))


def test_phrases_names_and_numbers() -> None:
    found = words("Large language models and GPT-3.5-Turbo's 8-bit k-nearest-neighbour step-by-step variant")
    assert [w.folded for w in found if w.stem not in {"and", "variant"}] == [
        "llm", "gpt-3.5-turbo", "bit", "nearest-neighbor", "chain-of-thought",
    ]  # fmt: skip
    assert [w.written for w in found if w.is_name] == ["GPT-3.5-Turbo"]
