"""Protobuf ↔ domain, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime

from google.protobuf.duration_pb2 import Duration
from google.protobuf.json_format import Parse, ParseError
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp

from firetrial.analyzer.v1 import analysis_pb2, analyzer_service_pb2
from firetrial.judge.v1 import judgement_pb2
from firetrial.parser.v1 import task_pb2
from firetrial.plan.v1 import plan_pb2
from firetrial.runner.v1 import run_pb2
from firetrial_analyzer.analysis import SEALED_TEST, AnalysedRun, Judge
from firetrial_analyzer.attribution_wire import attribution_to_wire
from firetrial_analyzer.claims import JudgedClaim, Judgement, Verdict, f1
from firetrial_analyzer.integrity_wire import integrity_to_wire
from firetrial_analyzer.kinds.repository_wire import sealed_to_domain
from firetrial_analyzer.kinds.validity import Condition
from firetrial_analyzer.memory import difficulty
from firetrial_analyzer.outcomes import F1, Outcome, RunOutcome, Usage
from firetrial_analyzer.record import Plan, ReportRecord
from firetrial_analyzer.render import Format
from firetrial_analyzer.report import Task
from firetrial_kit.errors import Fault, FiretrialError, Reason, check, invalid
from firetrial_kit.references import ref_to_wire

# Ids become keys of state and objects.
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}")
_OUTCOMES = {getattr(run_pb2, f"OUTCOME_{outcome}"): outcome for outcome in Outcome}
_VERDICTS = {getattr(judgement_pb2, f"VERDICT_{verdict}"): verdict for verdict in Verdict}
_FORMATS = {
    analyzer_service_pb2.FORMAT_JSON: Format.JSON,
    analyzer_service_pb2.FORMAT_HTML: Format.HTML,
    analyzer_service_pb2.FORMAT_MARKDOWN: Format.MARKDOWN,
    analyzer_service_pb2.FORMAT_LATEX: Format.LATEX,
    analyzer_service_pb2.FORMAT_CSV: Format.CSV,
    analyzer_service_pb2.FORMAT_PARQUET: Format.PARQUET,
}
_BACKENDS = {
    plan_pb2.JudgeConfig.BACKEND_UNSPECIFIED: "default",
    plan_pb2.JudgeConfig.BACKEND_OFFLINE: "offline",
    plan_pb2.JudgeConfig.BACKEND_MODEL: "model",
}
_PROVENANCES = {
    run_pb2.PROVENANCE_ELSEWHERE: "elsewhere",
    run_pb2.PROVENANCE_SELF_REPORTED: "self_reported",
}
_ENDINGS = {
    run_pb2.TERMINATION_TIMED_OUT: "stopped at its time limit",
    run_pb2.TERMINATION_OOM_KILLED: "killed for memory",
    run_pb2.TERMINATION_CANCELLED: "cancelled",
    run_pb2.TERMINATION_OUTPUT_LIMIT: "stopped at its output limit",
    run_pb2.TERMINATION_LOST: "lost with its runner",
    run_pb2.TERMINATION_DISK_LIMIT: "stopped at its disk limit",
    run_pb2.TERMINATION_GATE: "never started: its proposal did not pass",
}


def outcome_of(run: run_pb2.Run) -> Outcome | None:
    """The run's outcome, or None where a judge decides. Raises INVALID for one that is not known."""
    if run.outcome == run_pb2.OUTCOME_UNSPECIFIED:
        return None
    if run.outcome not in _OUTCOMES:
        cure = f"must be one of {', '.join(Outcome)}"
        raise invalid("the run", [Fault("run.outcome", str(run.outcome), cure)])
    return _OUTCOMES[run.outcome]


