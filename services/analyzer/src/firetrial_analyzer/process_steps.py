"""How many steps an agent made, what they cost, and what FML-bench credits a run with.

Rates lie in [0, 1] unless an agent made more steps than it was given. None is undefined or unknown.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StepCounts:
    """What was counted over one run, or over several put together. None is unknown."""

    executed: int | None = None
    valid: int | None = None
    assigned: int | None = None
    tokens: int | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class StepRates:
    """Success: valid of executed steps. Completion: executed of assigned. Per step is per executed step."""

    step_success_rate: float | None
    step_completion_rate: float | None
    tokens_per_step: float | None
    seconds_per_step: float | None
    token_cost_millions: float | None
    wall_clock_hours: float | None


def step_rates(counts: StepCounts) -> StepRates:
    return StepRates(
        step_success_rate=_ratio(counts.valid, counts.executed),
        step_completion_rate=_ratio(counts.executed, counts.assigned),
        tokens_per_step=_ratio(counts.tokens, counts.executed),
        seconds_per_step=_ratio(counts.seconds, counts.executed),
        token_cost_millions=_ratio(counts.tokens, 10**6),
        wall_clock_hours=_ratio(counts.seconds, 3600),
    )


def _ratio(part: float | None, whole: float | None) -> float | None:
    return part / whole if part is not None and whole else None


def credited_test(
    measured: float | None, baseline: float, *, all_steps_failed: bool, bug: bool, constraint_violated: bool
) -> float:
    """The test value that counts. A run that has none, or one that may not count, is held at the baseline."""
    if all_steps_failed or bug or constraint_violated or measured is None:
        return baseline
    return measured


def val_test_gap(val: float | None, test: float | None) -> float | None:
    """|improvement in validation - improvement in test|, both normalised."""
    return None if val is None or test is None else abs(val - test)
