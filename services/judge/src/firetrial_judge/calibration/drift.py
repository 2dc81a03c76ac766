"""Whether a judge is still the one that was calibrated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from firetrial_judge.judge import JudgeConfig
from firetrial_kit.objects import ObjectRef

_FIGURES = ("accuracy", "kappa")


@dataclass(frozen=True, slots=True)
class CalibrationRecord:
    """A calibration and where it lies, with what later ones are compared by; kept under its id.

    `at` is the time in ISO 8601; the figures are None where undefined.
    """

    id: str
    backend: str
    model: str
    prompts: str
    config_hash: str
    labels_sha256: str
    at: str
    accuracy: float | None
    accuracy_low: float | None
    kappa: float | None
    ref: ObjectRef


def latest(records: Sequence[CalibrationRecord], backend: str, but: str = "") -> CalibrationRecord | None:
    """The newest calibration of a backend, apart from the one with the id `but`."""
    of_it = [record for record in records if record.backend == backend and record.id != but]
    return max(of_it, key=lambda record: (record.at, record.id), default=None)


def drifted(before: CalibrationRecord | None, config: JudgeConfig) -> str:
    """How the configuration differs from what was calibrated, in words; empty where it does not.

    Nothing drifts from nothing: without an earlier calibration the judge is uncalibrated, not changed.
    """
    if before is None or before.config_hash == config.hash:
        return ""
    parts = [
        f"{name} {old or 'none'} → {new or 'none'}"
        for name, old, new in (
            ("model", before.model, config.model),
            ("prompts", before.prompts, config.prompts),
        )
        if old != new
    ]
    return f"not the judge of calibration {before.id}: " + (", ".join(parts) or "another configuration")


def moved(before: CalibrationRecord | None, now: CalibrationRecord) -> str:
    """How the measured figures differ; empty where labels differ or accuracy is not below its interval."""
    if before is None or before.labels_sha256 != now.labels_sha256:
        return ""
    if before.accuracy_low is None or now.accuracy is None or now.accuracy >= before.accuracy_low:
        return ""
    low = before.accuracy_low
    return f"accuracy {now.accuracy:.3f} is below the interval of {before.id}, which begins at {low:.3f}"
