"""The process metrics against FML-bench's own figures, and against what must hold for any input."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from firetrial_analyzer.process import SAME_IDEA, Exploration, Matrix, exploration, progress
from firetrial_analyzer.process_steps import StepCounts, credited_test, step_rates, val_test_gap
from firetrial_kit.improvement import Direction, neg_log10, normalized_improvement, primary_metric

NAMES = {
    "Exploration Spread": "exploration_spread",
    "Exploration Uniqueness": "exploration_uniqueness",
    "Exploration Reach": "exploration_reach",
    "Effective dim": "effective_dim",
}
HIGHER, LOWER = Direction.HIGHER, Direction.LOWER


@pytest.fixture(scope="module")
def fml(shared: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((shared / "firebench" / "fml.json").read_text())
    return found


def matrix(rows: list[list[float]]) -> Matrix:
    return np.array(rows, dtype=np.float64)


def explored(given: dict[str, Any] | None) -> Exploration:
    if given is None:
        return exploration(None, None)
    return exploration(matrix(given["embeddings"]), np.array(given["baseline_embedding"], dtype=np.float64))


def near(found: float | None, expected: float | None, tolerance: float = 1e-6) -> bool:
    if found is None or expected is None:
        return found is expected
    return abs(found - expected) <= tolerance * max(1.0, abs(expected))


@pytest.mark.needs("shared")
def test_exploration_of_the_reference_cases(fml: dict[str, Any]) -> None:
    cases = fml["reference_cases"]["case1_exploration"]
    assert len(cases) == 8
    for case in cases:
        found = explored(case["input"])
        for name, value in case["output"].items():
            assert near(getattr(found, NAMES[name]), value), (case["name"], name)


@pytest.mark.needs("shared")
def test_improvement_and_transform_of_the_reference_cases(fml: dict[str, Any]) -> None:
    for case in fml["reference_cases"]["case2_normalized_improvement"]:
        given = case["input"]
        found = normalized_improvement(
            given["p_agent"], given["p_baseline"], Direction(given["direction"]),
            given["p_best"], given["p_worst"],
        )  # fmt: skip
        assert near(found, case["output"]), given
    for case in fml["reference_cases"]["case2b_display_transform"]:
        value = case["input"]["value"]
        found = neg_log10(value) if "Unlearning" in case["input"]["task"] else value
        assert near(found, case["output"]), case


class Scale:
    """How one of FML-bench's tasks is scored."""

    def __init__(self, tasks: list[dict[str, Any]], name: str) -> None:
        task = next(task for task in tasks if task["task"] == name)
        self.ends = (Direction(task["direction_normalised"]), task["p_best"], task["p_worst"])
        self.flipped = task["direction_raw"] != task["direction_normalised"]
        self.raw_direction = Direction(task["direction_raw"])

    def see(self, value: float | None) -> float | None:
        return neg_log10(value) if self.flipped else value


@pytest.mark.needs("shared")
def test_progress_of_the_reference_cases(fml: dict[str, Any]) -> None:
    cases = fml["reference_cases"]["case3_auc"]
    assert len(cases) == 6
    for case in cases:
        given, scale = case["input"], Scale(fml["tasks"], case["input"]["task"])
        metrics = [scale.see(value) for value in given["val_primary_metrics"]]
        found = progress(metrics, scale.see(given["baseline_primary_metric"]), *scale.ends)
        if case["output"] is None:
            assert (found.auc, found.improvement_curve, found.late_gain_fraction) == (None, None, None)
            continue
        assert found.improvement_curve == pytest.approx(case["output"]["improvement_curve"], abs=1e-9)
        assert near(found.auc, case["output"]["auc"])
        assert (found.n_steps, found.n_valid) == (case["output"]["K"], case["output"]["n_valid"])
        assert found.step_of_best == case["output"]["step_of_best"]
        assert found.first_improvement_step == case["derived"]["first_improvement_step"]
        assert near(found.late_gain_fraction, case["derived"]["late_gain_fraction"])


