"""Means over repeats and over tasks, each with its coverage.

Formulas (n runs counted, x in [0, 1]): mean = sum(x) / n; std = sqrt(sum((x - mean)^2) / n), the population
form, which is the one that the FIRE-Bench tables use per task. An agent's mean is the mean of its task means,
so a task with more repeats weighs no more. A failed agent counts as 0; a failed infrastructure, a failed
judge and a cancelled run never count. Where nothing counts, mean and std are None.

Runs of different kinds of task are measured by different things, and a mean is over runs of one measure.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from firetrial_analyzer.outcomes import F1, SCORE, Outcome, RunOutcome, Slot, check, latest_attempts
from firetrial_analyzer.variance import Array, moments

# None, or NaN in an array, is a value that there is none of.
Values = Sequence[float | None] | Array


@dataclass(frozen=True, slots=True)
class Mean:
    """Mean and population std over `counted` of `total` runs."""

    mean: float | None
    std: float | None
    counted: int
    total: int

    @property
    def coverage(self) -> str:
        return f"{self.counted} of {self.total} runs"

    @property
    def spread(self) -> float | None:
        """The std worth printing: None for a single value, which has none."""
        return self.std if self.counted > 1 else None


@dataclass(frozen=True, slots=True)
class AgentMean:
    """Mean over task means, with two spreads: between the tasks, and between repeats (mean over tasks)."""

    mean: float | None
    std_over_tasks: float | None
    std_over_repeats: float | None
    counted: int
    total: int
    tasks_counted: int
    tasks_total: int

    @property
    def coverage(self) -> str:
        return f"{self.counted} of {self.total} runs"

    @property
    def spread(self) -> float | None:
        """The std worth printing: over tasks where there are several, else over repeats; None for one."""
        if self.tasks_total > 1:
            return self.std_over_tasks if self.tasks_counted > 1 else None
        return self.std_over_repeats if self.counted > 1 else None


@dataclass(frozen=True, slots=True)
class TaskScore:
    """`score` is by the task's `measure`: the same as F1 where that is its measure."""

    task: str
    agent: str
    precision: Mean
    recall: Mean
    f1: Mean
    score: Mean
    measure: str


@dataclass(frozen=True, slots=True)
class OutcomeCounts:
    """Slots by the outcome of their latest attempt; `pending` were planned and have not ended."""

    scored: int
    agent_failed: int
    infra_failed: int
    judge_failed: int
    cancelled: int
    pending: int


@dataclass(frozen=True, slots=True)
class MeasuredMean:
    """An agent's mean over the tasks of one measure."""

    measure: str
    mean: AgentMean


@dataclass(frozen=True, slots=True)
class AgentScore:
    """`precision`, `recall` and `f1` are over the tasks whose measure is F1.

    `main` is over those of the experiment's main `measure`, and `measures` has the means of all.
    """

    agent: str
    precision: AgentMean
    recall: AgentMean
    f1: AgentMean
    outcomes: OutcomeCounts
    main: AgentMean
    measure: str
    measures: tuple[MeasuredMean, ...]


@dataclass(frozen=True, slots=True)
class Cell:
    """The slots of one task and agent: what each adds to the mean of each metric, None for nothing.

    `outcomes` counts them by the outcome that they ended with; None stands for slots that have not ended.
    `measure` is None where no run tells it.
    """

    precision: Values
    recall: Values
    f1: Values
    score: Values
    outcomes: Mapping[Outcome | None, int]
    measure: str | None = F1


@dataclass(frozen=True, slots=True)
class Scores:
    """Task scores ordered by (task, agent); agent scores by agent. `measure` is the main one."""

    tasks: tuple[TaskScore, ...]
    agents: tuple[AgentScore, ...]
    measure: str


def mean_of(values: Values) -> Mean:
    """The mean of the values that exist; each that does not lowers the coverage and nothing else."""
    known = existing(values)
    mean, std = _moments(known)
    return Mean(mean, std, len(known), len(values))


def existing(values: Values) -> Array:
    """The values that are neither None nor NaN."""
    array = np.asarray(values, dtype=np.float64)
    return array[~np.isnan(array)]


