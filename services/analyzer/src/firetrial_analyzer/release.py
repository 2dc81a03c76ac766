"""A release: a benchmark frozen under a name, so that scores of different days can be compared."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, fields
from datetime import datetime

from firetrial_kit.errors import Fault
from firetrial_kit.ids import digest

NAME = re.compile(r"[a-z0-9][a-z0-9.-]{0,63}")
MAX_TASKS = 10_000
MAX_DESCRIPTION = 4000
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class ReleasedTask:
    """A task by its id and version, and the hashes of its public and of its sealed part."""

    id: str
    version: str
    task_sha256: str
    truth_sha256: str


@dataclass(frozen=True, slots=True)
class Wanted:
    """A release as it is asked for; see `Frozen` for the fields."""

    name: str
    description: str
    task_ids: tuple[str, ...]
    repeats: int
    judge: str
    judge_config_hash: str
    calibration_id: str
    prompts_sha256: str
    prices_sha256: str


@dataclass(frozen=True, slots=True)
class Frozen:
    """All that must be the same for two scores to be comparable. Hashes are sha256 in lower-case hex.

    `judge` is the judge's configuration as JSON with sorted keys. `calibration_id` is empty for a judge that
    nobody calibrated, `prices_sha256` for a release whose agents use no model.
    """

    name: str
    description: str
    tasks: tuple[ReleasedTask, ...]
    repeats: int
    judge: str
    judge_config_hash: str
    calibration_id: str
    prompts_sha256: str
    prices_sha256: str
    taxonomy_version: str
    taxonomy_sha256: str
    cutoffs_sha256: str

    @property
    def checksum(self) -> str:
        """sha256 over every field, in canonical JSON."""
        return digest(*([field.name, _plain(getattr(self, field.name))] for field in fields(self)))

    def holds(self, task_id: str) -> bool:
        """Whether the task, in exactly this version, belongs to the release."""
        return any(task.id == task_id for task in self.tasks)

    def faults(self) -> Iterator[Fault]:
        """What keeps this from being a release."""
        if not NAME.fullmatch(self.name):
            yield Fault("name", self.name[:80], f"must match {NAME.pattern}")
        if len(self.description) > MAX_DESCRIPTION:
            yield Fault("description", f"{len(self.description)} characters", f"at most {MAX_DESCRIPTION}")
        if not 0 < len(self.tasks) <= MAX_TASKS:
            yield Fault("task_ids", f"{len(self.tasks)} tasks", f"must be 1 to {MAX_TASKS}")
        if not 1 <= self.repeats <= 100:
            yield Fault("repeats", str(self.repeats), "must be 1 to 100")
        if not _SHA256.fullmatch(self.judge_config_hash):
            cure = "must be what JudgeService.DescribeJudge says of the judge"
            yield Fault("judge_config_hash", self.judge_config_hash[:80], cure)
        for name in ("prompts_sha256", "prices_sha256"):
            value = getattr(self, name)
            if value and not _SHA256.fullmatch(value):
                yield Fault(name, value[:80], "must be a sha256 in hex, or empty")
        for task in self.tasks:
            if not task.truth_sha256:
                yield Fault("task_ids", task.id, "has no ground truth: it can be run but not scored")

    def differences(self, other: Frozen) -> Iterator[Fault]:
        """In which fields `other` is another release."""
        for field in fields(self):
            here, there = getattr(self, field.name), getattr(other, field.name)
            if here != there:
                yield Fault(field.name, _short(there), f"is {_short(here)} in the release of that name")


@dataclass(frozen=True, slots=True)
class Release:
    """A release that exists."""

    frozen: Frozen
    created_at: datetime


def _plain(value: object) -> object:
    if isinstance(value, tuple):
        return [[task.id, task.version, task.task_sha256, task.truth_sha256] for task in value]
    return value


def _short(value: object) -> str:
    return f"{len(value)} tasks" if isinstance(value, tuple) else str(value)[:80]
