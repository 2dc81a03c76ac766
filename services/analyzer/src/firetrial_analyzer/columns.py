"""Analysed runs as columns: `firetrial.runs/1`, one row for each judgement of each attempt.

What COLUMNS lists is the whole schema, of the kept tables as of the exports in CSV and Parquet. Null is
"unknown" or "undefined" and never 0; scores lie in [0, 1], but for improvements, which are at least 0; the
figures of use are those of `outcomes.Usage`.
A column may be added under the same name; a changed or removed one makes it `firetrial.runs/2`.

A row is what one run comes to as JSON values, so that it can wait in a record of state: times are
microseconds since 1970, and a column that is null is left out. Long texts are cut; the whole is in the run's
analysis.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl

from firetrial_analyzer.analysis import AnalysedRun, Judge
from firetrial_analyzer.attribution import Attribution
from firetrial_analyzer.claims import Judgement, Verdict
from firetrial_analyzer.integrity.findings import Integrity, Trace
from firetrial_analyzer.kinds.repository import Improvement
from firetrial_analyzer.kinds.validity import CONDITIONS, column
from firetrial_analyzer.outcomes import F1, METRICS, USAGE_FIELDS, Outcome, RunOutcome, Usage
from firetrial_analyzer.taxonomy.catalogue import ErrorType, FalsePositiveKind

SCHEMA = "firetrial.runs/1"
Row = Mapping[str, Any]
# A run and the judgement that it was analysed with.
Key = tuple[str, str]
_TIME = pl.Datetime("us", "UTC")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
# Characters of a text that a row keeps.
_TEXT = 400

# Type of error → the column that counts the missed claims that it explains; "" is those that nothing settles.
MISSED = {kind.value: f"missed_{kind.value.lower()}" for kind in ErrorType} | {"": "missed_unsettled"}
FALSE = {kind.value: f"false_{kind.value.lower()}" for kind in FalsePositiveKind}
NUMBERS = {trace.value: f"numbers_{trace.value}" for trace in Trace}
CLAIMS = {verdict: f"claims_{verdict.value.lower()}" for verdict in Verdict}
TRUTHS = {verdict: f"truths_{verdict.value.lower()}" for verdict in Verdict}
_WHOLE = ("max_rss_bytes", "tokens", "cached_tokens", "prompt_tokens", "completion_tokens", "model_calls",
          "unpriced_calls")  # fmt: skip

# Column → where an Improvement has it.
_IMPROVED = {
    "metric": "metric", "metric_direction": "direction", "no_credit": "no_credit",
    "steps": "steps", "steps_valid": "valid", "steps_void": "void", "steps_assigned": "assigned",
    "tested_step": "tested_step", "first_improvement_step": "first_improvement_step",
    "best_improvement_step": "best_improvement_step",
    "baseline_validation": "baseline_validation", "baseline_test": "baseline_test",
    "validation": "validation", "test": "test", "validation_improvement": "validation_improvement",
    "test_improvement": "test_improvement", "val_test_gap": "val_test_gap", "auc": "auc",
    "late_gain_fraction": "late_gain_fraction",
}  # fmt: skip
EXPLORATION = ("exploration_spread", "exploration_uniqueness", "exploration_reach", "effective_dim")
_TEXTS = ("metric", "metric_direction", "no_credit")
IMPROVEMENT: dict[str, pl.DataType] = {
    **{
        name: pl.String() if name in _TEXTS else pl.Int32() if "step" in name else pl.Float64()
        for name in _IMPROVED
    },
    **dict.fromkeys(EXPLORATION, pl.Float64()),
}

COLUMNS: dict[str, pl.DataType] = {
    "experiment": pl.String(),
    "task": pl.String(),
    "agent": pl.String(),
    "model": pl.String(),
    "repeat": pl.Int32(),
    "attempt": pl.Int32(),
    "run_id": pl.String(),
    # True where another attempt follows, so that the slot has not ended with this one.
    "superseded": pl.Boolean(),
    # "here", "elsewhere" or "self_reported".
    "provenance": pl.String(),
    # Who made a run that was imported, as they say; empty for those made here.
    "made_by": pl.String(),
    "outcome": pl.String(),
    "reason": pl.String(),
    "ending": pl.String(),
    **dict.fromkeys(METRICS, pl.Float64()),
    # What enters a mean, and what it is: "f1", "normalized_improvement" or "validity". Null means "f1".
    "score": pl.Float64(),
    "measure": pl.String(),
    # Shares of passed questions by condition, of a follow-up run that was graded.
    **{column(name): pl.Float64() for name in CONDITIONS},
    **{name: pl.Int64() if name in _WHOLE else pl.Float64() for name in USAGE_FIELDS},
    "started_at": _TIME,
    "ended_at": _TIME,
    # Empty where the run was not judged.
    "judgement_id": pl.String(),
    "judged_at": _TIME,
    "judge_backend": pl.String(),
    "judge_model": pl.String(),
    "judge_config": pl.String(),
    # Of the calibration that speaks for the judge; empty for a judge that was not calibrated.
    "judge_calibration": pl.String(),
    "judge_quality": pl.String(),
    "judge_flags": pl.List(pl.String()),
    # F1 by each turn of the panel, where the run was judged more than once.
    "judgings": pl.List(pl.Float64()),
    # Claims of the conclusion, and of the ground truth, by verdict.
    **dict.fromkeys(CLAIMS.values(), pl.Int32()),
    **dict.fromkeys(TRUTHS.values(), pl.Int32()),
    # False claims by kind, and missed ground truth by type of error.
    **dict.fromkeys(FALSE.values(), pl.Int32()),
    **dict.fromkeys(MISSED.values(), pl.Int32()),
    # Type of error of a run that failed as a whole; empty where nothing settles it, null where it was judged.
    "failure_type": pl.String(),
    "attribution_method": pl.String(),
    "attribution_usd": pl.Float64(),
    "attribution_tokens": pl.Int64(),
    "taxonomy": pl.String(),
    # Numbers of the conclusion by where they come from; null where they were not looked up.
    **dict.fromkeys(NUMBERS.values(), pl.Int32()),
    "integrity_findings": pl.List(pl.String()),
    "integrity_complete": pl.Boolean(),
    "fingerprint": pl.String(),
    # Of repository runs: `kinds.repository.Improvement`, with values of the metric as they are compared.
    **IMPROVEMENT,
}
TIMES = tuple(name for name, type_ in COLUMNS.items() if type_ == _TIME)
# As rows carry them: times as numbers.
_CARRIED = {name: pl.Int64() if name in TIMES else type_ for name, type_ in COLUMNS.items()}


def row(item: AnalysedRun) -> Row:
    """What the run comes to."""
    cells = _run(item.run) | {"judgement_id": item.judgement_id} | _judge(item.judge)
    if item.judgement:
        cells |= _judgement(item.judgement)
    if item.attribution:
        cells |= _attribution(item.attribution, judged=item.judgement is not None)
    if item.integrity:
        cells |= _integrity(item.integrity)
    if item.improvement:
        cells |= _improvement(item.improvement)
    return {name: value for name, value in cells.items() if value is not None}


def key(cells: Row) -> Key:
    """What tells rows apart. The same twice is one."""
    return cells["run_id"], cells["judgement_id"]


def key_of(item: AnalysedRun) -> Key:
    """The key of its row."""
    return item.run.run_id, item.judgement_id


def frame(rows: Iterable[Row]) -> pl.DataFrame:
    """Rows as a table of COLUMNS, in their order."""
    held = list(rows)
    series = [pl.Series(name, [cells.get(name) for cells in held], type_) for name, type_ in _CARRIED.items()]
    return pl.DataFrame(series).with_columns(pl.col(name).cast(_TIME) for name in TIMES)


def outcome(cells: Mapping[str, Any]) -> RunOutcome:
    """The run as it ended, from a row of a table, its times as datetimes."""
    measure = cells["measure"] or F1
    return RunOutcome(
        outcome=Outcome(cells["outcome"]),
        measure=measure,
        value=None if measure == F1 else cells["score"],
        usage=Usage(**{name: cells[name] for name in USAGE_FIELDS}),
        **{name: cells[name] for name in _PLAIN},
    )


def empty() -> pl.DataFrame:
    return pl.DataFrame(schema=COLUMNS)


def concat(tables: Sequence[pl.DataFrame]) -> pl.DataFrame:
    return pl.concat(tables) if tables else empty()


_PLAIN = (
    "run_id", "experiment", "task", "agent", "repeat", "attempt", *METRICS, "ending", "reason", "started_at",
    "ended_at", "superseded", "model", "provenance", "made_by",
)  # fmt: skip


def _run(run: RunOutcome) -> dict[str, Any]:
    cells = {name: _carried(getattr(run, name)) for name in _PLAIN}
    cells |= {name: getattr(run.usage, name) for name in USAGE_FIELDS}
    return cells | {"outcome": run.outcome.value, "score": run.worth, "measure": run.measure}


def _judge(judge: Judge | None) -> dict[str, Any]:
    if judge is None:
        return {}
    return {
        "judge_backend": judge.backend,
        "judge_model": judge.model,
        "judge_config": judge.config_hash,
        "judge_calibration": judge.calibration_id,
        "judge_quality": _carried(judge.quality),
    }


def _judgement(judgement: Judgement) -> dict[str, Any]:
    claims = Counter(claim.verdict for claim in judgement.agent_claims)
    truths = Counter(claim.verdict for claim in judgement.truth_claims)
    return {
        "judged_at": _carried(judgement.judged_at),
        "judge_flags": list(judgement.flags),
        "judgings": list(judgement.judgings),
        **{column(one.name): one.p for one in judgement.conditions if one.name in CONDITIONS},
        **{name: claims[verdict] for verdict, name in CLAIMS.items()},
        **{name: truths[verdict] for verdict, name in TRUTHS.items()},
    }


def _attribution(found: Attribution, *, judged: bool) -> dict[str, Any]:
    told = {
        "attribution_method": found.method,
        "attribution_usd": found.usage.usd,
        "attribution_tokens": found.usage.tokens,
        "taxonomy": found.taxonomy_version,
    }
    if not judged:
        return told | {"failure_type": found.failure.type if found.failure else None}
    kinds = Counter(false.kind.value for false in found.false_positives)
    types = Counter(missed.type if missed.type in MISSED else "" for missed in found.missed)
    return (
        told
        | {name: kinds[kind] for kind, name in FALSE.items()}
        | {name: types[type_] for type_, name in MISSED.items()}
    )


def _integrity(found: Integrity) -> dict[str, Any]:
    traces = Counter(number.trace.value for number in found.numbers)
    return {
        **{name: traces[trace] for trace, name in NUMBERS.items()},
        "integrity_findings": sorted({finding.name for finding in found.findings}),
        "integrity_complete": found.complete,
        "fingerprint": found.fingerprint,
    }


def _improvement(found: Improvement) -> dict[str, Any]:
    cells = {name: _carried(getattr(found, field)) for name, field in _IMPROVED.items()}
    return cells | {name: getattr(found.exploration, name) for name in EXPLORATION}


def _carried(value: Any) -> Any:
    """As JSON can carry it and a row may hold it."""
    if isinstance(value, datetime):
        return (value - _EPOCH) // _MICROSECOND
    if isinstance(value, str):
        return _encodable(value if len(value) <= _TEXT else f"{value[:_TEXT]} … [cut]")
    return value


def _encodable(text: str) -> str:
    """Lone surrogates, which no UTF-8 can carry, become U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
