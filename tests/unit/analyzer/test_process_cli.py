import json
import math
from dataclasses import asdict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firetrial_analyzer.process_cli import MAX_STEPS, lines, measure, read
from firetrial_kit.errors import FiretrialError

PROGRESS: dict[str, Any] = {
    "val_primary_metrics": [0.4, None, 0.6, 0.55, 0.75, None, 0.75, 0.8],
    "baseline_primary_metric": 0.5,
    "direction": "higher",
    "p_best": 1.0,
    "p_worst": 0.0,
}
SQUARE: dict[str, Any] = {
    "embeddings": [[1, 0, 0], [0, 1, 0], [-1, 0, 0], [0, -1, 0]],
    "baseline_embedding": [0, 0, 1],
}


def faults(document: dict[str, Any]) -> list[str]:
    with pytest.raises(FiretrialError) as caught:
        measure(document)
    assert all(fault.value and fault.cure for fault in caught.value.faults)
    return [fault.field for fault in caught.value.faults]


def test_embeddings() -> None:
    assert measure(SQUARE) == {
        "exploration_spread": 1.0,
        "exploration_uniqueness": 1.0,
        "exploration_reach": pytest.approx(math.sqrt(2)),
        "effective_dim": pytest.approx(2.0),
    }


def test_progress_and_both_in_one_document() -> None:
    found = measure(PROGRESS | SQUARE | {"total_steps": 10, "total_tokens": 500})
    assert found["auc"] == pytest.approx(0.15625)
    assert (found["first_improvement_step"], found["step_of_best"]) == (3, 8)
    assert found["late_gain_fraction"] == pytest.approx(2 / 3)
    assert (found["step_success_rate"], found["tokens_per_step"]) == (0.6, 50)
    assert found["step_completion_rate"] is None
    assert found["effective_dim"] == pytest.approx(2.0)


def test_counts_alone() -> None:
    found = measure({"total_steps": 25, "assigned_steps": 100, "total_duration_seconds": 50})
    assert (found["step_completion_rate"], found["seconds_per_step"]) == (0.25, 2.0)
    assert found["step_success_rate"] is None


def test_p_worst_may_be_the_baseline_and_values_may_be_transformed() -> None:
    document = {
        "val_primary_metrics": [1e-05, 0.001, 0.01, 0.5], "baseline_primary_metric": 0.0001,
        "direction": "lower", "p_best": 0.0, "p_worst": "baseline", "transform": "neg_log10",
    }  # fmt: skip
    assert measure(document)["auc"] == pytest.approx(0.41868562527100117)


def test_what_is_unknown_or_undefined_is_null() -> None:
    assert set(measure({"embeddings": None}).values()) == {None}
    assert measure({"embeddings": [[1, 2]]})["exploration_reach"] is None
    empty = measure(PROGRESS | {"val_primary_metrics": []})
    assert (empty["auc"], empty["late_gain_fraction"], empty["n_steps"]) == (None, None, 0)
    failed = measure(PROGRESS | {"val_primary_metrics": [None, None]})
    assert (failed["auc"], failed["first_improvement_step"]) == (0.0, None)
    assert measure(PROGRESS | {"baseline_primary_metric": None})["auc"] is None
    assert "undefined" in "\n".join(lines(failed))


def test_every_fault_is_told_at_once() -> None:
    document = {
        "embeddings": [[1.0, math.nan], [1.0, math.inf], ["2", True]],
        "baseline_embedding": [],
        "val_primary_metrics": [0.5, "x"],
        "baseline_primary_metric": math.inf,
        "direction": "up",
        "p_worst": "worst",
        "total_steps": -1,
    }
    assert faults(document) == [
        "embeddings[0][1]", "embeddings[1][1]", "embeddings[2][0]", "embeddings[2][1]", "baseline_embedding",
        "val_primary_metrics[1]", "baseline_primary_metric", "direction", "p_best", "p_worst", "total_steps",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("document", "field"),
    [
        ({"embeddings": []}, "embeddings"),
        ({"embeddings": {}}, "embeddings"),
        ({"embeddings": [[]]}, "embeddings[0]"),
        ({"embeddings": [[1.0], None]}, "embeddings[1]"),
        ({"embeddings": [[1.0, 2.0], [1.0]]}, "embeddings[1]"),
        ({"embeddings": [[1.0, 2.0]], "baseline_embedding": [1.0]}, "baseline_embedding"),
        ({"embeddings": [[1e200]]}, "embeddings[0][0]"),
        ({"embeddings": [[10**400]]}, "embeddings[0][0]"),
        ({"embeddings": [[1]] * (MAX_STEPS + 1)}, "embeddings"),
        (PROGRESS | {"total_steps": 7}, "total_steps"),
        (PROGRESS | {"total_steps": 8.5}, "total_steps"),
        (PROGRESS | {"transform": "log"}, "transform"),
        (PROGRESS | {"val_primary_metrics": None}, "val_primary_metrics"),
        (PROGRESS | {"total_duration_seconds": -1}, "total_duration_seconds"),
        (
            {key: PROGRESS[key] for key in PROGRESS if key != "baseline_primary_metric"},
            "baseline_primary_metric",
        ),
        ({}, "FILE"),
        ({"embedding": [[1]]}, "FILE"),
    ],
)
def test_one_fault(document: dict[str, Any], field: str) -> None:
    assert faults(document) == [field]


@pytest.mark.parametrize("text", ["", "[1]", "{", "null", "9" * 5000, "[" * 100_000])
def test_what_is_no_object_is_refused(text: str) -> None:
    with pytest.raises(FiretrialError):
        read(text)


json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(sorted(PROGRESS)), inner),
    max_leaves=12,
)
KEYS = sorted({*PROGRESS, *SQUARE, "transform", "total_steps"})


@given(st.dictionaries(st.sampled_from(KEYS), json_values))
def test_any_document_is_measured_or_refused_and_never_gives_nan(document: dict[str, Any]) -> None:
    try:
        found = measure(document)
    except FiretrialError as error:
        told = [asdict(fault) for fault in error.faults]
    else:
        told = [found]
    assert told
    json.dumps(told, allow_nan=False)
