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

from firetrial_analyzer.variance import moments

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


@dataclass(frozen=True, slots=True)
class _Group:
    """Scores that share a run, a task or everything: their number, mean, and squared distances from it."""

    n: int
    mean: float
    squares: float


def split(judgings: Judgings) -> VarianceSplit:
    """The variance split of one agent's scores. Runs without a score and tasks without a run are left out."""
    held = [[scores for scores in runs.values() if scores] for runs in judgings.values()]
    tasks = [runs for runs in held if runs]
    runs_of = [[_group(scores) for scores in runs] for runs in tasks]
    task_groups = [_group(list(chain.from_iterable(runs))) for runs in tasks]
    total, n_runs, n_tasks = sum(task.n for task in task_groups), sum(map(len, tasks)), len(tasks)
    judge = _judge(runs_of) if total > n_runs else None
    agent = _agent(runs_of, task_groups, judge or 0.0) if n_runs > n_tasks else None
    task = _task(runs_of, task_groups, agent or 0.0, judge or 0.0) if n_tasks > 1 else None
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


def _group(scores: Sequence[float]) -> _Group:
    if len(scores) == 1:
        return _Group(1, scores[0], 0.0)
    return _Group(len(scores), *moments(scores))


def _judge(runs_of: Sequence[Sequence[_Group]]) -> float:
    """SS within runs / (N - R)."""
    runs = list(chain.from_iterable(runs_of))
    return math.fsum(run.squares for run in runs) / (sum(run.n for run in runs) - len(runs))


def _agent(runs_of: Sequence[Sequence[_Group]], tasks: Sequence[_Group], judge: float) -> float:
    """From E[SS runs in tasks] = (R - T) judge + (N - sum of n_run^2 / n_task) agent."""
    squares = math.fsum(
        run.n * (run.mean - task.mean) ** 2 for runs, task in zip(runs_of, tasks, strict=True) for run in runs
    )
    total, n_runs = sum(task.n for task in tasks), sum(map(len, runs_of))
    return (squares - (n_runs - len(tasks)) * judge) / (total - _run_sizes(runs_of, tasks))


def _task(runs_of: Sequence[Sequence[_Group]], tasks: Sequence[_Group], agent: float, judge: float) -> float:
    """From E[SS tasks] = (T - 1) judge + (k - sum n_run^2 / N) agent + (N - sum n_task^2 / N) task."""
    total = sum(task.n for task in tasks)
    grand = math.fsum(task.n * task.mean for task in tasks) / total
    squares = math.fsum(task.n * (task.mean - grand) ** 2 for task in tasks)
    per_run = sum(run.n**2 for runs in runs_of for run in runs) / total
    per_task = sum(task.n**2 for task in tasks) / total
    noise = (len(tasks) - 1) * judge + (_run_sizes(runs_of, tasks) - per_run) * agent
    return (squares - noise) / (total - per_task)


def _run_sizes(runs_of: Sequence[Sequence[_Group]], tasks: Sequence[_Group]) -> float:
    return math.fsum(run.n**2 / task.n for runs, task in zip(runs_of, tasks, strict=True) for run in runs)
