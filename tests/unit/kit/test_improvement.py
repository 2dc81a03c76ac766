"""Improvements and results files against FML-bench's own figures, and for hostile files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firetrial_kit.improvement import Direction, neg_log10, normalized_improvement, number, primary_metric


@pytest.fixture(scope="module")
def cases(shared: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((shared / "firebench" / "fml.json").read_text())["reference_cases"]
    return found


def near(found: float | None, expected: float | None) -> bool:
    return found is expected if found is None or expected is None else abs(found - expected) <= 1e-6


@pytest.mark.needs("shared")
def test_the_reference_cases(cases: dict[str, Any]) -> None:
    assert len(cases["case2_normalized_improvement"]) == 8
    for case in cases["case2_normalized_improvement"]:
        told = case["input"]
        ends = (Direction(told["direction"]), told["p_best"], told["p_worst"])
        assert near(normalized_improvement(told["p_agent"], told["p_baseline"], *ends), case["output"]), told
    for case in cases["case2b_display_transform"]:
        value = case["input"]["value"]
        found = neg_log10(value) if "Unlearning" in case["input"]["task"] else value
        assert near(found, case["output"]), case
    for case in cases["case5_extract_primary_metric"]:
        told = case["input"]
        found = primary_metric(told["results"], told["metric"], told["include_datasets"])
        assert near(found, case["output"]), case


@pytest.mark.parametrize("value", [True, None, "1", [1], float("nan"), float("inf"), 10**400, {}])
def test_what_is_no_finite_number_is_no_metric(value: object) -> None:
    assert number(value) is None
    assert primary_metric({"d": {"means": {"m": value}}, "m": value}, "m") is None


json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["means", "m", "d"]), inner),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(["m", "d", "e"]), json_values))
def test_no_results_file_breaks_the_reader(results: dict[str, object]) -> None:
    found = primary_metric(results, "m")
    assert found is None or number(found) == found


def test_figures_beyond_all_measure_are_none() -> None:
    assert [number(value) for value in (1e100, -1e100, 1.1e100, float("inf"), 10**400)] == [
        1e100, -1e100, None, None, None
    ]  # fmt: skip
    told = {name: {"means": {"m": 1.7e308}} for name in "ab"}
    assert primary_metric(told, "m") is None, "whose sum is no floating-point number"
    assert normalized_improvement(1e100, 0.0, Direction.HIGHER, 1e-300, 0.0) is None
