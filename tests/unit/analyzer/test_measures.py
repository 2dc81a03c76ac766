"""Experiments whose tasks are measured by different things: no mean mixes them."""

from __future__ import annotations

import pytest

from firetrial_analyzer import columns, table
from firetrial_analyzer.analysis import AnalysedRun
from firetrial_analyzer.compose import build
from firetrial_analyzer.outcomes import Outcome, RunOutcome
from firetrial_analyzer.report import Experiment
from firetrial_analyzer.scores import aggregate, main_measure
from firetrial_kit.errors import FiretrialError

IMPROVEMENT = "normalized_improvement"


def run(
    task: str, agent: str, repeat: int, value: float | None, end: Outcome = Outcome.SCORED,
    *, measure: str = IMPROVEMENT,
) -> RunOutcome:  # fmt: skip
    f1 = value if measure == "f1" else None
    other = None if measure == "f1" else value
    return RunOutcome(
        f"r-{task}-{agent}-{repeat}", "e-1", task, agent, repeat, 1, end, f1, f1, f1,
        measure=measure, value=other,
    )  # fmt: skip


MIXED = [
    run("read", "a", 1, 0.5, measure="f1"),
    run("read", "a", 2, None, Outcome.AGENT_FAILED, measure="f1"),
    run("repo", "a", 1, 1.4),
    run("repo", "a", 2, None, Outcome.AGENT_FAILED),
    run("repo", "a", 3, None, Outcome.INFRA_FAILED, measure="f1"),
    run("repo", "b", 1, 0.2),
    run("ideas", "b", 1, 1.0, measure="validity"),
]


def test_means_are_by_measure() -> None:
    report = build(Experiment("e-1", (), len(MIXED)), [AnalysedRun(one) for one in MIXED])
    assert report.measure == "f1"
    agents = {agent.agent: agent.score for agent in report.agents}
    means = {(agent, one.measure): one.mean.mean for agent, score in agents.items() for one in score.measures}
    # 1.4 and a failure that counts as 0; what infrastructure failed does not count.
    assert means["a", IMPROVEMENT] == pytest.approx(0.7)
    assert means["a", "f1"] == pytest.approx(0.25)
    assert means["b", "validity"] == 1.0
    assert agents["a"].f1.mean == agents["a"].main.mean == pytest.approx(0.25)
    assert (agents["a"].f1.counted, agents["a"].f1.total) == (2, 2)
    assert agents["b"].main.mean is None
    scores = {(score.task, score.agent): score for score in report.task_scores}
    assert scores["repo", "a"].measure == IMPROVEMENT
    assert (scores["repo", "a"].score.counted, scores["repo", "a"].score.total) == (2, 3)
    assert scores["repo", "a"].f1.mean is None


def test_the_table_and_the_runs_say_the_same() -> None:
    report = build(Experiment("e-1", (), len(MIXED)), [AnalysedRun(one) for one in MIXED])
    assert report.task_scores == aggregate(MIXED).tasks
    assert sorted((agent.score for agent in report.agents), key=lambda one: one.agent) == list(
        aggregate(MIXED).agents
    )


def test_agents_are_ranked_and_compared_by_what_there_is() -> None:
    """Without a task of claims, everything is by the measure of the tasks."""
    runs = [run(task, agent, 1, value) for task in ("x", "y") for agent, value in (("a", 0.1), ("b", 0.4))]
    report = build(Experiment("e-1", (), 4), [AnalysedRun(one) for one in runs])
    assert report.measure == IMPROVEMENT
    assert [agent.agent for agent in report.agents] == ["b", "a"]
    (pair,) = report.comparisons
    assert abs(pair.difference or 0) == pytest.approx(0.3)
    assert [point.score for point in report.agents[0].points] == [0.4, 0.4]


def test_a_failure_that_nobody_looked_into_is_of_its_task() -> None:
    """It tells F1 for want of another measure, and is a 0 of the task's own."""
    rows = columns.frame(
        [
            columns.row(AnalysedRun(one))
            for one in (
                run("repo", "a", 1, 0.6),
                run("repo", "a", 2, None, Outcome.AGENT_FAILED, measure="f1"),
            )
        ]
    )
    ended = table.latest(table.attempts(rows))
    assert table.samples(ended, IMPROVEMENT) == {"a": {"repo": [0.6, 0.0]}}
    assert table.samples(ended) == {}


def test_rows_of_earlier_versions_are_measured_by_f1() -> None:
    (old,) = columns.frame([columns.row(AnalysedRun(run("read", "a", 1, 0.5, measure="f1")))]).iter_rows(
        named=True
    )
    told = columns.outcome({**old, "measure": None, "score": None})
    assert (told.measure, told.worth) == ("f1", 0.5)


@pytest.mark.parametrize("value", [-0.1, float("nan"), float("inf")])
def test_scores_that_cannot_be(value: float) -> None:
    with pytest.raises(FiretrialError, match="a finite score of at least 0"):
        aggregate([run("repo", "a", 1, value)])


def test_the_main_measure() -> None:
    assert main_measure([]) == "f1"
    assert main_measure([IMPROVEMENT, "f1", IMPROVEMENT]) == "f1"
    assert main_measure(["validity", IMPROVEMENT, IMPROVEMENT]) == IMPROVEMENT
    assert main_measure(["validity", IMPROVEMENT]) == IMPROVEMENT
