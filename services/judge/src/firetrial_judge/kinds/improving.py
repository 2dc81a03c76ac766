"""What a repository run is worth: how far its best validated step lies above the baseline in the sealed test.

Formulas and credit rules are those of FML-bench's scorer. A run that has nothing to be tested, or whose test
may not count, is held at the baseline: its improvement is 0, not unknown.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from firetrial_kit.improvement import Direction, Worst, neg_log10, normalized_improvement, primary_metric

MEASURE = "normalized_improvement"
MAX_FINDINGS = 200


@dataclass(frozen=True, slots=True)
class Scale:
    """The metric of a task and what it is held against.

    `direction`, `best` and `worst` are those of values as `seen`: -log10 of what was measured where
    `negative_log10`. Baselines are as measured; None where they are unknown.
    """

    key: str
    datasets: tuple[str, ...]
    direction: Direction
    best: float
    worst: Worst
    baseline_validation: float | None
    baseline_test: float | None
    negative_log10: bool = False

    def seen(self, value: float | None) -> float | None:
        """A measured value as values are compared; None where it has none, as 0 has no logarithm."""
        return neg_log10(value) if self.negative_log10 else value

    def improvement(self, value: float | None, baseline: float | None) -> float | None:
        """Of a measured value over a measured baseline, 0 or more; None where it is undefined."""
        ends = (self.direction, self.best, self.worst)
        return normalized_improvement(self.seen(value), self.seen(baseline), *ends)

    def of(self, results: bytes) -> float | None:
        """The figure in a file of results, which is a stranger's; None where none can be compared."""
        try:
            told = json.loads(results)
        except (ValueError, RecursionError):
            return None
        found = primary_metric(told, self.key, self.datasets or None) if isinstance(told, dict) else None
        return None if self.improvement(found, self.baseline_test) is None else found


@dataclass(frozen=True, slots=True)
class Step:
    """A step of a run; `metric` where it is valid, `files` the sha256 of target files by path."""

    number: int
    metric: float | None
    files: Mapping[str, str]
    findings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TrialEnd:
    """How a sealed test ended. `why_not` says what is wrong with it, "" for nothing; `value` is measured."""

    value: float | None
    why_not: str = ""
    findings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Result:
    """See firetrial.judge.v1.SealedResult."""

    step: int
    validation: float | None
    test: float
    validation_improvement: float | None
    test_improvement: float | None
    no_credit: str
    findings: tuple[str, ...]


def best(steps: Sequence[Step], scale: Scale) -> Step | None:
    """The valid step with the best metric, the last of equals: the one that the scorer calls best, too."""
    seen = [(scale.seen(step.metric), step) for step in steps]
    valid = [(value, step) for value, step in seen if value is not None]
    if not valid:
        return None
    values = [value for value, _ in valid]
    goal = max(values) if scale.direction is Direction.HIGHER else min(values)
    return [step for value, step in valid if value == goal][-1]


def result(scale: Scale, steps: Sequence[Step], tested: TrialEnd | None) -> Result:
    """What a run comes to. `tested` is the test of its best step; None where no step is valid.

    The baseline of the test must be known.
    """
    assert scale.baseline_test is not None  # noqa: S101 -- see above
    chosen = best(steps, scale)
    why = _no_credit(chosen, tested)
    counted = tested is not None and not why
    test = tested.value if counted and tested and tested.value is not None else scale.baseline_test
    told = [f"step {step.number}: {finding}" for step in steps for finding in step.findings]
    told += [f"test: {finding}" for finding in tested.findings] if tested else []
    validation = chosen.metric if chosen else None
    return Result(
        step=chosen.number if chosen else 0,
        validation=validation,
        test=test,
        validation_improvement=scale.improvement(
            validation if chosen else scale.baseline_validation, scale.baseline_validation
        ),
        test_improvement=scale.improvement(test, scale.baseline_test),
        no_credit=why,
        findings=tuple(told[:MAX_FINDINGS]),
    )


def _no_credit(chosen: Step | None, tested: TrialEnd | None) -> str:
    if chosen is None:
        return "no valid step"
    if tested is None:
        return "no test"
    if tested.why_not:
        return tested.why_not
    return "" if tested.value is not None else "the test told no metric"
