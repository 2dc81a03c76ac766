from firetrial_analyzer.outcomes import Outcome, RunOutcome
from firetrial_analyzer.scores import aggregate
from firetrial_analyzer.variation import comparisons, samples, variation


def run(
    task: str, agent: str, repeat: int, f1: float | None, *, end: Outcome = Outcome.SCORED, attempt: int = 1
) -> RunOutcome:
    return RunOutcome(f"{task}{agent}{repeat}.{attempt}", "e", task, agent, repeat, attempt, end, f1, f1, f1)


RUNS = [
    run("t1", "a", 1, 0.5),
    run("t1", "a", 2, 0.7),
    run("t2", "a", 1, 0.9),
    run("t2", "a", 2, None, end=Outcome.AGENT_FAILED),
    run("t1", "b", 1, None, end=Outcome.INFRA_FAILED),
    run("t1", "b", 1, 0.2, attempt=2),
    run("t2", "b", 1, 0.4),
    run("t1", "c", 1, None, end=Outcome.JUDGE_FAILED),
]


def test_samples_hold_what_enters_the_means() -> None:
    found = samples(RUNS)
    assert found == {"a": {"t1": [0.5, 0.7], "t2": [0.9, 0.0]}, "b": {"t1": [0.2], "t2": [0.4]}}
    means = {score.agent: score.f1.mean for score in aggregate(RUNS).agents}
    for agent, tasks in found.items():
        assert means[agent] == sum(sum(f1s) / len(f1s) for f1s in tasks.values()) / len(tasks)


def test_the_interval_is_over_tasks_where_there_are_several() -> None:
    found = samples(RUNS)
    several, once = variation(found["a"]), variation(found["b"])
    assert several.interval == several.over_tasks
    assert several.over_repeats is not None
    assert several.over_repeats != several.over_tasks
    assert (once.over_repeats, once.interval) == (None, once.over_tasks)
    single = variation({"t": [0.2, 0.4]})
    assert (single.over_tasks, single.interval) == (None, single.over_repeats)
    assert variation({}).interval is None


def test_pairs_without_two_common_tasks_are_not_compared() -> None:
    found = comparisons(samples(RUNS) | {"d": {"t1": [0.1], "t9": [0.2]}})
    assert [(pair.left, pair.right, pair.tasks) for pair in found] == [("a", "b", 2)]
