import json
import math
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firetrial_analyzer.outcomes import Outcome, RunOutcome, Slot, Usage
from firetrial_analyzer.scores import Mean, aggregate, mean_of
from firetrial_kit.errors import FiretrialError


def run(
    agent: str = "a",
    repeat: int = 0,
    outcome: Outcome = Outcome.SCORED,
    f1: float | None = 0.5,
    *,
    task: str = "t",
    attempt: int = 1,
    experiment: str = "e",
    usage: Usage | None = None,
) -> RunOutcome:
    scored = f1 if outcome is Outcome.SCORED else None
    run_id = f"{task}/{agent}/{repeat}/{attempt}"
    return RunOutcome(
        run_id, experiment, task, agent, repeat, attempt, outcome, scored, scored, scored, usage or Usage()
    )


def test_mean_and_population_std_over_repeats() -> None:
    scores = aggregate([run(repeat=0, f1=0.0), run(repeat=1, f1=1.0), run(repeat=2, f1=1.0)])
    (cell,) = scores.tasks
    assert cell.f1.mean == pytest.approx(2 / 3)
    assert cell.f1.std == pytest.approx(math.sqrt(2) / 3)  # 47.1 points; the sample form would give 57.7


def test_a_failed_agent_is_a_zero_and_the_other_failures_are_nothing() -> None:
    scores = aggregate(
        [
            run(repeat=0, f1=1.0),
            run(repeat=1, outcome=Outcome.AGENT_FAILED),
            run(repeat=2, outcome=Outcome.INFRA_FAILED),
            run(repeat=3, outcome=Outcome.JUDGE_FAILED),
            run(repeat=4, outcome=Outcome.CANCELLED),
        ]
    )
    (agent,) = scores.agents
    assert (agent.f1.mean, agent.f1.coverage) == (0.5, "2 of 5 runs")
    assert agent.precision.mean == agent.recall.mean == 0.5
    counts = agent.outcomes
    assert (counts.scored, counts.agent_failed, counts.infra_failed) == (1, 1, 1)
    assert (counts.judge_failed, counts.cancelled, counts.pending) == (1, 1, 0)


def test_where_nothing_counts_the_mean_is_undefined_not_zero() -> None:
    (agent,) = aggregate([run(outcome=Outcome.INFRA_FAILED)]).agents
    assert (agent.f1.mean, agent.f1.std_over_tasks, agent.f1.std_over_repeats) == (None, None, None)
    assert agent.f1.coverage == "0 of 1 runs"


def test_a_planned_slot_without_a_run_lowers_the_coverage() -> None:
    (agent,) = aggregate([run(repeat=0, f1=0.4)], [Slot("t", "a", n) for n in range(3)]).agents
    assert (agent.f1.mean, agent.f1.coverage, agent.outcomes.pending) == (0.4, "1 of 3 runs", 2)


def test_an_undefined_metric_lowers_its_own_coverage_only() -> None:
    half = RunOutcome("r", "e", "t", "a", 1, 1, Outcome.SCORED, None, 0.0, 0.0)
    (agent,) = aggregate([run(repeat=0, f1=1.0), half]).agents
    assert (agent.precision.mean, agent.precision.coverage) == (1.0, "1 of 2 runs")
    assert (agent.recall.mean, agent.recall.coverage) == (0.5, "2 of 2 runs")


def test_only_the_highest_attempt_of_a_slot_counts() -> None:
    attempts = [
        run(attempt=2, f1=0.8),
        run(attempt=1, outcome=Outcome.INFRA_FAILED),
        run(attempt=3, outcome=Outcome.CANCELLED),
    ]
    (agent,) = aggregate(attempts).agents
    assert (agent.f1.mean, agent.f1.coverage) == (None, "0 of 1 runs")
    (agent,) = aggregate(attempts[:2]).agents
    assert (agent.f1.mean, agent.f1.coverage) == (0.8, "1 of 1 runs")


def test_an_agents_mean_weighs_tasks_alike_and_names_both_spreads() -> None:
    runs = [run(task="x", repeat=n, f1=1.0) for n in range(9)]
    runs += [run(task="y", repeat=0, f1=0.0), run(task="y", repeat=1, f1=0.4)]
    (agent,) = aggregate(runs).agents
    assert agent.f1.mean == pytest.approx(0.6)
    assert agent.f1.std_over_tasks == pytest.approx(0.4)
    assert agent.f1.std_over_repeats == pytest.approx(0.1)
    assert (agent.f1.tasks_counted, agent.f1.tasks_total) == (2, 2)