@pytest.mark.needs("shared")
def test_all_eighteen_tasks_as_the_official_scorer_prints_them(fml: dict[str, Any]) -> None:
    reference = fml["reference_cases"]["case4_full_cli"]
    tables, compared = reference["output"], 0
    sums: dict[str, list[float]] = {}
    for name, run in reference["input"].items():
        row, raw, improvement = _official_row(fml, name, run)
        assert near(raw, tables["table_raw_performance"][name]["raw_test"]), name
        assert near(improvement, tables["table_normalized_improvement"][name]["Normalized Improvement"]), name
        for column, value in tables["table_process_metrics"][name].items():
            assert near(row[column], value), (name, column)
            compared += 1
            if row[column] is not None:
                sums.setdefault(column, []).append(float(row[column]))
    assert compared == 18 * 12
    for column, values in sums.items():
        mean = tables["table_process_metrics"]["MEAN"][column]
        assert near(sum(values) / len(values), mean), column


def _official_row(fml: dict[str, Any], name: str, run: dict[str, Any]) -> tuple[dict[str, Any], Any, Any]:
    scale, summary = Scale(fml["tasks"], name), run["summary"]
    baselines = fml["reference_cases"]["case4_full_cli"]["baselines_val_test"][name]
    raw = [step["primary_metric"] for step in summary["val_steps"]]
    valid = sum(step["val_result"]["success"] for step in summary["val_steps"])
    found = progress(
        [scale.see(value) for value in raw], scale.see(summary["baseline_primary_metric"]), *scale.ends
    )
    best = progress(raw, None, scale.raw_direction, 0.0, 1.0).best_improvement_step
    test = scale.see(
        credited_test(
            None if run["mode"] == "no_final_test" else run["test_metric_written"], baselines["test"],
            all_steps_failed=valid == 0, bug=run["mode"] == "bug_test",
            constraint_violated=run["mode"] == "constraint",
        )
    )  # fmt: skip
    improvement = normalized_improvement(test, scale.see(baselines["test"]), *scale.ends)
    val = summary["best_val_metric"] if valid else baselines["val"]
    val_improvement = normalized_improvement(scale.see(val), scale.see(baselines["val"]), *scale.ends)
    rates = step_rates(
        StepCounts(
            summary["total_steps"], valid, None,
            summary["token_usage"]["total_tokens"], summary["total_duration_seconds"],
        )
    )  # fmt: skip
    measured = explored(run)
    row = {column: getattr(measured, field) for column, field in NAMES.items()} | {
        "Val-test |gap|": val_test_gap(val_improvement, improvement),
        "Valid step ratio": rates.step_success_rate,
        "AUC-over-steps": found.auc,
        "First-improvement step": found.first_improvement_step,
        "Late-gain fraction": found.late_gain_fraction,
        "Best-improvement step": best,
        "Token cost (M)": rates.token_cost_millions,
        "Wall-clock time (h)": rates.wall_clock_hours,
    }
    return row, test, improvement


@pytest.mark.needs("shared")
def test_primary_metric_of_the_reference_cases(fml: dict[str, Any]) -> None:
    for case in fml["reference_cases"]["case5_extract_primary_metric"]:
        given = case["input"]
        found = primary_metric(given["results"], given["metric"], given["include_datasets"])
        assert near(found, case["output"]), given


def test_equal_vectors_have_no_dimension_however_their_mean_rounds() -> None:
    found = exploration(matrix([[0.1, 0.7, -1.3]] * 3), None)
    assert found == Exploration(0.0, 1 / 3, None, 0.0)


def test_ideas_are_merged_only_below_the_threshold() -> None:
    def at(distance: float) -> list[float]:
        return [1 - distance, float(np.sqrt(1 - (1 - distance) ** 2))]

    base = [1.0, 0.0]
    below, above = (
        exploration(matrix([base, at(0.0149)]), None),
        exploration(matrix([base, at(0.0151)]), None),
    )
    assert (below.exploration_uniqueness, above.exploration_uniqueness) == (0.5, 1.0)


