"""A sealed test: what is asked for, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from firetrial_kit.objects import ObjectRef
from firetrial_runner.allowance import Allowance
from firetrial_runner.run import End


def trial_id(run_id: str, attempt: int) -> str:
    """The id of an attempt at a test."""
    return f"{run_id}-{attempt}"


@dataclass(frozen=True, slots=True)
class Wanted:
    """A test that is asked for: commands over tars of the bucket `sealed`. `attempt` counts from 1."""

    run_id: str
    attempt: int
    files: ObjectRef
    command: tuple[str, ...]
    results_file: str
    limits: Allowance
    environment: str = ""
    score_command: tuple[str, ...] = ()
    score_files: ObjectRef | None = None
    outputs: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """One for each attempt."""
        return trial_id(self.run_id, self.attempt)


@dataclass(frozen=True, slots=True)
class TrialEnd:
    """What came of it; `infra_failure` says why nothing did, where that is nobody's fault but ours."""

    end: End | None = None
    results: ObjectRef | None = None
    output: ObjectRef | None = None
    findings: tuple[str, ...] = ()
    infra_failure: str = ""

    @property
    def result(self) -> str:
        """In a word: infra_failed; else measured, or failed where it left no results."""
        return "infra_failed" if self.infra_failure else "measured" if self.results else "failed"


@dataclass(frozen=True, slots=True)
class TrialRecord:
    """An attempt at a test: who has it in hand until when, and what came of it once it is over.

    `waits_for` is what whoever tried last had not, "" for nothing. `ended_at` is None also for one that ended
    under a version that did not tell it.
    """

    id: str
    holder: str = ""
    until: datetime | None = None
    tested: TrialEnd | None = None
    waits_for: str = ""
    ended_at: datetime | None = None
