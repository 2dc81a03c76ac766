"""All cases of FML-bench's scorer through the path of real runs: recorded steps → judge → metrics → tables.

The steps lie in the store as a runner leaves them, the judge's own functions make a judgement of them and of
the end of the test, and the analyzer reads both. Only the vectors are given, as the reference gives them.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from firetrial.judge.v1 import judgement_pb2
from firetrial.parser.v1 import repository_pb2
from firetrial.runner.v1 import run_pb2
from firetrial_analyzer import columns, table
from firetrial_analyzer.analysis import AnalysedRun
from firetrial_analyzer.improvements import MEAN, Improvements, improvements
from firetrial_analyzer.kinds.repository import Metric, Spent
from firetrial_analyzer.kinds.repository_runs import RepositoryRuns
from firetrial_analyzer.kinds.repository_wire import sealed_to_domain
from firetrial_analyzer.outcomes import Outcome, RunOutcome, Usage
from firetrial_analyzer.process import Matrix, progress
from firetrial_judge.kinds.improving import TrialEnd, result
from firetrial_judge.kinds.repository_wire import judgement_of, scale_to_domain, steps_to_domain
from firetrial_kit.improvement import Direction
from firetrial_kit.testing import InMemoryObjects
from unit.analyzer.kinds.repository_store import put_steps, put_task, step

pytestmark = pytest.mark.needs("shared")
AGENT = "aide@1"
WHY = {"no_final_test": "no_final_test_dir", "bug_test": "bug_test", "constraint": "constraint_violated"}
FAILED = "all_val_failed"


class Given:
    """An embedder that knows the vectors of the reference, by the text of the code."""

    name = "given/1"

    def __init__(self) -> None:
        self.vectors: dict[str, Sequence[float]] = {}

    def embed(self, codes: Sequence[str]) -> Matrix:
        return np.array([self.vectors[code] for code in codes], dtype=np.float64)


@pytest.fixture(scope="module")
def fml(shared: Path) -> dict[str, Any]:
    return dict(json.loads((shared / "firebench" / "fml.json").read_text()))


def spec_of(task: Mapping[str, Any], baselines: Mapping[str, float]) -> repository_pb2.RepositorySpec:
    lower = task["direction_normalised"] == "lower"
    metric = repository_pb2.Metric(
        key=task["metric_key"],
        datasets=[task["dataset_key"]],
        direction=repository_pb2.Metric.DIRECTION_LOWER if lower else repository_pb2.Metric.DIRECTION_HIGHER,
        best=task["p_best"],
        worst=None if task["p_worst"] == "baseline" else task["p_worst"],
    )
    if task["direction_raw"] != task["direction_normalised"]:
        metric.transform = repository_pb2.Metric.TRANSFORM_NEGATIVE_LOG10
    return repository_pb2.RepositorySpec(
        target_files=["model.py"],
        metric=metric,
        baseline_validation=baselines["val"],
        baseline_test=baselines["test"],
        has_test=True,
    )


def judged(
    spec: repository_pb2.RepositorySpec, lines: bytes, given: Mapping[str, Any]
) -> judgement_pb2.Judgement:
    """What the judge makes of the run's steps and of how its test ended."""
    scale = scale_to_domain(spec)
    measured = json.dumps({scale.datasets[0]: {"means": {scale.key: given["test_metric_written"]}}}).encode()
    end = TrialEnd(scale.of(measured), WHY.get(given["mode"], ""))
    made = result(scale, steps_to_domain(lines), None if given["mode"] == FAILED else end)
    return judgement_of(run_pb2.Run(id="r-1"), "j-1", made, datetime(2026, 1, 5, tzinfo=UTC))


