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


@dataclass(frozen=True, slots=True)
class Judged:
    """The runs of one task: the score of each that was judged once, and the scores of each of the others."""

    once: Sequence[float] = ()
    several: Sequence[Sequence[float]] = ()


# by task
Judgings = Mapping[str, Judged]


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
class _Task:
    """The scores of one task: their number and mean, and the number of its runs.

    `within` is the sum of squares within runs, `between` that of the runs within the task, and `sizes` the
    sum of the squared numbers of scores of each run.
    """

    n: int
    mean: float
    runs: int
    within: float
    between: float
    sizes: int


def split(judgings: Judgings) -> VarianceSplit:
    """The variance split of one agent's scores. Runs without a score and tasks without a run are left out."""
    held = [(judged.once, [scores for scores in judged.several if scores]) for judged in judgings.values()]
    tasks = [_task_of(once, several) for once, several in held if once or several]
    total, n_runs, n_tasks = sum(task.n for task in tasks), sum(task.runs for task in tasks), len(tasks)
    judge = _judge(tasks) if total > n_runs else None
    agent = _agent(tasks, judge or 0.0) if n_runs > n_tasks else None
    task = _between_tasks(tasks, agent or 0.0, judge or 0.0) if n_tasks > 1 else None
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


def _task_of(once: Sequence[float], several: Sequence[Sequence[float]]) -> _Task:
    scores = [*once, *chain.from_iterable(several)]
    mean, squares = moments(scores)
    if not several:
        return _Task(len(once), mean, len(once), 0.0, squares, len(once))
    of_runs = [(1, score, 0.0) for score in once] + [(len(run), *moments(run)) for run in several]
    within = math.fsum(own for _, _, own in of_runs)
    between = math.fsum(n * (own - mean) ** 2 for n, own, _ in of_runs)
    return _Task(len(scores), mean, len(of_runs), within, between, sum(n**2 for n, _, _ in of_runs))


def _judge(tasks: Sequence[_Task]) -> float:
    """SS within runs / (N - R)."""
    return math.fsum(task.within for task in tasks) / sum(task.n - task.runs for task in tasks)


def _agent(tasks: Sequence[_Task], judge: float) -> float:
    """From E[SS runs in tasks] = (R - T) judge + (N - sum of n_run^2 / n_task) agent."""
    squares = math.fsum(task.between for task in tasks)
    noise = sum(task.runs - 1 for task in tasks) * judge
    return (squares - noise) / (sum(task.n for task in tasks) - _run_sizes(tasks))


def _between_tasks(tasks: Sequence[_Task], agent: float, judge: float) -> float:
    """From E[SS tasks] = (T - 1) judge + (k - sum n_run^2 / N) agent + (N - sum n_task^2 / N) task."""
    total = sum(task.n for task in tasks)
    grand = math.fsum(task.n * task.mean for task in tasks) / total
    squares = math.fsum(task.n * (task.mean - grand) ** 2 for task in tasks)
    per_run = sum(task.sizes for task in tasks) / total
    per_task = sum(task.n**2 for task in tasks) / total
    noise = (len(tasks) - 1) * judge + (_run_sizes(tasks) - per_run) * agent
    return (squares - noise) / (total - per_task)


def _run_sizes(tasks: Sequence[_Task]) -> float:
    return math.fsum(task.sizes / task.n for task in tasks)
