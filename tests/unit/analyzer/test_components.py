import numpy as np
import pytest

from firetrial_analyzer.components import Judged, Judgings, VarianceSplit, split


def simulated(seed: int, stds: tuple[float, float, float], shape: tuple[int, int, int]) -> Judgings:
    """Scores with known stds of task, agent and judge; counts of runs and judgings differ."""
    generator = np.random.default_rng(seed)
    tasks, runs, judgings = shape
    found = {}
    for t in range(tasks):
        task = stds[0] * generator.normal()
        judged = []
        for _ in range(int(generator.integers(1, runs + 1))):
            run = task + stds[1] * generator.normal()
            count = int(generator.integers(1, judgings + 1))
            judged.append(list(run + stds[2] * generator.normal(size=count)))
        found[f"t{t}"] = Judged(several=judged)
    return found


def several(**tasks: list[list[float]]) -> Judgings:
    return {task: Judged(several=runs) for task, runs in tasks.items()}


def test_the_parts_are_found_again_without_bias_though_counts_differ() -> None:
    splits = [split(simulated(seed, (0.3, 0.2, 0.1), (15, 4, 4))) for seed in range(300)]
    means = [
        float(np.mean([value for item in splits if (value := getattr(item, part)) is not None]))
        for part in ("task", "agent", "judge")
    ]
    assert means == pytest.approx([0.09, 0.04, 0.01], rel=0.08)


def test_a_balanced_case_by_hand() -> None:
    found = split(several(a=[[0.0, 0.2], [0.4, 0.6]], b=[[1.0, 1.2], [1.4, 1.6]]))
    judge = 4 * 0.02 / 4
    agent = (0.16 - judge) / 2
    task = (2.0 - judge - 2 * agent) / 4
    assert [found.task, found.agent, found.judge] == pytest.approx([task, agent, judge])
    assert found.judge_share == pytest.approx(judge / (agent + judge))
    assert (found.judge_in_agent, found.tasks, found.runs, found.judgings) == (False, 2, 4, 8)


def test_an_estimate_below_zero_is_zero() -> None:
    found = split(several(a=[[0.0, 1.0], [1.0, 0.0]]))
    assert (found.agent, found.judge, found.judge_share) == (0.0, 0.5, 1.0)


def test_what_was_not_repeated_cannot_be_told() -> None:
    once = split(several(a=[[0.1], [0.3]], b=[[0.7], []]))
    assert (once.judge, once.judge_share, once.judge_in_agent) == (None, None, True)
    assert once.agent == pytest.approx(0.02)
    single = split(several(a=[[0.1, 0.2]]))
    assert (single.task, single.agent) == (None, None)
    assert single.judge == pytest.approx(0.005)
    assert split({}) == VarianceSplit(None, None, None, None, False, 0, 0, 0)


def test_a_run_that_was_judged_once_is_told_without_a_list_of_its_own() -> None:
    short = {"a": Judged([0.1, 0.5], [[0.2, 0.4]]), "b": Judged([0.9])}
    assert split(short) == split(several(a=[[0.1], [0.5], [0.2, 0.4]], b=[[0.9]]))
