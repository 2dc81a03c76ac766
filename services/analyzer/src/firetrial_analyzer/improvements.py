"""What repository runs came to, as the three tables of FML-bench's scorer.

A row is a task of an agent; the last row of each agent is the mean over its tasks, without what is undefined.
Performance and normalised improvement are those of the best round (repeat): the one with the highest
improvement of those that count. The figures of the process are means over rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from firetrial_analyzer.kinds.repository import MEASURE
from firetrial_analyzer.outcomes import Outcome

MEAN = "MEAN"
MIXED = "mixed units across tasks: compare the normalised improvement"

Row = Mapping[str, Any]


def _share(row: Row) -> float | None:
    return row["steps_valid"] / row["steps"] if row["steps"] else None


def _scaled(name: str, unit: float) -> Callable[[Row], float | None]:
    return lambda row: None if row[name] is None else row[name] / unit


def _plain(name: str) -> Callable[[Row], float | None]:
    return lambda row: row[name]


PROCESS: dict[str, Callable[[Row], float | None]] = {
    "Exploration Spread": _plain("exploration_spread"),
    "Exploration Uniqueness": _plain("exploration_uniqueness"),
    "Exploration Reach": _plain("exploration_reach"),
    "Effective dim": _plain("effective_dim"),
    "Val-test |gap|": _plain("val_test_gap"),
    "Valid step ratio": _share,
    "AUC-over-steps": _plain("auc"),
    "First-improvement step": _plain("first_improvement_step"),
    "Late-gain fraction": _plain("late_gain_fraction"),
    "Best-improvement step": _plain("best_improvement_step"),
    "Token cost (M)": _scaled("tokens", 10**6),
    "Wall-clock time (h)": _scaled("wall_seconds", 3600),
    "Step completion rate": lambda row: (
        row["steps"] / row["steps_assigned"] if row["steps_assigned"] else None
    ),
    "Tokens per step": lambda row: (
        row["tokens"] / row["steps"] if row["tokens"] is not None and row["steps"] else None
    ),
    "Seconds per step": lambda row: (
        row["wall_seconds"] / row["steps"] if row["wall_seconds"] is not None and row["steps"] else None
    ),
}
"""Column of the table of process metrics → how a run's row tells it. The first twelve are the scorer's."""


@dataclass(frozen=True, slots=True)
class ImprovedTask:
    """A task of an agent, over the rounds that count.

    `metric`, `direction`, `baseline_test` and `test` are as the metric is compared, of the best round; `note`
    is "ok", or says why the test counts as the baseline. `best` and `mean` are normalised improvements.
    """

    agent: str
    task: str
    rounds: int
    metric: str | None = None
    direction: str | None = None
    baseline_test: float | None = None
    test: float | None = None
    note: str = ""
    best: float | None = None
    mean: float | None = None
    process: Mapping[str, float | None] | None = None


@dataclass(frozen=True, slots=True)
class Improvements:
    """By agent and task; the row of each agent's means comes last and has MEAN for its task.

    The tables say the same in the columns of FML-bench's scorer, under its names for them.
    """

    rows: tuple[ImprovedTask, ...]
    table_raw_performance: tuple[Row, ...]
    table_normalized_improvement: tuple[Row, ...]
    table_process_metrics: tuple[Row, ...]

    @classmethod
    def of(cls, rows: Sequence[ImprovedTask]) -> Improvements:
        return cls(
            tuple(rows),
            tuple(map(_performance, rows)),
            tuple(map(_normalized, rows)),
            tuple({"agent": row.agent, "task": row.task, **(row.process or {})} for row in rows),
        )


def _performance(row: ImprovedTask) -> Row:
    return {
        "agent": row.agent, "task": row.task, "metric": row.metric, "direction": row.direction,
        "baseline_test": row.baseline_test, "raw_test": row.test, "note": row.note,
    }  # fmt: skip


def _normalized(row: ImprovedTask) -> Row:
    """With the mean over rounds and their number, which the scorer does not tell."""
    return {
        "agent": row.agent, "task": row.task, "Normalized Improvement": row.best,
        "mean over rounds": row.mean, "rounds": row.rounds,
    }  # fmt: skip


def improvements(ended: pl.DataFrame) -> Improvements | None:
    """Of rows that end slots (see `columns`); None where none is of a repository task."""
    counts = pl.col("outcome").is_in([outcome.value for outcome in Outcome if outcome.counts])
    rounds = ended.filter(counts & (pl.col("measure") == MEASURE)).sort("agent", "task", "repeat")
    if rounds.is_empty():
        return None
    return Improvements.of([*_rows(rounds)])


def _rows(rounds: pl.DataFrame) -> Iterator[ImprovedTask]:
    for of_agent in rounds.partition_by("agent", maintain_order=True):
        tasks = [_task(task.to_dicts()) for task in of_agent.partition_by("task", maintain_order=True)]
        yield from tasks
        yield _mean_row(tasks)


def _task(rounds: Sequence[Row]) -> ImprovedTask:
    scores = [0.0 if row["outcome"] == Outcome.AGENT_FAILED.value else row["score"] for row in rounds]
    best = max(range(len(rounds)), key=lambda n: (scores[n] is not None, scores[n] or 0.0, -n))
    chosen = rounds[best]
    return ImprovedTask(
        agent=chosen["agent"],
        task=chosen["task"],
        rounds=len(rounds),
        metric=chosen["metric"],
        direction=chosen["metric_direction"],
        baseline_test=chosen["baseline_test"],
        test=chosen["test"],
        note=f"{chosen['no_credit']}->baseline" if chosen["no_credit"] else "ok",
        best=scores[best],
        mean=mean(scores),
        process={name: mean([told(row) for row in rounds]) for name, told in PROCESS.items()},
    )


def _mean_row(tasks: Sequence[ImprovedTask]) -> ImprovedTask:
    return ImprovedTask(
        agent=tasks[0].agent,
        task=MEAN,
        rounds=sum(task.rounds for task in tasks),
        test=mean([task.test for task in tasks]),
        note=MIXED,
        best=mean([task.best for task in tasks]),
        mean=mean([task.mean for task in tasks]),
        process={name: mean([(task.process or {}).get(name) for task in tasks]) for name in PROCESS},
    )


def mean(values: Sequence[float | None]) -> float | None:
    """Of what is defined; None where nothing is."""
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None