def aggregate(runs: Sequence[RunOutcome], planned: Iterable[Slot] = ()) -> Scores:
    """Scores of one experiment. `planned` slots without a run lower the coverage.

    Raises INVALID (see `outcomes.check`). The result does not depend on the order of `runs`.
    """
    check(runs)
    by_slot: dict[Slot, RunOutcome | None] = dict.fromkeys(planned)
    by_slot |= {run.slot: run for run in latest_attempts(runs)}
    cells: dict[tuple[str, str], list[RunOutcome | None]] = defaultdict(list)
    for slot, run in by_slot.items():
        cells[slot.task, slot.agent].append(run)
    return from_cells({key: _cell(held) for key, held in cells.items()})


def _cell(runs: Sequence[RunOutcome | None]) -> Cell:
    def added(metric: str) -> list[float | None]:
        return [run.score(metric) if run else None for run in runs]

    outcomes = Counter(run.outcome if run else None for run in runs)
    measure = next((run.measure for run in runs if run), None)
    return Cell(added("precision"), added("recall"), added("f1"), added(SCORE), outcomes, measure)


def from_cells(cells: Mapping[tuple[str, str], Cell]) -> Scores:
    """Scores from what the slots of each (task, agent) came to."""
    told = _measures(cells)
    main = main_measure(told.values())
    tasks = tuple(
        TaskScore(
            task,
            agent,
            mean_of(cell.precision),
            mean_of(cell.recall),
            mean_of(cell.f1),
            mean_of(cell.score),
            told.get(task, main),
        )
        for (task, agent), cell in sorted(cells.items())
    )
    of_agent: dict[str, list[TaskScore]] = defaultdict(list)
    for score in tasks:
        of_agent[score.agent].append(score)
    agents = tuple(_agent_score(of_agent[agent], cells, main) for agent in sorted(of_agent))
    return Scores(tasks, agents, main)


def _measures(cells: Mapping[tuple[str, str], Cell]) -> dict[str, str]:
    """Task → its measure. A run that nobody judged may tell F1 for want of another."""
    told: dict[str, str] = {}
    for (task, _), cell in cells.items():
        if cell.measure and told.get(task, F1) == F1:
            told[task] = cell.measure
    return told


def main_measure(measures: Collection[str]) -> str:
    """What agents are ranked by: F1 where any task is measured by it, else the measure of the most tasks."""
    if not measures or F1 in measures:
        return F1
    counts = Counter(measures)
    return min(counts, key=lambda measure: (-counts[measure], measure))


def _agent_score(tasks: Sequence[TaskScore], cells: Mapping[tuple[str, str], Cell], main: str) -> AgentScore:
    outcomes = sum((Counter(cells[score.task, score.agent].outcomes) for score in tasks), Counter())
    claims = [task for task in tasks if task.measure == F1]
    means = {
        measure: _over_tasks([task.score for task in tasks if task.measure == measure])
        for measure in sorted({main, *(task.measure for task in tasks)})
    }
    return AgentScore(
        tasks[0].agent,
        _over_tasks([task.precision for task in claims]),
        _over_tasks([task.recall for task in claims]),
        _over_tasks([task.f1 for task in claims]),
        OutcomeCounts(*(outcomes[outcome] for outcome in (*Outcome, None))),
        means[main],
        main,
        tuple(MeasuredMean(measure, mean) for measure, mean in means.items()),
    )


def _over_tasks(cells: Sequence[Mean]) -> AgentMean:
    means = [cell.mean for cell in cells if cell.mean is not None]
    mean, between = _moments(means)
    within, _ = _moments([cell.std for cell in cells if cell.std is not None])
    counted, total = sum(cell.counted for cell in cells), sum(cell.total for cell in cells)
    return AgentMean(mean, between, within, counted, total, len(means), len(cells))


def _moments(values: Sequence[float] | Array) -> tuple[float | None, float | None]:
    if len(values) == 0:
        return None, None
    mean, squares = moments(values)
    return mean, math.sqrt(squares / len(values))