def test_a_single_value_has_no_spread_to_print() -> None:
    one = aggregate([run(f1=0.4)])
    assert (one.tasks[0].f1.std, one.tasks[0].f1.spread, one.agents[0].f1.spread) == (0.0, None, None)
    two = aggregate([run(repeat=0, f1=0.4), run(repeat=1, f1=0.6)])
    assert two.agents[0].f1.spread == two.agents[0].f1.std_over_repeats == pytest.approx(0.1)
    tasks = aggregate([run(task="x", f1=0.4), run(task="y", f1=0.6)])
    assert tasks.agents[0].f1.spread == tasks.agents[0].f1.std_over_tasks == pytest.approx(0.1)


def test_a_task_without_a_counted_run_is_left_out_and_shown() -> None:
    runs = [run(task="x", f1=0.3), run(task="y", outcome=Outcome.JUDGE_FAILED)]
    (agent,) = aggregate(runs).agents
    assert (agent.f1.mean, agent.f1.tasks_counted, agent.f1.tasks_total) == (0.3, 1, 2)


def test_every_fault_is_named_at_once() -> None:
    bad = [
        run(repeat=0, f1=1.5),
        run(repeat=1, f1=math.nan, experiment="other"),
        run(repeat=-1, usage=Usage(wall_seconds=-2, usd=math.inf)),
        run(repeat=2, f1=0.1),
        run(repeat=2, f1=0.2),
    ]
    with pytest.raises(FiretrialError) as error:
        aggregate(bad)
    fields = [fault.field for fault in error.value.faults]
    assert fields == [
        *(f"t/a/0/1.{m}" for m in ("precision", "recall", "f1")),
        *(f"t/a/1/1.{m}" for m in ("precision", "recall", "f1")),
        "t/a/-1/1.usage.wall_seconds",
        "t/a/-1/1.usage.usd",
        "t/a/-1/1.repeat",
        "experiment",
        "attempt",
    ]


def test_the_same_run_told_twice_counts_once() -> None:
    (agent,) = aggregate([run(f1=0.5), run(f1=0.5)]).agents
    assert agent.f1.coverage == "1 of 1 runs"


def test_no_runs_give_no_scores() -> None:
    assert aggregate([]).agents == ()
    assert mean_of([]) == Mean(None, None, 0, 0)


outcomes = st.sampled_from(list(Outcome))
slots = st.tuples(st.sampled_from("xyz"), st.sampled_from("ab"), st.integers(0, 4), st.integers(1, 3))
measured = st.tuples(outcomes, st.none() | st.floats(0, 1))


@given(st.dictionaries(slots, measured, max_size=25), st.integers())
def test_order_changes_nothing_and_means_stay_in_range(
    runs_by_slot: dict[tuple[str, str, int, int], tuple[Outcome, float | None]], seed: int
) -> None:
    runs = [
        run(agent, repeat, outcome, f1, task=task, attempt=attempt)
        for (task, agent, repeat, attempt), (outcome, f1) in runs_by_slot.items()
    ]
    scores = aggregate(runs)
    shuffled = random.Random(seed).sample(runs, len(runs))  # noqa: S311 - a shuffle, no secret
    assert aggregate(shuffled) == scores
    for score in scores.agents:
        counts = score.outcomes
        assert score.f1.total == len({r.slot for r in runs if r.agent == score.agent})
        assert score.f1.counted <= counts.scored + counts.agent_failed
        assert (score.f1.mean is None) == (score.f1.counted == 0)
        assert score.f1.mean is None or -1e-12 <= score.f1.mean <= 1 + 1e-12


@pytest.mark.needs("shared")
def test_the_published_overall_means_follow_from_the_published_task_means(shared: Path) -> None:
    tables = json.loads((shared / "firebench/tables.json").read_text())
    checks = tables["checks"]["overall_std_definition"]["values"]
    runs = [
        run(agent, f1=cell["mean"] / 100, task=row["id"])
        for row in tables["table3_per_task_f1"]["rows"]
        for agent, cell in row["f1"].items()
    ]
    scores = {score.agent: score.f1 for score in aggregate(runs).agents}
    assert set(scores) == set(checks)
    for agent, known in checks.items():
        mean, std = scores[agent].mean, scores[agent].std_over_tasks
        assert mean is not None
        assert std is not None
        assert 100 * mean == pytest.approx(known["recomputed_mean"], abs=1e-3)
        assert 100 * std == pytest.approx(known["pop_std_over_30"], abs=1e-3)
