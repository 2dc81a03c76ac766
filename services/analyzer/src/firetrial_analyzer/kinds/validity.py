"""What follow-up runs came to: how many submissions are valid, and how the three conditions held.

The main figure is (1/N) Σ V over the runs that count, where V is 1 for a submission with C1, C2 and C3 held
strictly (p = 1); a run that its agent failed has V = 0. A condition holds almost where p >= 0.9 (Into the
Unknown). p is of graded runs alone, and undefined where a question has no grade.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import polars as pl

from firetrial_analyzer.outcomes import Outcome

MEASURE = "validity"
CONDITIONS = {"C1": "Integrity", "C2": "Completeness", "C3": "Sufficiency"}
_ALMOST = 0.9
_CLOSE = 1e-9


@dataclass(frozen=True, slots=True)
class Condition:
    """Questions of one condition that passed, of all; `unscored` have no grade. p is 0 to 1 or None."""

    name: str
    passed: int
    total: int
    unscored: int = 0
    p: float | None = None


def column(name: str) -> str:
    """The column that has a condition's p."""
    return f"{name.lower()}_p"


@dataclass(frozen=True, slots=True)
class Held:
    """A condition over the runs whose p is known: mean of p, and how many hold it strictly and almost."""

    name: str
    known: int
    p: float | None
    strict: int
    almost: int


@dataclass(frozen=True, slots=True)
class Validity:
    """An agent's submissions: `valid` of `counted` are, and `mean` is that of V; `runs` ended in all."""

    agent: str
    runs: int
    counted: int
    valid: int
    mean: float | None
    conditions: tuple[Held, ...]


def validities(ended: pl.DataFrame) -> tuple[Validity, ...]:
    """By agent, of rows that end slots (see `columns`); empty where none is of a follow-up task."""
    runs = ended.filter(pl.col("measure") == MEASURE).sort("agent")
    return tuple(_of_agent(rows) for rows in runs.partition_by("agent", maintain_order=True))


def _of_agent(rows: pl.DataFrame) -> Validity:
    counts = rows.filter(pl.col("outcome").is_in([outcome.value for outcome in Outcome if outcome.counts]))
    scored = counts.filter(pl.col("outcome") == Outcome.SCORED.value)
    valid = int((scored["score"].fill_null(0.0) >= 1.0).sum())
    mean = valid / len(counts) if len(counts) else None
    return Validity(rows["agent"][0], len(rows), len(counts), valid, mean, tuple(_held(scored)))


def _held(scored: pl.DataFrame) -> Iterator[Held]:
    for name in CONDITIONS:
        known = scored[column(name)].drop_nulls()
        strict, almost = int((known >= 1.0).sum()), int((known >= _ALMOST - _CLOSE).sum())
        yield Held(name, len(known), float(known.sum()) / len(known) if len(known) else None, strict, almost)
