"""The parts of two clauses side by side."""

from __future__ import annotations

import pytest

from firetrial_judge.alignment import match, parts


def test_names_without_a_partner_are_told() -> None:
    found = match(parts("Llama-2-70B fails on spatial tasks."), parts("Mistral-7B fails on spatial tasks."))
    assert found.names == ("Mistral-7B",)
    assert found.covered < 0.7


def test_a_paraphrase_is_covered() -> None:
    found = match(
        parts("Performance is best when the relevant passage is at the beginning of the context."),
        parts("Models do best when the document with the answer is at the start of the prompt."),
    )
    assert found.covered > 0.9
    assert not found.opposed


@pytest.mark.parametrize(
    ("premise", "hypothesis", "swapped"),
    [
        (
            "The student model is faster than the teacher.",
            "The teacher is faster than the student model.",
            True,
        ),
        ("Forests outperform boosting.", "Boosting outperforms forests.", True),
        ("Humans prefer short answers over long ones.", "Humans prefer long answers over short ones.", True),
        ("Forests outperform boosting.", "Forests beat boosting on small data.", False),
        ("Forests outperform boosting.", "Forests are accurate.", False),
    ],
)
def test_exchanged_sides_are_seen(premise: str, hypothesis: str, swapped: bool) -> None:
    assert match(parts(premise), parts(hypothesis)).swapped is swapped


def test_a_word_nearby_counts_half() -> None:
    premise, hypothesis = parts("Accuracy falls."), parts("Recall of retrieval falls on Finnish.")
    alone = match(premise, hypothesis)
    helped = match(premise, hypothesis, parts("We test retrieval on Finnish.").words)
    assert alone.covered < helped.covered < 1
    assert helped.names == ()


def test_quantifier_cause_and_method() -> None:
    assert parts("All models fail.").quantifier == 3
    assert parts("Some models fail.").quantifier == 1
    assert parts("Accuracy drops because attention is diluted.").causal
    assert parts("We compare four optimisers on three datasets.").method
    assert not parts("We compare and find lower loss.").method
