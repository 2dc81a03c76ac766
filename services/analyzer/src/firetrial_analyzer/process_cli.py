"""The JSON of `process-metrics`: read with all faults at once, computed, and written down.

    {"embeddings": [[...], ...] or null, "baseline_embedding": [...]}
    {"val_primary_metrics": [0.4, null, ...], "baseline_primary_metric": 0.5,
     "direction": "higher" | "lower", "p_best": 1.0, "p_worst": 0.0 | "baseline",
     "transform": "none" | "neg_log10"}
    {"total_steps": 5, "assigned_steps": 100, "total_tokens": 12000, "total_duration_seconds": 60.5}

One document may hold all three; each key of the last form may be left out, and `total_steps` is then the
length of `val_primary_metrics`, where null is a failed step. The answer has the fields of `Exploration`,
`Progress` and `StepRates` for what was given.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import TypeVar

import numpy as np

from firetrial_analyzer.process import Exploration, Matrix, Progress, exploration, progress
from firetrial_analyzer.process_steps import StepCounts, step_rates
from firetrial_kit.errors import Fault, check, invalid
from firetrial_kit.improvement import Direction, Worst, neg_log10

# Clustering keeps a square matrix: this many need 0.4 GB.
MAX_STEPS = 5000
# Squares of larger numbers leave the range of a double.
MAX_MAGNITUDE = 1e100

_EXPLORATION = ("embeddings", "baseline_embedding")
_PROGRESS = ("val_primary_metrics", "baseline_primary_metric", "direction", "p_best", "p_worst", "transform")
_COUNTS = ("total_steps", "assigned_steps", "total_tokens", "total_duration_seconds")
_TRANSFORMS: dict[str, Callable[[float | None], float | None]] = {
    "none": lambda value: value,
    "neg_log10": neg_log10,
}
_T = TypeVar("_T")


def read(text: str) -> dict[str, object]:
    """The document in a text. Raises INVALID where it is not a JSON object."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        cure = "must be one JSON object; infinite and missing numbers are null"
        raise invalid("the document", [Fault("FILE", text[:40], f"{cure}: {error}")]) from error
    if not isinstance(document, dict):
        raise invalid(
            "the document", [Fault("FILE", _shown(document), 'must be an object {"embeddings": …}')]
        )
    return document


def measure(document: Mapping[str, object]) -> dict[str, object]:
    """Every metric that the document has the input of. Raises INVALID with all faults."""
    reader = _Reader(document)
    found: dict[str, object] = {}
    explored = reader.exploration() if any(key in document for key in _EXPLORATION) else None
    made = reader.progress() if any(key in document for key in _PROGRESS) else None
    counts = reader.counts(made)
    if not any(key in document for key in (*_EXPLORATION, *_PROGRESS, *_COUNTS)):
        keys = ", ".join(document) or "{}"
        reader.faults.append(Fault("FILE", keys, "must have embeddings or val_primary_metrics"))
    check("the document", reader.faults)
    if explored:
        found |= asdict(explored)
    if made:
        found |= asdict(made)
    if counts:
        found |= asdict(step_rates(counts))
    return found


def lines(found: Mapping[str, object]) -> list[str]:
    """The metrics for people, one a line."""
    return [f"{name.replace('_', ' '):<24}{_told(value)}" for name, value in found.items()]


def _told(value: object) -> str:
    if value is None:
        return "undefined"
    if isinstance(value, tuple):
        return " ".join(_told(part) for part in value)
    return f"{value:.6g}" if isinstance(value, float) else str(value)


