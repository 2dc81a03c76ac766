from __future__ import annotations

import json
from typing import Any

import pytest

from firetrial_kit.errors import FiretrialError
from firetrial_parser.rating import Difficulty, Rating, published_on_arxiv, read_ratings

AXES = {"conceptual_decomposition": 1, "confound_control": 2, "analysis_complexity": 3}


@pytest.mark.parametrize(
    ("arxiv_id", "month"),
    [
        ("2307.03172", "2023-07"),
        ("2505.17697v2", "2025-05"),
        ("cs/0112017", ""),
        ("2313.00001", ""),
        ("", ""),
    ],
)
def test_an_arxiv_id_tells_the_month(arxiv_id: str, month: str) -> None:
    assert published_on_arxiv(arxiv_id) == month


def test_ratings_are_read_by_task() -> None:
    read = read_ratings(
        json.dumps({"a": {"difficulty": AXES, "published": "2025-05"}, "b": {"published": "2024"}})
    )
    assert read == {"a": Rating(Difficulty(1, 2, 3), "2025-05"), "b": Rating(None, "2024")}


@pytest.mark.parametrize(
    ("entry", "field"),
    [
        ({"difficulty": AXES | {"confound_control": 4}}, "a.difficulty.confound_control"),
        ({"difficulty": AXES | {"confound_control": True}}, "a.difficulty.confound_control"),
        ({"difficulty": {"confound_control": 1}}, "a.difficulty"),
        ({"difficulty": "hard"}, "a.difficulty"),
        ({"published": "May 2025"}, "a.published"),
        ({"published": "2025-13"}, "a.published"),
        ({"published": "2025-02-30"}, "a.published"),
        ({"dificulty": AXES}, "a"),
        ("hard", "a"),
    ],
)
def test_a_wrong_rating_is_named(entry: Any, field: str) -> None:
    with pytest.raises(FiretrialError) as refused:
        read_ratings(json.dumps({"a": entry}))
    assert [fault.field for fault in refused.value.faults] == [field]


@pytest.mark.parametrize("text", ["", "[]", "3", "{"])
def test_what_is_no_table_of_ratings_is_refused(text: str) -> None:
    with pytest.raises(FiretrialError):
        read_ratings(text)


def test_all_faults_are_told_at_once() -> None:
    with pytest.raises(FiretrialError) as refused:
        read_ratings(json.dumps({"a": {"published": "x"}, "b": {"difficulty": 3}}))
    assert [fault.field for fault in refused.value.faults] == ["a.published", "b.difficulty"]
