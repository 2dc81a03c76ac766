"""Protobuf ↔ domain, and nothing else."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from datetime import datetime

from firetrial.judge.v1 import entailment_pb2, judgement_pb2
from firetrial.plan.v1 import plan_pb2
from firetrial_judge.claims import Claim
from firetrial_judge.judge import Convention, JudgeConfig, Mode
from firetrial_judge.judgement import Judgement
from firetrial_judge.judges import Backend, Spec
from firetrial_judge.panel import Opinion
from firetrial_judge.score import Score
from firetrial_judge.verdict import Ruling, Verdict
from firetrial_kit.asking import Spent
from firetrial_kit.errors import Fault, check

# Ids become keys of state and objects.
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}")
_BACKENDS = {
    plan_pb2.JudgeConfig.BACKEND_UNSPECIFIED: Backend.DEFAULT,
    plan_pb2.JudgeConfig.BACKEND_OFFLINE: Backend.OFFLINE,
    plan_pb2.JudgeConfig.BACKEND_MODEL: Backend.MODEL,
}
_MODES = {
    plan_pb2.JudgeConfig.MODE_UNSPECIFIED: Mode.TEXT,
    plan_pb2.JudgeConfig.MODE_TEXT: Mode.TEXT,
    plan_pb2.JudgeConfig.MODE_SET: Mode.SET,
}
_CONVENTIONS = {
    plan_pb2.JudgeConfig.CONVENTION_UNSPECIFIED: Convention.UNDEFINED,
    plan_pb2.JudgeConfig.CONVENTION_UNDEFINED: Convention.UNDEFINED,
    plan_pb2.JudgeConfig.CONVENTION_RAGCHECKER: Convention.RAGCHECKER,
}
_MODE = {Mode.TEXT: plan_pb2.JudgeConfig.MODE_TEXT, Mode.SET: plan_pb2.JudgeConfig.MODE_SET}
_CONVENTION = {
    Convention.UNDEFINED: plan_pb2.JudgeConfig.CONVENTION_UNDEFINED,
    Convention.RAGCHECKER: plan_pb2.JudgeConfig.CONVENTION_RAGCHECKER,
}
_MOST_MEMBERS = 8
_MOST_REPEATS = 9
_SHOWN = 1000  # characters of a passage: hostile text has sentences of any length
_VERDICTS = {verdict: getattr(judgement_pb2, f"VERDICT_{verdict}") for verdict in Verdict}


def is_id(value: str) -> bool:
    """Whether something can have this id."""
    return _ID.fullmatch(value) is not None


def config_to_domain(config: plan_pb2.JudgeConfig) -> tuple[Backend, str]:
    """The backend and model that a plan asks for. Raises INVALID for values that are not known."""
    spec = spec_to_domain(config)
    return spec.backend, spec.model


def spec_to_domain(config: plan_pb2.JudgeConfig) -> Spec:
    """What a plan asks for. Raises INVALID with every fault."""
    check("the judge's configuration", [*_faults(config), *_model_faults(config)])
    return Spec(
        backend=_BACKENDS[config.backend],
        model=config.model,
        mode=_MODES[config.mode],
        core_idea=config.core_idea,
        panel=tuple(config.panel),
        repeats=config.judge_repeats or 1,
        convention=_CONVENTIONS[config.convention],
        max_cost_usd=config.max_cost_usd if config.HasField("max_cost_usd") else None,
    )


def _faults(config: plan_pb2.JudgeConfig) -> Iterator[Fault]:
    if config.backend not in _BACKENDS:
        yield Fault("judge.backend", str(config.backend), "must be offline, model or unspecified")
    if config.mode not in _MODES:
        yield Fault("judge.mode", str(config.mode), "must be text, set or unspecified")
    if config.convention not in _CONVENTIONS:
        yield Fault("judge.convention", str(config.convention), "must be undefined or ragchecker")
    if not 0 <= config.judge_repeats <= _MOST_REPEATS:
        yield Fault("judge.judge_repeats", str(config.judge_repeats), f"must be 0 to {_MOST_REPEATS}")
    if config.HasField("max_cost_usd") and not 0 < config.max_cost_usd < math.inf:
        yield Fault("judge.max_cost_usd", str(config.max_cost_usd), "must be more than 0, or left out")


def _model_faults(config: plan_pb2.JudgeConfig) -> Iterator[Fault]:
    members = [config.model, *config.panel]
    if len(config.panel) > _MOST_MEMBERS:
        yield Fault("judge.panel", f"{len(config.panel)} models", f"must be at most {_MOST_MEMBERS}")
    for index, name in enumerate(config.panel):
        if not name or name in members[: index + 1]:
            yield Fault(f"judge.panel[{index}]", name, "must name another model than those before it")
    if config.backend == plan_pb2.JudgeConfig.BACKEND_OFFLINE:
        asked = {"model": config.model, "panel": ", ".join(config.panel)}
        asked["core_idea"] = "true" if config.core_idea else ""
        for name, value in asked.items():
            if value:
                yield Fault(f"judge.{name}", value, "must be empty: the offline judge asks no model")


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
    said = judgement.core_idea or conclusion
    wired = judgement_pb2.Judgement(
        id=judgement.id,
        run_id=run_id,
        task_id=task_id,
        config=config_to_wire(judgement.config),
        config_hash=judgement.config.hash,
        agent_claims=_claims(judgement.agent_claims, judgement.agent_opinions, truth),
        truth_claims=_claims(judgement.truth_claims, judgement.truth_opinions, said),
        scores=_scores(judgement.score),
        usage=usage_to_wire(judgement.spent),
        quality=quality,
        pairs=[
            judgement_pb2.MatchPair(agent_claim_id=m.agent_claim, truth_claim_id=m.truth_claim)
            for m in judgement.pairs
        ],
        flags=judgement.flags,
        notes=judgement.notes,
        core_idea=judgement.core_idea,
    )
    wired.judged_at.FromDatetime(at)
    return wired


def config_to_wire(config: JudgeConfig) -> plan_pb2.JudgeConfig:
    """The configuration as it was applied, its defaults filled in."""
    offline = config.backend == Backend.OFFLINE
    return plan_pb2.JudgeConfig(
        backend=plan_pb2.JudgeConfig.BACKEND_OFFLINE if offline else plan_pb2.JudgeConfig.BACKEND_MODEL,
        model="" if offline else config.model,
        mode=_MODE[config.mode],
        core_idea=config.core_idea,
        panel=config.panel,
        judge_repeats=config.repeats,
        convention=_CONVENTION[config.convention],
    )


def usage_to_wire(spent: Spent) -> judgement_pb2.JudgeUsage:
    """What was paid for; the cost is unset where it is unknown."""
    return judgement_pb2.JudgeUsage(
        calls=spent.calls,
        prompt_tokens=spent.prompt_tokens,
        completion_tokens=spent.completion_tokens,
        cost_usd=spent.known_cost,
        cached_tokens=spent.cached_tokens,
        cache_hits=spent.cache_hits,
    )


def entailment_to_wire(
    hypothesis: int, claim: Claim, ruling: Ruling, premise: str
) -> entailment_pb2.Entailment:
    """A ruling with its evidence as the passage itself, cut from the premise."""
    span = ruling.evidence
    return entailment_pb2.Entailment(
        hypothesis=hypothesis,
        claim=claim.text,
        verdict=_VERDICTS[ruling.verdict],
        rationale=ruling.rationale,
        evidence=premise[span.start : span.end][:_SHOWN] if span else "",
    )


def _claims(
    claims: Sequence[Claim], opinions: Sequence[Opinion], other_side: str
) -> Iterator[judgement_pb2.ClaimVerdict]:
    for claim, opinion in zip(claims, opinions, strict=True):
        ruling = opinion.ruling
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
            votes=[
                judgement_pb2.Vote(judge=v.judge, repeat=v.repeat, verdict=_VERDICTS[v.verdict])
                for v in opinion.votes
            ],
            flip_rate=opinion.flip_rate,
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