async def analysed(
    objects: InMemoryObjects,
    task: Mapping[str, Any],
    given: Mapping[str, Any],
    baselines: Mapping[str, float],
) -> AnalysedRun:
    name, summary, embedder = task["task"], given["summary"], Given()
    texts = [f"step {n}" for n in range(1, len(given["embeddings"]) + 1)]
    embedder.vectors = dict(
        zip([*texts, "pinned"], [*given["embeddings"], given["baseline_embedding"]], strict=True)
    )
    spec = spec_of(task, baselines)
    steps = [
        step(told["step_id"], told["primary_metric"] if told["val_result"]["success"] else None, text)
        for told, text in zip(summary["val_steps"], texts, strict=True)
    ]
    # The scorer counts steps that were never validated; here those are the void ones.
    steps += [step(n, None, void=True) for n in range(len(steps) + 1, summary["total_steps"] + 1)]
    await put_task(objects, name, spec, {"model.py": "pinned"})
    lines = await put_steps(objects, f"r-{name}", steps, texts)
    judgement = judged(spec, lines, given)
    runs = RepositoryRuns(objects, embedder)
    known = await runs.known(name)
    assert known is not None
    usage = Usage(summary["total_duration_seconds"], tokens=summary["token_usage"]["total_tokens"])
    run = RunOutcome(
        f"r-{name}", "e-1", name, AGENT, 1, 1, Outcome.SCORED, usage=usage, measure=judgement.scores.measure,
        value=judgement.scores.score,
    )  # fmt: skip
    sealed = sealed_to_domain(judgement.sealed)
    spent = Spent(usage.tokens, usage.wall_seconds)
    return AnalysedRun(run, improvement=await runs.improvement(known, run.run_id, sealed, spent))


async def all_rows(fml: Mapping[str, Any]) -> list[columns.Row]:
    case, objects = fml["reference_cases"]["case4_full_cli"], InMemoryObjects()
    baselines = case["baselines_val_test"]
    return [
        columns.row(await analysed(objects, task, case["input"][task["task"]], baselines[task["task"]]))
        for task in fml["tasks"]
    ]


@pytest.fixture(scope="module")
def tables(fml: dict[str, Any]) -> Improvements:
    found = improvements(table.latest(table.attempts(columns.frame(asyncio.run(all_rows(fml))))))
    assert found is not None
    return found


def compared(found: Sequence[Mapping[str, Any]], expected: Mapping[str, Mapping[str, Any]]) -> int:
    """How many cells were held against the reference."""
    by_task = {row["task"]: row for row in found}
    assert by_task.keys() == expected.keys()
    cells = 0
    for task, figures in expected.items():
        for column, figure in figures.items():
            if column == "note" and task == MEAN:
                continue  # words
            told = by_task[task][column]
            wanted = "all_val_failed->baseline" if told == "no valid step->baseline" else told
            assert (wanted if column == "note" else told) == pytest.approx(figure, abs=1e-6), (task, column)
            cells += 1
    return cells


def test_raw_performance(fml: dict[str, Any], tables: Improvements) -> None:
    expected = fml["reference_cases"]["case4_full_cli"]["output"]["table_raw_performance"]
    assert compared(tables.table_raw_performance, expected) == 18 * 5 + 4


def test_normalized_improvement(fml: dict[str, Any], tables: Improvements) -> None:
    expected = fml["reference_cases"]["case4_full_cli"]["output"]["table_normalized_improvement"]
    assert compared(tables.table_normalized_improvement, expected) == 19


def test_process_metrics(fml: dict[str, Any], tables: Improvements) -> None:
    expected = fml["reference_cases"]["case4_full_cli"]["output"]["table_process_metrics"]
    assert compared(tables.table_process_metrics, expected) == 19 * 12


def test_the_curves_of_steps(fml: dict[str, Any]) -> None:
    by_name = {task["task"]: task for task in fml["tasks"]}
    for case in fml["reference_cases"]["case3_auc"]:
        given, expected = case["input"], case["output"]
        task = by_name[given["task"]]
        logarithmic = task["direction_raw"] != task["direction_normalised"]
        metric = Metric(
            "m", Direction(task["direction_normalised"]), task["p_best"], task["p_worst"], logarithmic
        )
        values = [metric.shown(value) for value in given["val_primary_metrics"]]
        baseline = metric.shown(given["baseline_primary_metric"])
        found = progress(values, baseline, metric.direction, metric.best, metric.worst)
        if expected is None:
            assert found.auc is None
            continue
        assert found.auc == pytest.approx(expected["auc"], abs=1e-12)
        assert found.improvement_curve == pytest.approx(expected["improvement_curve"], abs=1e-12)
        assert (found.n_valid, found.step_of_best) == (expected["n_valid"], expected["step_of_best"])


def test_values_as_they_are_compared(fml: dict[str, Any]) -> None:
    for case in fml["reference_cases"]["case2b_display_transform"]:
        logarithmic = case["input"]["task"].startswith("Unlearning")
        metric = Metric("m", Direction.LOWER, 0.0, "baseline", logarithmic)
        assert metric.shown(case["input"]["value"]) == case["output"]
