"""How runs ended and what they used: the input of every aggregate.

A *slot* is one planned measurement (task, agent, repeat). A slot may take several attempts, because an
infrastructure failure is tried again; only its highest attempt counts.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from firetrial_kit.errors import Fault
from firetrial_kit.errors import check as refuse

METRICS = ("precision", "recall", "f1")
F1 = "f1"
"""The measure of runs whose claims are compared; those of other kinds of task have no METRICS."""
SCORE = "score"
"""What enters the mean of a run's measure, whichever that is."""


class Outcome(StrEnum):
    SCORED = "SCORED"
    AGENT_FAILED = "AGENT_FAILED"
    INFRA_FAILED = "INFRA_FAILED"
    JUDGE_FAILED = "JUDGE_FAILED"
    CANCELLED = "CANCELLED"

    @property
    def counts(self) -> bool:
        """Whether a run with this outcome says something about the agent."""
        return self in (Outcome.SCORED, Outcome.AGENT_FAILED)


class Slot(NamedTuple):
    task: str
    agent: str
    repeat: int


@dataclass(frozen=True, slots=True)
class Usage:
    """What one run used. None is "unknown", which is not zero.

    Times are seconds and start with the agent's process, so queueing is not in them; `gpu_seconds` are GPUs
    times seconds. `tokens` are prompt and completion together, and `cached_tokens` the part of them that the
    upstream had cached. `usd` is None where a price is unknown, and `unpriced_calls` counts the
    `model_calls` of which it is.
    """

    wall_seconds: float | None = None
    cpu_seconds: float | None = None
    max_rss_bytes: int | None = None
    tokens: int | None = None
    usd: float | None = None
    gpu_seconds: float | None = None
    cached_tokens: int | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    model_calls: int | None = None
    unpriced_calls: int | None = None


USAGE_FIELDS = tuple(field.name for field in fields(Usage))


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """The end of one attempt. Metrics lie in [0, 1]; None where the run has none or it is undefined.

    `measure` names what the run is scored by. Where that is not F1, `value` is its score: at least 0, and
    above 1 where an improvement goes beyond what was held for the best.

    A superseded attempt is followed by another, so its slot has not ended with it. `ending` says how the
    agent's process ended and `reason` why the outcome is not SCORED, for people. `provenance` is "here",
    "elsewhere" (made elsewhere, imported with its trajectory) or "self_reported"; `made_by` says who made one
    that was imported.
    """

    run_id: str
    experiment: str
    task: str
    agent: str
    repeat: int
    attempt: int
    outcome: Outcome
    precision: float | None = None
    recall: float | None = None
    f1: float | None = None
    usage: Usage = Usage()
    ending: str = ""
    reason: str = ""
    started_at: datetime | None = None
    ended_at: datetime | None = None
    superseded: bool = False
    model: str = ""
    provenance: str = "here"
    made_by: str = ""
    measure: str = F1
    value: float | None = None
    pool: str = ""

    @property
    def slot(self) -> Slot:
        return Slot(self.task, self.agent, self.repeat)

    def score(self, metric: str) -> float | None:
        """What the run adds to the mean of `metric`: its value, 0 for a failed agent, None for nothing.

        SCORE is that of the run's own measure.
        """
        if metric != SCORE and self.measure != F1:
            return None
        if self.outcome is Outcome.AGENT_FAILED:
            return 0.0
        value: float | None = self.worth if metric == SCORE else getattr(self, metric)
        return value if self.outcome is Outcome.SCORED else None

    @property
    def worth(self) -> float | None:
        """Its score, by whatever it is measured."""
        return self.f1 if self.measure == F1 else self.value


def latest_attempts(runs: Iterable[RunOutcome]) -> list[RunOutcome]:
    """One run per slot that has ended, that of the highest attempt, ordered by slot."""
    latest: dict[Slot, RunOutcome] = {}
    for run in runs:
        if run.superseded:
            continue
        known = latest.get(run.slot)
        if known is None or run.attempt > known.attempt:
            latest[run.slot] = run
    return [latest[slot] for slot in sorted(latest)]


def check(runs: Sequence[RunOutcome]) -> None:
    """Raises INVALID with every fault: values out of range, mixed experiments, rival attempts."""
    faults = [fault for run in runs for fault in _value_faults(run)]
    experiments = sorted({run.experiment for run in runs})
    if len(experiments) > 1:
        cure = "give the runs of one experiment at a time"
        faults.append(Fault("experiment", ", ".join(experiments), cure))
    rivals = Counter((run.slot, run.attempt) for run in dict.fromkeys(runs))
    faults += [
        Fault("attempt", f"{slot.task}/{slot.agent}/{slot.repeat}/{attempt}", "one run per attempt of a slot")
        for (slot, attempt), count in sorted(rivals.items())
        if count > 1
    ]
    refuse("the set of runs", faults)


def _value_faults(run: RunOutcome) -> list[Fault]:
    faults = [
        Fault(f"{run.run_id}.{name}", str(value), "a score from 0 to 1, or none")
        for name in METRICS
        if (value := getattr(run, name)) is not None and not 0 <= value <= 1
    ]
    if run.value is not None and not (math.isfinite(run.value) and run.value >= 0):
        faults.append(Fault(f"{run.run_id}.value", str(run.value), "a finite score of at least 0, or none"))
    faults += [
        Fault(f"{run.run_id}.usage.{name}", str(value), "a finite number of at least 0, or none if unknown")
        for name in USAGE_FIELDS
        if (value := getattr(run.usage, name)) is not None and not (math.isfinite(value) and value >= 0)
    ]
    faults += [
        Fault(f"{run.run_id}.{name}", str(value), "a whole number of at least 0")
        for name, value in (("repeat", run.repeat), ("attempt", run.attempt))
        if value < 0
    ]
    return faults
