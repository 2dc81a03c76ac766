"""What the judge keeps: which judgements there are, and what came of each run."""

from __future__ import annotations

from dataclasses import dataclass

from firetrial_kit.objects import ObjectRef


@dataclass(frozen=True, slots=True)
class JudgementRecord:
    """A judgement and where it lies; kept under the judgement's id."""

    id: str
    run_id: str
    ref: ObjectRef
    experiment_id: str = ""


@dataclass(frozen=True, slots=True)
class JudgedRun:
    """A run's latest judgement, or why it has none; kept under the run's id."""

    run_id: str
    judgement_id: str = ""
    reason: str = ""
