import json
from collections.abc import Iterator

import pytest

from firetrial_analyzer.embedding import HashedEmbedder
from firetrial_analyzer.run_process import MAX_SNAPSHOTS, RunProcess, Watching
from firetrial_analyzer.taxonomy.steps import Step, StepKind

RECORD = {
    "val_primary_metrics": [0.4, None, 0.6, 0.55, 0.75],
    "baseline_primary_metric": 0.5,
    "direction": "higher",
    "p_best": 1.0,
    "p_worst": 0.0,
    "assigned_steps": 8,
}


def watched(
    steps: Iterator[Step] | list[Step], tokens: int | None = None, seconds: float | None = None
) -> RunProcess:
    watching = Watching(HashedEmbedder())
    for step in steps:
        watching.step(step)
    return watching.result(tokens, seconds)


def command(n: int, text: str, code: int = 0) -> Step:
    return Step(n, n, n, "", text, StepKind.COMMAND, {"call": f"c{n}", "exit_code": code})


def out(n: int, text: str, call: int) -> Step:
    return Step(n, n, n, "stdout", text, StepKind.OUTPUT, {"call": f"c{call}"})


def edit(n: int, path: str, text: str) -> Step:
    return Step(n, n, n, "", text, StepKind.EDIT, {"path": path})


def test_commands_edits_and_a_record_of_steps() -> None:
    found = watched(
        [
            edit(1, "a.py", "x = train(lr=0.1)\nprint(x)"),
            command(2, "python a.py"),
            edit(3, "a.py", "y = evaluate(split='test')\nplot(y, colour='red')"),
            command(4, "python a.py", 1),
            command(5, "python b.py"),
            out(6, "Traceback (most recent call last)", 5),
            command(7, "python a.py"),
            out(8, json.dumps(RECORD), 7),
        ],
        tokens=1000,
        seconds=20.0,
    )
    assert (found.steps, found.snapshots) == (4, 2)
    assert found.rates.step_success_rate == 0.5
    assert found.rates.step_completion_rate == 0.5
    assert (found.rates.tokens_per_step, found.rates.seconds_per_step) == (250, 5)
    assert found.exploration.exploration_uniqueness == 1
    assert found.exploration.exploration_reach == pytest.approx(1.4, abs=0.3)
    assert found.best_so_far == (0.5, 0.5, 0.6, 0.6, 0.75)
    assert found.first_improvement_step == 3
    assert found.late_gain_fraction == pytest.approx(1.0)
    assert found.auc == pytest.approx((0 + 0 + 0.1 + 0.1 + 0.25) / 5)
    assert found.embedder == "hashed-tokens/1"


def test_a_run_that_did_nothing_has_nothing() -> None:
    found = watched([], tokens=10)
    assert (found.steps, found.snapshots, found.best_so_far) == (0, 0, ())
    assert found.rates.step_success_rate is None
    assert found.exploration.exploration_spread is None


def test_less_is_better_and_the_last_record_counts() -> None:
    record = RECORD | {"direction": "lower", "val_primary_metrics": [0.6, 0.4, 0.45]}
    found = watched([command(1, "python a.py"), out(2, json.dumps(RECORD), 1), out(3, json.dumps(record), 1)])
    assert found.best_so_far == (0.5, 0.4, 0.4)


@pytest.mark.parametrize(
    "line",
    ['{"val_primary_metrics": "x"}', '{"val_primary_metrics": [NaN]}', "val_primary_metrics", "[" * 10**5,
     '{"val_primary_metrics": [1], "direction": "sideways"}', '{"val_primary_metrics": [1, "a"]}'],
)  # fmt: skip
def test_a_record_that_is_none(line: str) -> None:
    found = watched([command(1, "python a.py"), out(2, line, 1)])
    assert (found.best_so_far, found.auc, found.steps) == ((), None, 1)


def test_many_edits_are_thinned_out() -> None:
    found = watched(edit(n, "a.py", f"x = {n}") for n in range(1, 2 * MAX_SNAPSHOTS + 100))
    assert found.snapshots == 2 * MAX_SNAPSHOTS + 99
    assert found.exploration.exploration_uniqueness is not None


def test_the_same_run_gives_the_same() -> None:
    steps = [edit(1, "a.py", "x = 1"), command(2, "python a.py"), edit(3, "b.py", "y = 2")]
    assert watched(steps) == watched(steps)
