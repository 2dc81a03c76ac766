"""Means over repeats and over tasks, each with its coverage.

Formulas (n runs counted, x in [0, 1]): mean = sum(x) / n; std = sqrt(sum((x - mean)^2) / n), the population
form, which is the one that the FIRE-Bench tables use per task. An agent's mean is the mean of its task means,
so a task with more repeats weighs no more. A failed agent counts as 0; a failed infrastructure, a failed
judge and a cancelled run never count. Where nothing counts, mean and std are None.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from firetrial_analyzer.outcomes import Outcome, RunOutcome, Slot, check, latest_attempts
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
    task: str
    agent: str
    precision: Mean
    recall: Mean
    f1: Mean


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
class AgentScore:
    agent: str
    precision: AgentMean
    recall: AgentMean
    f1: AgentMean
    outcomes: OutcomeCounts


@dataclass(frozen=True, slots=True)
class Cell:
    """The slots of one task and agent: what each adds to the mean of each metric, None for nothing.

    `outcomes` counts them by the outcome that they ended with; None stands for slots that have not ended.
    """

    precision: Values
    recall: Values
    f1: Values
    outcomes: Mapping[Outcome | None, int]


@dataclass(frozen=True, slots=True)
class Scores:
    """Task scores ordered by (task, agent); agent scores by agent."""

    tasks: tuple[TaskScore, ...]
    agents: tuple[AgentScore, ...]


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
    return Cell(added("precision"), added("recall"), added("f1"), outcomes)


def from_cells(cells: Mapping[tuple[str, str], Cell]) -> Scores:
    """Scores from what the slots of each (task, agent) came to."""
    tasks = tuple(
        TaskScore(task, agent, mean_of(cell.precision), mean_of(cell.recall), mean_of(cell.f1))
        for (task, agent), cell in sorted(cells.items())
    )
    of_agent: dict[str, list[TaskScore]] = defaultdict(list)
    for score in tasks:
        of_agent[score.agent].append(score)
    return Scores(tasks, tuple(_agent_score(of_agent[agent], cells) for agent in sorted(of_agent)))


def _agent_score(tasks: Sequence[TaskScore], cells: Mapping[tuple[str, str], Cell]) -> AgentScore:
    outcomes = sum((Counter(cells[score.task, score.agent].outcomes) for score in tasks), Counter())
    return AgentScore(
        tasks[0].agent,
        _over_tasks([task.precision for task in tasks]),
        _over_tasks([task.recall for task in tasks]),
        _over_tasks([task.f1 for task in tasks]),
        OutcomeCounts(*(outcomes[outcome] for outcome in (*Outcome, None))),
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