def run_to_domain(
    run: run_pb2.Run,
    outcome: Outcome,
    *,
    scores: judgement_pb2.Scores | None = None,
    reason: str = "",
) -> RunOutcome:
    """The run as it ended. Raises INVALID for an id that cannot be a key; "" is no experiment."""
    faults = [
        Fault(f"run.{name}", value, "must be letters, digits, _ and -, at most 128")
        for name, value in (("id", run.id), ("experiment_id", run.experiment_id))
        if not _ID.fullmatch(value) and (value or name == "id")
    ]
    check("the run", faults)
    return RunOutcome(
        run_id=run.id,
        experiment=run.experiment_id,
        task=run.task_id,
        agent=run.agent_id,
        repeat=run.repeat,
        attempt=run.attempt,
        outcome=outcome,
        precision=_set(scores, "precision"),
        recall=_set(scores, "recall"),
        f1=_set(scores, "f1"),
        usage=_usage(run.usage) if run.HasField("usage") and "usage" not in run.lacking else Usage(),
        ending=_ending(run),
        reason=reason or run.reason,
        started_at=_time(run, "started_at"),
        ended_at=_time(run, "ended_at"),
        superseded=run.superseded,
        model=run.model,
        provenance=_PROVENANCES.get(run.provenance, "here"),
        made_by=run.made_by,
        measure=(scores.measure if scores is not None else "") or F1,
        value=_set(scores, "score") if scores is not None and scores.measure not in {"", F1} else None,
        pool=run.pool,
    )


def _set(scores: judgement_pb2.Scores | None, name: str) -> float | None:
    return getattr(scores, name) if scores is not None and scores.HasField(name) else None  # type: ignore[arg-type]


def _usage(usage: run_pb2.Usage) -> Usage:
    return Usage(
        wall_seconds=_seconds(usage.wall_time) if usage.HasField("wall_time") else None,
        cpu_seconds=_seconds(usage.cpu_time) if usage.HasField("cpu_time") else None,
        max_rss_bytes=usage.max_rss_bytes or None,
        tokens=usage.tokens if usage.HasField("tokens") else None,
        usd=usage.cost_usd if usage.HasField("cost_usd") else None,
        gpu_seconds=_seconds(usage.gpu_time) if usage.HasField("gpu_time") else None,
        cached_tokens=usage.cached_tokens if usage.HasField("cached_tokens") else None,
        prompt_tokens=usage.prompt_tokens if usage.HasField("prompt_tokens") else None,
        completion_tokens=usage.completion_tokens if usage.HasField("completion_tokens") else None,
        model_calls=usage.model_calls,
        unpriced_calls=usage.unpriced_calls,
    )


def _seconds(duration: Duration) -> float:
    return duration.seconds + duration.nanos / 1e9


def _ending(run: run_pb2.Run) -> str:
    if not run.HasField("exit"):
        return ""
    if ending := _ENDINGS.get(run.exit.termination):
        return ending
    status = run.exit.WhichOneof("status")
    if status == "signal":
        return f"killed by signal {run.exit.signal}"
    return f"exited with {run.exit.code}" if status == "code" else "exited"


def _time(told: Message, name: str) -> datetime | None:
    stamp: Timestamp = getattr(told, name)
    return stamp.ToDatetime(UTC) if told.HasField(name) else None


def plan_to_domain(slip: plan_pb2.Slip) -> Plan:
    plan = slip.plan
    agents = tuple(dict.fromkeys(plan.agents))
    return Plan(slip.expected_runs, agents, plan.repeats, plan.model, plan.probe, plan.release)


def judgement_to_domain(data: bytes) -> tuple[Judge, Judgement]:
    """Raises CORRUPT for bytes that are no judgement, INVALID for a verdict that is not known."""
    try:
        judgement = Parse(data, judgement_pb2.Judgement(), ignore_unknown_fields=True)
    except (ParseError, UnicodeDecodeError) as error:
        raise FiretrialError(Reason.CORRUPT, f"the judgement cannot be read: {error}") from error
    judge = Judge(
        SEALED_TEST
        if judgement.HasField("sealed")
        else _BACKENDS.get(judgement.config.backend, str(judgement.config.backend)),
        judgement.config.model,
        judgement.config_hash,
        judgement.quality,
        judgement.calibration_id,
    )
    return judge, Judgement(
        judgement.run_id,
        tuple(_claim(claim) for claim in judgement.agent_claims),
        tuple(_claim(claim) for claim in judgement.truth_claims),
        _time(judgement, "judged_at"),
        tuple(judgement.flags),
        _judgings(judgement),
        sealed_to_domain(judgement.sealed) if judgement.HasField("sealed") else None,
        tuple(
            Condition(c.name, c.passed, c.total, c.unscored, c.p if c.HasField("p") else None)
            for c in judgement.conditions
        ),
    )


