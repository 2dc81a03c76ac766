"""Metrics, their undefined cases, and RAGChecker's numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firetrial_judge import ragchecker
from firetrial_judge.score import ScoreState, score, score_document
from firetrial_judge.verdict import Verdict
from firetrial_kit.errors import FiretrialError, Reason

E, C, N, U = Verdict.ENTAILED, Verdict.CONTRADICTED, Verdict.NEUTRAL, Verdict.UNSCORED


def test_counts_and_metrics() -> None:
    found = score([E, N, C, E], [E, N, E])
    assert (found.tp, found.fp, found.matched, found.fn, found.unscored) == (2, 2, 2, 1, 0)
    assert (found.precision, found.recall) == (0.5, 2 / 3)
    assert found.f1 == pytest.approx(4 / 7)
    assert found.state is ScoreState.SCORED


@pytest.mark.parametrize(
    ("agent", "truth", "precision", "recall", "f1"),
    [
        ([], [], None, None, None),
        ([], [N], None, 0.0, None),
        ([E], [], 1.0, None, None),
        ([U], [E], None, 1.0, None),
        ([U, U], [U], None, None, None),
    ],
)
def test_what_has_no_claim_is_undefined_not_zero(
    agent: list[Verdict], truth: list[Verdict], precision: object, recall: object, f1: object
) -> None:
    found = score(agent, truth)
    assert (found.precision, found.recall, found.f1) == (precision, recall, f1)
    assert found.state is ScoreState.UNSCORED


def test_an_unscored_claim_counts_neither_way() -> None:
    found = score([E, U, N], [E, U])
    assert (found.precision, found.recall, found.unscored) == (0.5, 1.0, 2)
    assert found.state is ScoreState.SCORED


def test_nothing_matched_is_zero() -> None:
    assert score([N], [C]).f1 == 0.0


verdicts = st.lists(st.sampled_from([E, C, N, U]), max_size=12)


@given(verdicts, verdicts)
def test_metrics_keep_their_ranges(agent: list[Verdict], truth: list[Verdict]) -> None:
    found = score(agent, truth)
    assert found.tp + found.fp + found.matched + found.fn + found.unscored == len(agent) + len(truth)
    for value in (found.precision, found.recall, found.f1):
        assert value is None or 0 <= value <= 1
    if found.f1:
        assert found.precision is not None
        assert found.recall is not None
        low, high = sorted((found.precision, found.recall))
        assert low - 1e-9 <= found.f1 <= high + 1e-9
    assert (found.f1 is None) == (found.state is ScoreState.UNSCORED)


labels = st.lists(st.sampled_from(["Entailment", "Neutral", "Contradiction"]), min_size=1, max_size=9)


@given(labels, labels)
def test_both_modes_agree_where_every_claim_is_scored(agent: list[str], truth: list[str]) -> None:
    document = {"answer2response": agent, "response2answer": truth}
    ours, theirs = score_document(document), score_document(document, "ragchecker")
    assert {name: ours[name] for name in theirs} == pytest.approx(theirs)


@pytest.mark.needs("shared")
def test_every_worked_example_of_ragchecker(shared: Path) -> None:
    examples: list[dict[str, Any]] = json.loads((shared / "firebench/ragchecker.json").read_text())[
        "worked_examples"
    ]
    assert len(examples) == 15
    for example in examples:
        found = score_document(example["input"], "ragchecker")
        if isinstance(example["input"], list):
            assert found["queries"] == [pytest.approx(q) for q in example["per_query"]], example["name"]
            assert found["aggregate"] == example["aggregate_percent"]
            continue
        assert found == pytest.approx(example["output"]), example["name"]
        if "as_percent_1dp" in example:
            assert ragchecker.aggregate([found]) == example["as_percent_1dp"], example["name"]


def test_a_list_is_answered_with_its_mean_and_coverage() -> None:
    one = {"answer2response": ["ENTAILED", "neutral"], "response2answer": ["Entailment"]}
    none: dict[str, list[str]] = {"answer2response": [], "response2answer": ["UNSCORED"]}
    found = score_document([one, none])
    assert [q["precision"] for q in found["queries"]] == [0.5, None]
    assert found["aggregate"]["precision"] == 0.5
    assert found["aggregate"]["coverage"] == {"precision": "1 of 2", "recall": "1 of 2", "f1": "1 of 2"}
    assert score_document([])["aggregate"]["f1"] is None
    assert score_document([], "ragchecker") == {"queries": [], "aggregate": {}}


@pytest.mark.parametrize(
    ("document", "fields"),
    [
        ("text", ["document"]),
        ({}, ["answer2response", "response2answer"]),
        (
            {"answer2response": ["maybe", 3], "response2answer": "ENTAILED"},
            ["answer2response[0]", "answer2response[1]", "response2answer"],
        ),
        ([{"answer2response": [], "response2answer": []}, 7], ["[1]"]),
        (
            {
                "answer2response": ["ENTAILED"],
                "response2answer": ["ENTAILED"],
                "retrieved2response": [["x", "y"]],
                "retrieved2answer": [["x"], ["y"]],
            },
            ["retrieved2*", "retrieved2answer"],
        ),
    ],
)
def test_every_fault_is_named_at_once(document: object, fields: list[str]) -> None:
    with pytest.raises(FiretrialError) as caught:
        score_document(document)
    assert caught.value.reason is Reason.INVALID
    assert [fault.field for fault in caught.value.faults] == fields


def test_ragchecker_takes_any_text_as_a_label() -> None:
    document = {"answer2response": ["perhaps"], "response2answer": ["ENTAILED"]}
    assert score_document(document, "ragchecker") == {"precision": 0.0, "recall": 0.0, "f1": 0.0}