def test_vectors_without_a_direction_are_one_idea_together() -> None:
    found = exploration(matrix([[0, 0], [0, 1e-9], [1, 0], [0, 1]]), None)
    assert found.exploration_uniqueness == 3 / 4
    assert exploration(matrix([[0, 0], [0, 0]]), None).exploration_uniqueness == 1 / 2


def greedy_clusters(vectors: Matrix) -> int:
    """Average linkage written down as it is defined, in O(n^3)."""
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    distance = 1 - unit @ unit.T
    groups = [[n] for n in range(len(vectors))]
    while len(groups) > 1:
        pairs = [(i, j) for i in range(len(groups)) for j in range(i)]
        gaps = [float(distance[np.ix_(groups[i], groups[j])].mean()) for i, j in pairs]
        nearest = int(np.argmin(gaps))
        if gaps[nearest] >= SAME_IDEA:
            break
        i, j = pairs[nearest]
        groups[j] += groups.pop(i)
    return len(groups)


@given(st.integers(2, 24), st.integers(0, 10_000), st.floats(0.01, 0.5))
def test_chains_find_the_clusters_of_the_greedy_method(count: int, seed: int, noise: float) -> None:
    random = np.random.default_rng(seed)
    centres = random.normal(size=(4, 5))
    vectors = centres[random.integers(0, 4, count)] + noise * random.normal(size=(count, 5))
    assert exploration(vectors, None).exploration_uniqueness == greedy_clusters(vectors) / count


@given(arrays(np.float64, st.tuples(st.integers(1, 12), st.integers(1, 6)), elements=st.floats(-1e6, 1e6)))
def test_exploration_is_within_its_ranges_and_blind_to_order(vectors: Matrix) -> None:
    found, turned = exploration(vectors, vectors[0]), exploration(vectors[::-1], vectors[0])
    assert found.exploration_spread is not None
    assert found.exploration_uniqueness is not None
    assert found.effective_dim is not None
    assert found.exploration_spread >= 0
    assert 1 / len(vectors) <= found.exploration_uniqueness <= 1
    assert 0 <= found.effective_dim <= min(vectors.shape) + 1e-9
    assert found.exploration_spread == pytest.approx(turned.exploration_spread, rel=1e-9, abs=1e-9)


metric = st.one_of(st.none(), st.floats(-10, 10))


@given(st.lists(metric, max_size=20), st.floats(-10, 10), st.sampled_from(Direction))
def test_the_best_so_far_never_falls(
    metrics: list[float | None], baseline: float, direction: Direction
) -> None:
    found = progress(metrics, baseline, direction, 20.0, -20.0)
    curve = found.improvement_curve
    if not metrics:
        assert (curve, found.auc, found.step_of_best) == (None, None, None)
        return
    assert curve is not None
    assert found.auc is not None
    assert all(later >= earlier >= 0 for earlier, later in pairwise(curve))
    assert 0 <= found.auc <= curve[-1] + 1e-12
    assert (found.first_improvement_step is None) == (curve[-1] <= 1e-15)
    assert found.late_gain_fraction is None or 0 <= found.late_gain_fraction <= 1


def test_what_is_undefined_is_none() -> None:
    assert progress([0.5], 0.0, LOWER, 0.0, "baseline").auc is None, "best and baseline are one"
    assert progress([0.5], None, HIGHER, 1.0, 0.0).auc is None
    assert progress([None], 0.2, HIGHER, 1.0, 0.0).best_improvement_step is None
    assert step_rates(StepCounts(0, 0, 0)).step_success_rate is None
    assert step_rates(StepCounts(4, 3, 10, 1000, 8.0)).step_completion_rate == 0.4
    assert step_rates(StepCounts(4, 3, 10, 1000, 8.0)).seconds_per_step == 2.0
    assert val_test_gap(None, 0.1) is None


def test_a_single_step_has_no_late_gain_and_the_last_of_equal_bests_is_named() -> None:
    assert progress([0.9], 0.5, HIGHER, 1.0, 0.0).late_gain_fraction == 0.0
    found = progress([0.6, 0.9, 0.9, 0.7], 0.5, HIGHER, 1.0, 0.0)
    assert (found.step_of_best, found.best_improvement_step) == (2, 3)
