"""Where the variance of scores comes from: the tasks, the agent from run to run, or the judge.

A nested random-effects model: score = mean + task + run within task + judging within run, each an independent
effect with a variance of its own. The variances are estimated by moments (Searle, Casella and McCulloch,
"Variance Components", 1992, chapter 5): the three sums of squares are set equal to their expectations, which
holds for unequal counts too. Estimates are unbiased, so one may come out below 0; it is then reported as 0.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

# task → run → the scores that repeated judgings of that run gave
Judgings = Mapping[str, Mapping[str, Sequence[float]]]


@dataclass(frozen=True, slots=True)
class VarianceSplit:
    """Variances of a single score, in squared units of the score.

    None is "cannot be told": `judge` needs a run that was judged twice, `agent` a task with two runs, `task`
    two tasks. Where no run was judged twice, `agent` holds the judge's variance as well, and
    `judge_in_agent` says so. `judge_share` is judge / (agent + judge), what judging adds to the noise between
    repeats.
    """

    task: float | None
    agent: float | None
    judge: float | None
    judge_share: float | None
    judge_in_agent: bool
    tasks: int
    runs: int
    judgings: int


def split(judgings: Judgings) -> VarianceSplit:
    """The variance split of one agent's scores. Runs without a score and tasks without a run are left out."""
    tasks = [[list(scores) for scores in runs.values() if scores] for runs in judgings.values()]
    tasks = [runs for runs in tasks if runs]
    runs = list(chain.from_iterable(tasks))
    total, n_runs, n_tasks = sum(map(len, runs)), len(runs), len(tasks)
    judge = _judge(runs) if total > n_runs else None
    agent = _agent(tasks, judge or 0.0) if n_runs > n_tasks else None
    task = _task(tasks, agent or 0.0, judge or 0.0) if n_tasks > 1 else None
    judge, agent, task = (None if part is None else max(0.0, part) for part in (judge, agent, task))
    noise = (agent or 0.0) + (judge or 0.0)
    return VarianceSplit(
        task=task,
        agent=agent,
        judge=judge,
        judge_share=judge / noise if judge is not None and agent is not None and noise else None,
        judge_in_agent=judge is None and agent is not None,
        tasks=n_tasks,
        runs=n_runs,
        judgings=total,
    )


def _judge(runs: Sequence[Sequence[float]]) -> float:
    """SS within runs / (N - R)."""
    squares = math.fsum(_squares(scores) for scores in runs)
    return squares / (sum(map(len, runs)) - len(runs))


def _agent(tasks: Sequence[Sequence[Sequence[float]]], judge: float) -> float:
    """From E[SS runs in tasks] = (R - T) judge + (N - sum of n_run^2 / n_task) agent."""
    squares = math.fsum(
        len(scores) * (_mean(scores) - _mean(_flat(runs))) ** 2 for runs in tasks for scores in runs
    )
    total, n_runs = sum(len(_flat(runs)) for runs in tasks), sum(map(len, tasks))
    return (squares - (n_runs - len(tasks)) * judge) / (total - _run_sizes(tasks))


def _task(tasks: Sequence[Sequence[Sequence[float]]], agent: float, judge: float) -> float:
    """From E[SS tasks] = (T - 1) judge + (k - sum n_run^2 / N) agent + (N - sum n_task^2 / N) task."""
    scores = _flat([_flat(runs) for runs in tasks])
    total, grand = len(scores), _mean(scores)
    squares = math.fsum(len(_flat(runs)) * (_mean(_flat(runs)) - grand) ** 2 for runs in tasks)
    per_run = sum(len(run) ** 2 for runs in tasks for run in runs) / total
    per_task = sum(len(_flat(runs)) ** 2 for runs in tasks) / total
    noise = (len(tasks) - 1) * judge + (_run_sizes(tasks) - per_run) * agent
    return (squares - noise) / (total - per_task)


def _run_sizes(tasks: Sequence[Sequence[Sequence[float]]]) -> float:
    return math.fsum(len(run) ** 2 / len(_flat(runs)) for runs in tasks for run in runs)


def _flat(parts: Sequence[Sequence[float]]) -> list[float]:
    return list(chain.from_iterable(parts))


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _squares(values: Sequence[float]) -> float:
    mean = _mean(values)
    return math.fsum((value - mean) ** 2 for value in values)