def _judgings(judgement: judgement_pb2.Judgement) -> tuple[float, ...]:
    """F1 by each turn of the panel alone, where it had several; without the turns that leave it undefined."""
    sides = (judgement.agent_claims, judgement.truth_claims)
    turns = dict.fromkeys(
        (vote.judge, vote.repeat) for claims in sides for claim in claims for vote in claim.votes
    )
    scores = [f1(*(_spoken(turn, claims) for claims in sides)) for turn in turns]
    return tuple(score for score in scores if score is not None)


def _spoken(turn: tuple[str, int], claims: Iterable[judgement_pb2.ClaimVerdict]) -> list[Verdict]:
    """What the turn said of these claims."""
    said = (vote for claim in claims for vote in claim.votes if (vote.judge, vote.repeat) == turn)
    return [_VERDICTS.get(vote.verdict, Verdict.UNSCORED) for vote in said]


def _claim(claim: judgement_pb2.ClaimVerdict) -> JudgedClaim:
    if claim.verdict not in _VERDICTS:
        cure = f"must be one of {', '.join(Verdict)}"
        raise invalid("the judgement", [Fault(f"{claim.id}.verdict", str(claim.verdict), cure)])
    return JudgedClaim(claim.id, claim.text, _VERDICTS[claim.verdict], claim.evidence, claim.rationale)


def task_to_domain(data: bytes) -> Task:
    """Raises CORRUPT for bytes that are no task."""
    try:
        task = Parse(data, task_pb2.Task(), ignore_unknown_fields=True)
    except (ParseError, UnicodeDecodeError) as error:
        raise FiretrialError(Reason.CORRUPT, f"the task cannot be read: {error}") from error
    rated = task.difficulty
    axes = (rated.conceptual_decomposition, rated.confound_control, rated.analysis_complexity)
    return Task(task.id, task.question, tuple(task.broken), difficulty(axes), task.published)


def report_to_wire(record: ReportRecord) -> analysis_pb2.Report:
    report = analysis_pb2.Report(
        experiment_id=record.experiment_id,
        ended_runs=record.ended,
        expected_runs=record.plan.expected_runs,
        complete=record.complete,
        failure=record.failure,
    )
    report.changed_at.FromDatetime(record.changed_at)
    fields = {Format.HTML: report.html, Format.MARKDOWN: report.markdown, Format.JSON: report.json}
    for form, field in fields.items():
        if ref := record.formats.get(form):
            field.CopyFrom(ref_to_wire(ref))
    return report


def analysis_to_wire(item: AnalysedRun) -> analysis_pb2.Analysis:
    analysis = analysis_pb2.Analysis(run_id=item.run.run_id, experiment_id=item.run.experiment)
    if item.attribution:
        analysis.attribution.CopyFrom(attribution_to_wire(item))
    if item.integrity:
        analysis.integrity.CopyFrom(integrity_to_wire(item.integrity))
    return analysis


def format_to_domain(form: analyzer_service_pb2.Format.ValueType) -> Format:
    """Raises INVALID where no format is named."""
    if form not in _FORMATS:
        cure = f"must be one of {', '.join(_FORMATS.values())}"
        raise invalid("the request", [Fault("format", str(form), cure)])
    return _FORMATS[form]


def id_to_domain(field: str, value: str) -> str:
    """Raises INVALID for an id that nothing can have."""
    if not _ID.fullmatch(value):
        cure = "must be letters, digits, _ and -, at most 128"
        raise invalid("the request", [Fault(field, value, cure)])
    return value
