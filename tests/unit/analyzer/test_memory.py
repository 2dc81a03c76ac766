from __future__ import annotations

from collections.abc import Sequence
from datetime import date

import pytest

from firetrial_analyzer.contamination import Verdict
from firetrial_analyzer.cutoffs import Cutoff, published
from firetrial_analyzer.memory import Memory, Origin, cutoff_of, difficulty, memory
from firetrial_analyzer.scores import TaskScore, mean_of

CUTOFFS = {name: Cutoff(name, date(2024, 9, 30), "own") for name in ("gpt-5", "o4-mini")}
OLD, NEW = published("2023-05"), published("2025-05")


def score(task: str, agent: str, *values: float | None) -> TaskScore:
    none = mean_of([])
    return TaskScore(task, agent, none, none, mean_of(values), mean_of(values), "f1")


def found(
    scores: Sequence[TaskScore], tasks: dict[str, Origin], *, model: str = "gpt-5", probe: str = ""
) -> Memory:
    return memory(scores, tasks, model=model, cutoffs=CUTOFFS, probe=probe)


@pytest.mark.parametrize(
    ("axes", "name"),
    [
        ((1, 1, 1), "easy"), ((1, 1, 2), "easy"), ((2, 2, 1), "medium"), ((2, 2, 2), "medium"),
        ((3, 2, 2), "hard"), ((3, 3, 3), "hard"), ((), "unrated"), ((0, 0, 0), "unrated"),
        ((4, 1, 1), "unrated"),
    ],
)  # fmt: skip
def test_difficulty_is_the_sum_of_its_axes(axes: tuple[int, ...], name: str) -> None:
    assert difficulty(axes) == name


@pytest.mark.parametrize(
    ("model", "day"),
    [
        ("gpt-5", date(2024, 9, 30)), ("openai/GPT-5", date(2024, 9, 30)),
        ("gpt-5-2025-08-07", date(2024, 9, 30)), ("gpt-5@20250807", date(2024, 9, 30)),
        ("gpt-5:latest", date(2024, 9, 30)), ("gpt-5-mini", None), ("gpt-50", None), ("", None),
    ],
)  # fmt: skip
def test_a_dated_name_has_the_cutoff_of_its_model(model: str, day: date | None) -> None:
    assert cutoff_of(model, CUTOFFS) == day


def test_an_agent_that_is_better_on_old_tasks_is_a_signal() -> None:
    tasks = {f"old{n}": Origin("easy", OLD) for n in range(8)} | {
        f"new{n}": Origin("easy", NEW) for n in range(8)
    }
    scores = [score(task, "a", 0.9 - 0.01 * n if task.startswith("old") else 0.2 + 0.01 * n)
              for n, task in enumerate(tasks)]  # fmt: skip
    (agent,) = found(scores, tasks).agents
    assert agent.cutoff == date(2024, 9, 30)
    assert agent.finding.verdict is Verdict.SIGNAL
    (stratum,) = agent.finding.strata
    assert (stratum.difficulty, stratum.before.n, stratum.after.n) == ("easy", 8, 8)


def test_without_a_cutoff_or_a_date_no_side_is_guessed() -> None:
    tasks = {"t1": Origin("easy", OLD), "t2": Origin("hard")}
    scores = [score("t1", "a", 0.5), score("t2", "a", 0.4), score("t3", "a", 0.3), score("t4", "a", None)]
    (known,) = found(scores, tasks).agents
    assert (known.finding.unclear, known.finding.verdict) == (2, Verdict.TOO_FEW_DATA)
    (unknown,) = found(scores, tasks, model="o9").agents
    assert (unknown.cutoff, unknown.finding.unclear) == (None, 3)


def test_the_probe_stands_beside_the_others_and_is_no_agent_of_its_own() -> None:
    scores = [
        score("t1", "a", 0.8, 0.6), score("t1", "probe", 0.3),
        score("t2", "a", 0.5), score("t2", "b", None), score("t2", "probe", None),
    ]  # fmt: skip
    both = found(scores, {}, probe="probe")
    assert [agent.agent for agent in both.agents] == ["a", "b"]
    first, second, third = both.probes
    assert (first.task, first.agent, first.probe_f1) == ("t1", "a", 0.3)
    assert first.agent_f1 == pytest.approx(0.7)
    assert (first.agent_runs, first.probe_runs) == (2, 1)
    assert first.gain == pytest.approx(0.4)
    assert second.gain is third.gain is None


def test_without_a_probe_there_is_nothing_beside() -> None:
    assert found([score("t1", "a", 0.8)], {}).probes == ()
