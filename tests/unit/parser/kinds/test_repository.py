"""What a repository task may say."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from firetrial_kit.improvement import Direction
from firetrial_parser.kinds.repository import (
    Contents,
    Measuring,
    Metric,
    Repository,
    SealedTest,
    Setting,
    Split,
    Transform,
    content_faults,
    faults,
    is_plain,
)

METRIC = Metric("loss", ("tiny",), Direction.LOWER, 0.0, None, Transform.NONE, "results.json")
GOOD = Repository(
    origin="",
    commit="",
    targets=("model.py", "split.json"),
    protected=(),
    validation=Measuring(("python3", "validate.py")),
    metric=METRIC,
    baseline_validation=0.5,
    split=Split("split.json", (Setting("val_seed", 7, 0, 99, whole=True),)),
    test=SealedTest(Measuring(("python3", "test.py")), "results.json"),
)
FOUND = Contents({"model.py": "a", "split.json": "b", "validate.py": "c"}, {"test.py": "d"})


def told(*changed: Repository) -> list[str]:
    return [fault.field for one in changed for fault in faults(one)]


def test_a_good_one_has_no_faults() -> None:
    assert not told(GOOD)
    assert not list(content_faults(GOOD, FOUND))


def test_every_fault_is_told_at_once() -> None:
    bad = Repository(
        origin="",
        commit="",
        targets=("../model.py", "model.py", "model.py", "results.json"),
        protected=("model.py", "/etc/passwd"),
        validation=Measuring(("python3 validate.py && rm x",), outputs=("guesses.pkl",), seconds=-1),
        metric=Metric(" ", ("",), None, math.inf, math.nan, None, "../results.json"),
        baseline_validation=math.nan,
        split=Split("none.json", (Setting("", 3, 5, 1, whole=True), Setting("a", 0.5, 0, 1, whole=True))),
        max_steps=1001,
        environment="no name",
        recipe="x" * 70_000,
        test=SealedTest(Measuring((), score_command=("bash", "-lc", "score")), "results.json"),
    )
    assert set(told(bad)) == {
        "repository.target_files",
        "repository.protected_files",
        "repository.validation_command",
        "repository.outputs",
        "repository.time",
        "repository.metric.key",
        "repository.metric.datasets",
        "repository.metric.direction",
        "repository.metric.transform",
        "repository.metric.results_file",
        "repository.metric.best",
        "repository.metric.worst",
        "repository.baseline_validation",
        "repository.split.file",
        "repository.split.fields[]",
        "repository.split.fields[a]",
        "repository.max_steps",
        "repository.environment",
        "repository.recipe",
        "test.command",
        "test.score_command",
        "test.outputs",
    }


@pytest.mark.parametrize(
    "command",
    [("sh", "-c", "true"), ("/bin/bash", "-ec", "true"), ("a b",), ("",), ("python3", "\0"), ("x",) * 201],
)
def test_a_command_is_a_program_and_its_arguments(command: tuple[str, ...]) -> None:
    assert "repository.validation_command" in told(replace(GOOD, validation=Measuring(command)))


@pytest.mark.parametrize("command", [("sh", "run.sh"), ("python3", "-c", "print(1)"), ("./run me",) * 2])
def test_a_program_may_be_a_script(command: tuple[str, ...]) -> None:
    assert not told(replace(GOOD, validation=Measuring(command)))


@pytest.mark.parametrize(
    "path", ["", ".", "..", "/a", "a/../b", "a//b", "a/", "./a", "a\nb", "a\\b", "a" * 5000]
)
def test_paths_stay_below_the_source(path: str) -> None:
    assert not is_plain(path)
    assert "repository.target_files" in told(replace(GOOD, targets=("split.json", path)))


def test_a_value_without_a_logarithm_is_no_baseline() -> None:
    logs = replace(GOOD, metric=replace(METRIC, transform=Transform.NEGATIVE_LOG10), baseline_validation=0.0)
    assert told(logs) == ["repository.baseline_validation"]


def test_a_baseline_that_is_the_best_leaves_no_room() -> None:
    assert told(replace(GOOD, baseline_validation=0.0)) == ["repository.baseline_validation"]
    assert not told(replace(GOOD, metric=replace(METRIC, worst=1.0), baseline_validation=0.0))


def test_a_logarithm_turns_the_order_around() -> None:
    assert not METRIC.higher_is_better
    assert replace(METRIC, transform=Transform.NEGATIVE_LOG10).higher_is_better


def test_a_definition_may_lack_its_command_and_not_its_metric() -> None:
    lacking = replace(GOOD, validation=Measuring(()), metric=replace(METRIC, key=""), test=None)
    assert [fault.field for fault in faults(lacking, complete=False)] == ["repository.metric.key"]


@pytest.mark.parametrize(
    ("found", "field"),
    [
        (Contents({"model.py": "a"}, FOUND.files), "repository.target_files"),
        (Contents({**FOUND.source, "results.json": "e"}, FOUND.files), "source"),
        (Contents({**FOUND.source, "a": "e", "a/b": "f"}, FOUND.files), "source"),
        (Contents(FOUND.source, {}), "sealed"),
        (Contents(FOUND.source, {"model.py": "x"}), "sealed/files"),
        (Contents(FOUND.source, {"results.json": "x"}), "sealed/files"),
        (Contents(FOUND.source, {"labels.csv": "c"}), "sealed/files/labels.csv"),
        (Contents(FOUND.source, FOUND.files, {"labels.csv": "x"}), "sealed/score"),
    ],
)
def test_files_that_do_not_fit_what_is_said(found: Contents, field: str) -> None:
    assert [fault.field for fault in content_faults(GOOD, found)] == [field]


def test_sealed_files_without_a_test_are_refused() -> None:
    assert [fault.field for fault in content_faults(replace(GOOD, test=None), FOUND)] == ["sealed"]


def test_a_score_command_needs_what_it_scores_by() -> None:
    apart = SealedTest(Measuring(("predict",), ("score",), ("guesses.csv",)), "results.json")
    found = list(content_faults(replace(GOOD, test=apart), FOUND))
    assert [fault.field for fault in found] == ["sealed/score"]


def test_outputs_are_few_for_they_lie_in_memory() -> None:
    outputs = tuple(f"{number}.csv" for number in range(21))
    assert told(replace(GOOD, validation=Measuring(("x",), ("y",), outputs))) == ["repository.outputs"]


def test_no_label_lies_where_code_of_the_agent_runs() -> None:
    test = SealedTest(Measuring(("x",), ("y",), ("out.csv",)), "results.json")
    found = Contents(FOUND.source, {"in.csv": "1", "all.csv": "2"}, {"labels.csv": "2"})
    (fault,) = content_faults(replace(GOOD, test=test), found)
    assert (fault.field, fault.value) == ("sealed/score/labels.csv", "the same as sealed/files/all.csv")
