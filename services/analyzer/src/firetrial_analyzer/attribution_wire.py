"""Attributions as the contract carries them."""

from __future__ import annotations

from collections.abc import Sequence

from firetrial.analyzer.v1 import attribution_pb2 as pb
from firetrial_analyzer.analysis import AnalysedRun
from firetrial_analyzer.attribution import Attribution, Missed
from firetrial_analyzer.false_claims import FalsePositive
from firetrial_analyzer.reviews import Agreement, Review
from firetrial_analyzer.taxonomy.evidence import Signal
from firetrial_analyzer.taxonomy.steps import Citation


def attribution_to_wire(item: AnalysedRun) -> pb.Attribution:
    """Empty but for the run where it has none."""
    found = item.attribution or Attribution(item.run.run_id)
    claims = (*item.judgement.agent_claims, *item.judgement.truth_claims) if item.judgement else ()
    text = {claim.id: claim.text for claim in claims}
    return pb.Attribution(
        run_id=item.run.run_id,
        experiment_id=item.run.experiment,
        task_id=item.run.task,
        agent_id=item.run.agent,
        taxonomy_version=found.taxonomy_version,
        method=found.method,
        missed=[_missed(missed, text.get(missed.claim_id, "")) for missed in found.missed],
        false_claims=[_false(false, text.get(false.claim_id, "")) for false in found.false_positives],
        signals=[_signal(signal) for signal in found.signals],
        refused=found.refused,
        notes=found.notes,
        cost_usd=found.usage.usd,
        tokens=found.usage.tokens,
    )


def review_to_wire(review: Review) -> pb.Review:
    wired = pb.Review(
        claim_id=review.claim_id,
        reviewer=review.reviewer,
        type=review.type,
        confirmed=review.confirmed,
        note=review.note,
    )
    wired.reviewed_at.FromDatetime(review.reviewed_at)
    return wired


def agreement_to_wire(found: Agreement) -> pb.Agreement:
    return pb.Agreement(
        reviewed=found.reviewed,
        confirmed=found.confirmed,
        share=found.share,
        low=found.interval.low if found.interval else None,
        high=found.interval.high if found.interval else None,
        kappa=found.kappa,
        confusion=[
            pb.Confusion(attributed=attributed, reviewed=said, count=count)
            for attributed, said, count in found.confusion
        ],
    )


def _missed(missed: Missed, text: str) -> pb.MissedClaim:
    return pb.MissedClaim(
        claim_id=missed.claim_id,
        text=text,
        stage=missed.stage,
        type=missed.type,
        rationale=missed.rationale,
        citations=_citations(missed.citations),
        settled_by=missed.settled_by,
    )


def _false(false: FalsePositive, text: str) -> pb.FalseClaim:
    return pb.FalseClaim(
        claim_id=false.claim_id,
        text=text,
        kind=false.kind,
        rationale=false.rationale,
        against=false.against,
        citations=_citations(false.citations),
        settled_by=false.settled_by,
    )


def _signal(signal: Signal) -> pb.Signal:
    return pb.Signal(
        name=signal.name,
        statement=signal.statement,
        citations=_citations(signal.citations),
        settles=signal.settles or "",
    )


def _citations(citations: Sequence[Citation]) -> list[pb.Citation]:
    return [pb.Citation(step=citation.step, quote=citation.quote) for citation in citations]