class _Reader:
    """Reads fields and gathers what is wrong with them; a faulty field reads as a harmless value."""

    def __init__(self, document: Mapping[str, object]) -> None:
        self._document = document
        self.faults: list[Fault] = []

    def exploration(self) -> Exploration | None:
        embeddings = self._embeddings()
        baseline = self._vector("baseline_embedding", self._document.get("baseline_embedding"))
        if embeddings is not None and baseline is not None and len(baseline) != embeddings.shape[1]:
            cure = f"must have {embeddings.shape[1]} numbers, as the embeddings have"
            self._fault("baseline_embedding", f"{len(baseline)} numbers", cure)
        return None if self.faults else exploration(embeddings, baseline)

    def _embeddings(self) -> Matrix | None:
        given = self._document.get("embeddings")
        if given is None:
            return None
        if not isinstance(given, list) or not given:
            self._fault("embeddings", _shown(given), "must be a list of vectors, one a step; null if unknown")
            return None
        if len(given) > MAX_STEPS:
            self._fault("embeddings", f"{len(given)} vectors", f"at most {MAX_STEPS} are compared")
            return None
        rows = [self._vector(f"embeddings[{n}]", row) for n, row in enumerate(given)]
        if any(row is None for row in rows):
            self._missing(given)
            return None
        width = len(next(row for row in rows if row is not None))
        ragged = [(n, len(row)) for n, row in enumerate(rows) if row is not None and len(row) != width]
        for n, length in ragged:
            self._fault(f"embeddings[{n}]", f"{length} numbers", f"must have {width}, as the first has")
        return None if ragged else np.array(rows, dtype=np.float64)

    def _missing(self, rows: list[object]) -> None:
        for n, row in enumerate(rows):
            if row is None:
                self._fault(f"embeddings[{n}]", "null", "must be a vector; empty code is a vector of zeros")

    def _vector(self, field: str, given: object) -> Matrix | None:
        if given is None:
            return None
        if not isinstance(given, list) or not given:
            self._fault(field, _shown(given), "must be a list of at least one number")
            return None
        numbers = [self._number(f"{field}[{n}]", value) for n, value in enumerate(given)]
        return None if None in numbers else np.array(numbers, dtype=np.float64)

    def progress(self) -> Progress | None:
        given = self._document.get("val_primary_metrics")
        metrics: list[float | None] = []
        if isinstance(given, list):
            metrics = [self._optional(f"val_primary_metrics[{n}]", value) for n, value in enumerate(given)]
        else:
            self._fault("val_primary_metrics", _shown(given), "must be a list; a failed step is null")
        if "baseline_primary_metric" not in self._document:
            self._fault("baseline_primary_metric", "missing", "must be a finite number, or null if unknown")
        baseline = self._optional("baseline_primary_metric", self._document.get("baseline_primary_metric"))
        direction = self._choice("direction", {choice.value: choice for choice in Direction})
        best = self._number("p_best", self._document.get("p_best"))
        worst = self._worst()
        transform = self._choice("transform", _TRANSFORMS, default="none")
        if direction is None or best is None or worst is None or transform is None or self.faults:
            return None
        values = [transform(value) for value in metrics]
        return progress(values, transform(baseline), direction, best, worst)

    def _worst(self) -> Worst | None:
        given = self._document.get("p_worst")
        if given == "baseline":
            return "baseline"
        return self._number("p_worst", given, 'must be a number or "baseline"')

    def counts(self, made: Progress | None) -> StepCounts | None:
        steps = self._count("total_steps")
        assigned, tokens = self._count("assigned_steps"), self._count("total_tokens")
        seconds = self._optional("total_duration_seconds", self._document.get("total_duration_seconds"))
        if seconds is not None and seconds < 0:
            self._fault("total_duration_seconds", _shown(seconds), "must be at least 0")
        if made is None:
            given = any(key in self._document for key in _COUNTS)
            return StepCounts(steps, None, assigned, tokens, seconds) if given else None
        if steps is not None and steps < made.n_steps:
            self._fault("total_steps", str(steps), f"must be at least {made.n_steps}, the metrics given")
        executed = made.n_steps if steps is None else steps
        return StepCounts(executed, made.n_valid, assigned, tokens, seconds)

    def _count(self, field: str) -> int | None:
        given = self._document.get(field)
        if given is None or (isinstance(given, int) and not isinstance(given, bool) and given >= 0):
            return given
        self._fault(field, _shown(given), "must be a whole number of at least 0")
        return None

    def _choice(self, field: str, choices: Mapping[str, _T], default: str | None = None) -> _T | None:
        given = self._document.get(field, default)
        if isinstance(given, str) and given in choices:
            return choices[given]
        self._fault(field, _shown(given), f"must be one of {', '.join(choices)}")
        return None

    def _optional(self, field: str, given: object) -> float | None:
        return None if given is None else self._number(field, given, "must be a finite number or null")

    def _number(self, field: str, given: object, cure: str = "must be a finite number") -> float | None:
        if isinstance(given, bool) or not isinstance(given, int | float) or _too_large(given):
            self._fault(field, _shown(given), f"{cure}, of magnitude at most {MAX_MAGNITUDE:g}")
            return None
        return float(given)

    def _fault(self, field: str, value: str, cure: str) -> None:
        self.faults.append(Fault(field, value, cure))


def _too_large(number: float) -> bool:
    return not (isinstance(number, int) or math.isfinite(number)) or abs(number) > MAX_MAGNITUDE


def _shown(value: object) -> str:
    return json.dumps(value, default=str)[:80]
