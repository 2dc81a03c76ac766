"""Names that a paper gave to its own method."""

from __future__ import annotations

import pytest

from firetrial_parser.leaks.coined import coined_names
from unit.parser.study import document


def names(sentence: str, leaf: str, published: str = "") -> list[str]:
    paper = document(f"# T\n\n## 1 Method\n\n{sentence}\n")
    return [pattern.pattern for pattern in coined_names(paper, [leaf], [published])]


@pytest.mark.parametrize(
    ("sentence", "leaf"),
    [
        ("We call this method answer-first decoding.", "Using answer-first we see gains."),
        ("In this work we introduce Stepwise Heating, which is slow.", "Stepwise Heating wins."),
        ("We propose Answer Span Weighting (ASW) for it.", "With ASW accuracy rises."),
        ("Our approach, dubbed SlowCool, is simple.", "SlowCool wins."),
    ],
)
def test_found(sentence: str, leaf: str) -> None:
    assert names(sentence, leaf)


@pytest.mark.parametrize(
    ("sentence", "leaf"),
    [
        ("We introduce Stepwise Heating.", "The hardness rises."),
        ("Smith introduced Stepwise Heating.", "Stepwise Heating wins."),
        ("We present results on GSM8K with GPT-4.", "On GSM8K, GPT-4 wins."),
        ("We study large language models (LLMs).", "LLMs fail."),
    ],
)
def test_left_alone(sentence: str, leaf: str) -> None:
    assert names(sentence, leaf) == []


def test_what_is_published_is_no_secret() -> None:
    sentence, leaf = "We introduce Stepwise Heating.", "Stepwise Heating wins."
    assert names(sentence, leaf, "Scope: stepwise heating of steel.") == []
