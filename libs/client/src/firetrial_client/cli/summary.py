"""The table at the end: agents with their scores, as the analyzer's JSON report gives them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import click

from firetrial_client.cli.output import columns
from firetrial_client.cli.text import safe
from firetrial_client.errors import FiretrialError, Reason
from firetrial_client.units import format_duration

SCHEMA = "firetrial.report/2"
F1 = "f1"
_SHOWN_REASONS = 5


@dataclass(frozen=True, slots=True)
class Score:
    """Mean and standard deviation, 0 to 1; None where nothing counts."""

    mean: float | None
    std: float | None

    def __str__(self) -> str:
        if self.mean is None or self.std is None:
            return "undefined"
        return f"{100 * self.mean:.1f} ± {100 * self.std:.1f}"


@dataclass(frozen=True, slots=True)
class Row:
    """One agent. `counted` of `total` runs enter its means; `wall_seconds` is the mean of a run.

    `score` is by the experiment's `measure`; the others are undefined where that is not F1.
    """

    agent: str
    f1: Score
    precision: Score
    recall: Score
    counted: int
    total: int
    outcomes: dict[str, int]
    wall_seconds: float | None
    score: Score
    measure: str = F1


@dataclass(frozen=True, slots=True)
class Summary:
    """What a report comes to. `reasons` counts why runs were not scored."""

    rows: tuple[Row, ...]
    reasons: tuple[tuple[str, int], ...]
    offline: bool

    @property
    def scored(self) -> int:
        return sum(row.outcomes.get("scored", 0) for row in self.rows)


def summarize(document: bytes) -> Summary:
    """Raises CORRUPT for what is no report of this schema."""
    try:
        return _summary(json.loads(document))
    except (KeyError, TypeError, ValueError) as error:
        raise FiretrialError(Reason.CORRUPT, f"the report is no {SCHEMA} ({error!r})") from None


def _summary(report: dict[str, Any]) -> Summary:
    if report["schema"] != SCHEMA:
        raise ValueError(report["schema"])
    return Summary(
        tuple(_row(agent) for agent in report["agents"]),
        _reasons(report["reasons"]),
        any(judge["backend"] == "offline" for judge in report["judges"]),
    )


def _row(agent: dict[str, Any]) -> Row:
    score, cost = agent["score"], agent["cost"]
    main = score.get("main", score["f1"])  # a report of an earlier version has F1 alone
    return Row(
        score["agent"],
        _score(score["f1"]),
        _score(score["precision"]),
        _score(score["recall"]),
        main["counted"],
        main["total"],
        {name: number for name, number in score["outcomes"].items() if number},
        cost["per_run"]["wall_seconds"]["mean"] if cost else None,
        _score(main),
        score.get("measure", F1),
    )


def _score(mean: dict[str, Any]) -> Score:
    """The spread shown is that over tasks where there are several, else that over repeats."""
    spread = "std_over_tasks" if mean["tasks_total"] > 1 else "std_over_repeats"
    return Score(mean["mean"], mean[spread])


def _reasons(uncounted: Sequence[dict[str, Any]]) -> tuple[tuple[str, int], ...]:
    return tuple((f"{told['outcome']}: {told['reason']}", told["runs"]) for told in uncounted)


def show(summary: Summary) -> None:
    """Print the table, and why runs are missing from it."""
    measure = summary.rows[0].measure if summary.rows else F1
    claims = measure == F1
    columns(
        (
            "AGENT",
            safe(measure.replace("_", " ").upper()),
            *(("PRECISION", "RECALL") if claims else ()),
            "COUNTED",
            "OUTCOMES",
            "WALL TIME",
        ),
        (
            (
                row.agent,
                row.score,
                *((row.precision, row.recall) if claims else ()),
                f"{row.counted} of {row.total} runs",
                ", ".join(f"{number} {name}" for name, number in row.outcomes.items()),
                "unknown" if row.wall_seconds is None else format_duration(row.wall_seconds),
            )
            for row in summary.rows
        ),
    )
    for reason, number in summary.reasons[:_SHOWN_REASONS]:
        click.echo(f"{number} × {safe(reason)}")
    if summary.offline:
        click.echo("Judged offline: a demonstration, not a benchmark score.")
