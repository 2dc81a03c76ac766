"""Protobuf ↔ domain, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime

from firetrial.artifact.v1 import artifact_pb2
from firetrial.judge.v1 import judgement_pb2
from firetrial.plan.v1 import plan_pb2
from firetrial_judge.claims import Claim
from firetrial_judge.judgement import Judgement
from firetrial_judge.judges import Backend
from firetrial_judge.score import Score
from firetrial_judge.verdict import Ruling, Verdict
from firetrial_kit.errors import Fault, check
from firetrial_kit.objects import ObjectRef

# Ids become keys of state and objects.
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}")
_BACKENDS = {
    plan_pb2.JudgeConfig.BACKEND_UNSPECIFIED: Backend.DEFAULT,
    plan_pb2.JudgeConfig.BACKEND_OFFLINE: Backend.OFFLINE,
    plan_pb2.JudgeConfig.BACKEND_MODEL: Backend.MODEL,
}
_MODES = (plan_pb2.JudgeConfig.MODE_UNSPECIFIED, plan_pb2.JudgeConfig.MODE_TEXT)
_SHOWN = 1000  # characters of a passage: hostile text has sentences of any length
_VERDICTS = {verdict: getattr(judgement_pb2, f"VERDICT_{verdict}") for verdict in Verdict}


def is_id(value: str) -> bool:
    """Whether something can have this id."""
    return _ID.fullmatch(value) is not None


def config_to_domain(config: plan_pb2.JudgeConfig) -> tuple[Backend, str]:
    """The backend and model that a plan asks for. Raises INVALID for values that are not known."""
    faults = []
    if config.backend not in _BACKENDS:
        faults.append(Fault("judge.backend", str(config.backend), "must be offline, model or unspecified"))
    if config.mode not in _MODES:
        faults.append(Fault("judge.mode", str(config.mode), "must be text or unspecified"))
    if config.model and config.backend == plan_pb2.JudgeConfig.BACKEND_OFFLINE:
        faults.append(Fault("judge.model", config.model, "must be empty: the offline judge asks no model"))
    check("the judge's configuration", faults)
    return _BACKENDS[config.backend], config.model


def judgement_to_wire(
    judgement: Judgement,
    *,
    run_id: str,
    task_id: str,
    conclusion: str,
    truth: str,
    quality: str,
    at: datetime,
) -> judgement_pb2.Judgement:
    """The judgement as it is kept: evidence as the passage itself, cut from the other side's text."""
    offline = judgement.config.backend == Backend.OFFLINE
    wired = judgement_pb2.Judgement(
        id=judgement.id,
        run_id=run_id,
        task_id=task_id,
        config=plan_pb2.JudgeConfig(
            backend=plan_pb2.JudgeConfig.BACKEND_OFFLINE if offline else plan_pb2.JudgeConfig.BACKEND_MODEL,
            model="" if offline else judgement.config.model,
            mode=plan_pb2.JudgeConfig.MODE_TEXT,
        ),
        config_hash=judgement.config.hash,
        agent_claims=_claims(judgement.agent_claims, judgement.agent_rulings, truth),
        truth_claims=_claims(judgement.truth_claims, judgement.truth_rulings, conclusion),
        scores=_scores(judgement.score),
        usage=judgement_pb2.JudgeUsage(
            calls=judgement.spent.calls,
            prompt_tokens=judgement.spent.prompt_tokens,
            completion_tokens=judgement.spent.completion_tokens,
        ),
        quality="; ".join((quality, *judgement.notes)),
    )
    wired.judged_at.FromDatetime(at)
    return wired


def _claims(
    claims: Sequence[Claim], rulings: Sequence[Ruling], other_side: str
) -> Iterator[judgement_pb2.ClaimVerdict]:
    for claim, ruling in zip(claims, rulings, strict=True):
        span = ruling.evidence
        yield judgement_pb2.ClaimVerdict(
            id=claim.id,
            text=claim.text,
            verdict=_VERDICTS[ruling.verdict],
            rationale=ruling.rationale,
            evidence=other_side[span.start : span.end][:_SHOWN] if span else "",
            start=claim.start,
            end=claim.end,
            kind=claim.kind.value,
        )


def _scores(score: Score) -> judgement_pb2.Scores:
    return judgement_pb2.Scores(
        precision=score.precision,
        recall=score.recall,
        f1=score.f1,
        true_positives=score.tp,
        false_positives=score.fp,
        false_negatives=score.fn,
        unscored=score.unscored,
    )


def ref_to_wire(ref: ObjectRef) -> artifact_pb2.ArtifactRef:
    return artifact_pb2.ArtifactRef(uri=ref.uri, sha256=ref.sha256, size=ref.size, media_type=ref.media_type)
