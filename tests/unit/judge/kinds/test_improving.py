"""Improvements in the sealed test, against FML-bench's own tables and by each of its credit rules."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firetrial_judge.kinds.improving import Scale, Step, TrialEnd, best, result
from firetrial_kit.improvement import Direction

LOWER = Scale("mae_mean", ("line",), Direction.LOWER, 0.0, "baseline", 4.0, 40.0)
P_VALUE = Scale("q", (), Direction.LOWER, 0.0, "baseline", 1e-4, 1e-6, negative_log10=True)


def step(number: int, metric: float | None, *findings: str) -> Step:
    return Step(number, metric, {"model.py": "ab"}, findings)


def scale_of(task: dict[str, Any], baselines: dict[str, float]) -> Scale:
    return Scale(
        task["metric_key"],
        (task["dataset_key"],),
        Direction(task["direction_normalised"]),
        task["p_best"],
        task["p_worst"],
        baselines["val"],
        baselines["test"],
        negative_log10="Unlearning" in task["task"],
    )


def ended(given: dict[str, Any], scale: Scale) -> TrialEnd | None:
    """The case's end of a test, as this judge is told of it."""
    mode, measured = given["mode"], given["test_metric_written"]
    if mode == "all_val_failed":
        return None
    if mode == "no_final_test":
        return TrialEnd(None, "the test left no results")
    dataset = {"means": {scale.key: measured}}
    value = scale.of(json.dumps({scale.datasets[0]: dataset}).encode())
    why = {"bug_test": "the test failed: it exited with 1", "constraint": "constraint violated: x"}
    return TrialEnd(value, why.get(mode, ""))


@pytest.mark.needs("shared")
def test_the_tables_of_the_reference_case(shared: Path) -> None:
    fml = json.loads((shared / "firebench" / "fml.json").read_text())
    case = fml["reference_cases"]["case4_full_cli"]
    tables, seen = case["output"], []
    for task in fml["tasks"]:
        name = task["task"]
        given, scale = case["input"][name], scale_of(task, case["baselines_val_test"][name])
        made = [
            step(told["step_id"], told["primary_metric"] if told["val_result"]["success"] else None)
            for told in given["summary"]["val_steps"]
        ]
        found = result(scale, made, ended(given, scale))
        expected = tables["table_normalized_improvement"][name]["Normalized Improvement"]
        assert found.test_improvement == pytest.approx(expected, abs=1e-6), name
        raw = tables["table_raw_performance"][name]["raw_test"]
        assert scale.seen(found.test) == pytest.approx(raw, rel=1e-6), name
        columns = tables["table_process_metrics"][name]
        assert found.validation_improvement is not None
        assert found.test_improvement is not None
        gap = abs(found.validation_improvement - found.test_improvement)
        assert gap == pytest.approx(columns["Val-test |gap|"], abs=1e-6), name
        assert (found.step or None) == columns["Best-improvement step"], name
        assert bool(found.no_credit) == (given["mode"] != "ok"), name
        seen.append(found.test_improvement)
    mean = tables["table_normalized_improvement"]["MEAN"]["Normalized Improvement"]
    assert sum(seen) / 18 == pytest.approx(mean, abs=1e-6)


@pytest.mark.parametrize(
    ("told", "why"),
    [
        (TrialEnd(None, "the test failed: timed out"), "the test failed: timed out"),
        (TrialEnd(None, "the test left no results"), "the test left no results"),
        (TrialEnd(None), "the test told no metric"),
        (TrialEnd(1.0, "constraint violated: x", ("x",)), "constraint violated: x"),
    ],
)
def test_what_may_not_count_is_held_at_the_baseline(told: TrialEnd, why: str) -> None:
    found = result(LOWER, [step(1, 1.0)], told)
    assert (found.test, found.test_improvement, found.no_credit) == (40.0, 0.0, why)
    assert (found.step, found.validation, found.validation_improvement) == (1, 1.0, 0.75)


def test_a_run_without_a_valid_step_scores_nothing_and_says_why() -> None:
    found = result(LOWER, [step(1, None, "the grader was changed"), step(2, None)], None)
    assert (found.step, found.validation, found.test, found.test_improvement) == (0, None, 40.0, 0.0)
    assert (found.validation_improvement, found.no_credit) == (0.0, "no valid step")
    assert found.findings == ("step 1: the grader was changed",)


def test_the_last_of_equals_is_the_best_and_what_is_worse_scores_0() -> None:
    steps = [step(1, 3.0), step(2, 1.0), step(3, None), step(4, 1.0), step(5, 2.0)]
    chosen = best(steps, LOWER)
    assert chosen is not None
    assert chosen.number == 4
    assert result(LOWER, steps, TrialEnd(50.0)).test_improvement == 0.0
    assert result(LOWER, steps, TrialEnd(-40.0)).test_improvement == 2.0


def test_a_transformed_metric_is_compared_as_it_is_transformed() -> None:
    steps = [step(1, 1e-3), step(2, 0.0), step(3, 1e-2), step(4, 1e-5)]
    chosen = best(steps, P_VALUE)
    assert chosen is not None
    assert chosen.number == 3
    assert result(P_VALUE, steps, TrialEnd(1e-3)).test_improvement == pytest.approx(0.5)
    assert P_VALUE.of(b'{"q": 0}') is None


@pytest.mark.parametrize("data", [b"", b"[]", b"{", b'{"q": "1"}', b"[" * 100_000, b'{"q": NaN}', b"\xff"])
def test_a_file_that_is_no_results_tells_no_metric(data: bytes) -> None:
    assert P_VALUE.of(data) is None


def test_a_figure_whose_improvement_is_beyond_all_numbers_is_none() -> None:
    near = Scale("m", (), Direction.HIGHER, 1e-250, 0.0, 0.0, 0.0)
    assert near.of(b'{"m": 1e99}') is None
    assert near.of(b'{"m": 1e-251}') == 1e-251


metrics = st.lists(st.none() | st.floats(-1e6, 1e6), max_size=12)


@given(metrics, st.sampled_from(Direction))
def test_no_valid_step_is_better_than_the_best(values: list[float | None], direction: Direction) -> None:
    scale = Scale("m", (), direction, 0.0, "baseline", 1.0, 1.0)
    chosen = best([step(number, value) for number, value in enumerate(values, 1)], scale)
    valid = [value for value in values if value is not None]
    assert (chosen is None) == (not valid)
    if chosen is not None and chosen.metric is not None:
        sign = 1 if direction is Direction.HIGHER else -1
        assert all(sign * value <= sign * chosen.metric for value in valid)
        assert chosen.number == max(n for n, value in enumerate(values, 1) if value == chosen.metric)
