"""A calibration for people and for programs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from firetrial_judge.calibration.agreement import VERDICTS, Agreement
from firetrial_judge.estimate import Estimate

FIGURES = ("accuracy", "precision", "recall", "f1", "kappa", "alpha")


def as_dict(found: Agreement) -> dict[str, Any]:
    """Plain values for JSON; what is undefined is null."""
    return {
        "items": found.items,
        **{name: asdict(getattr(found, name)) for name in FIGURES},
        "base_rates": {label.value: share for label, share in found.base_rates.items()},
        "confusion": [
            {"kind": kind, "label": label.value, "verdict": verdict.value, "count": count}
            for (kind, label, verdict), count in found.confusion.items()
        ],
    }


def lines(found: Agreement) -> Iterator[str]:
    """One line a figure, then the table of labels and verdicts."""
    yield f"{found.items} claims that people and the judge decided; ENTAILED against the rest:"
    for name in FIGURES:
        yield f"  {name:<10}{_shown(getattr(found, name))}"
    rates = ", ".join(f"{label.value} {share:.0%}" for label, share in found.base_rates.items())
    yield f"people said: {rates or 'nothing'}"
    yield f"{'people':<14}" + "".join(f"{verdict.value:>14}" for verdict in VERDICTS)
    for label in VERDICTS:
        counts = [
            sum(n for (_, said, by), n in found.confusion.items() if (said, by) == (label, verdict))
            for verdict in VERDICTS
        ]
        yield f"{label.value:<14}" + "".join(f"{count:>14}" for count in counts)


def _shown(estimate: Estimate) -> str:
    if estimate.value is None:
        return "undefined"
    if estimate.low is None or estimate.high is None:
        return f"{estimate.value:.3f}"
    return f"{estimate.value:.3f}  ({estimate.low:.3f} to {estimate.high:.3f})"
