"""Protobuf ↔ domain for proposals, and nothing else."""

from __future__ import annotations

from firetrial.parser.v1 import parser_service_pb2, proposal_pb2
from firetrial.plan.v1 import plan_pb2
from firetrial_parser.soundness.assessment import Assessment, Bucket, Mode
from firetrial_parser.soundness.outcomes import Outcome
from firetrial_parser.soundness.proposal import Experiment, Proposal
from firetrial_parser.soundness.record import Kept, ProposalRecord, Said, State, Verdict
from firetrial_parser.soundness.support import Ruled, Support
from firetrial_parser.wire import usage_to_wire

_STATES = {state: proposal_pb2.ProposalState.Value(f"PROPOSAL_STATE_{state.name}") for state in State}
_BUCKETS = {bucket: proposal_pb2.Assessment.Bucket.Value(f"BUCKET_{bucket.name}") for bucket in Bucket}
_MODES = {mode: plan_pb2.Gate.Mode.Value(f"MODE_{mode.name}") for mode in Mode}
_RULINGS = {
    None: proposal_pb2.SupportedClaim.RULING_UNSPECIFIED,
    True: proposal_pb2.SupportedClaim.RULING_SUPPORTED,
    False: proposal_pb2.SupportedClaim.RULING_UNSUPPORTED,
}


def proposal_to_domain(parts: proposal_pb2.ProposalParts, title: str) -> Proposal:
    return Proposal(
        parts.hypothesis,
        parts.abstract,
        parts.related_work,
        tuple(map(_experiment_to_domain, parts.experiments)),
        tuple(parts.risks),
        title,
    )


def _experiment_to_domain(one: proposal_pb2.PlannedExperiment) -> Experiment:
    lists = tuple(one.datasets), tuple(one.models), tuple(one.baselines)
    return Experiment(one.goal, *lists, one.setup, tuple(one.metrics))


def parts_to_wire(proposal: Proposal) -> proposal_pb2.ProposalParts:
    return proposal_pb2.ProposalParts(
        hypothesis=proposal.hypothesis,
        abstract=proposal.abstract,
        related_work=proposal.related_work,
        experiments=map(_experiment_to_wire, proposal.experiments),
        risks=proposal.risks,
    )


def _experiment_to_wire(one: Experiment) -> proposal_pb2.PlannedExperiment:
    return proposal_pb2.PlannedExperiment(
        goal=one.goal,
        datasets=one.datasets,
        models=one.models,
        baselines=one.baselines,
        setup=one.setup,
        metrics=one.metrics,
    )


def record_to_wire(record: ProposalRecord, kept: Kept | None, said: Said | None) -> proposal_pb2.Proposal:
    """A proposal; without `said` its verdicts go without their rationales."""
    verdicts = map(_verdict_to_wire, record.verdicts)
    told = proposal_pb2.Proposal(
        id=record.id,
        state=_STATES[record.state],
        title=record.title,
        parts=parts_to_wire(kept.proposal) if kept else None,
        paper_id=record.source.paper_id,
        agent_id=record.source.agent_id,
        task_id=record.source.task_id,
        masked=map(_outcome_to_wire, kept.masked) if kept else (),
        support=_support_to_wire(said.support) if said and said.support else None,
        assessments=map(assessment_to_wire, said.assessments) if said else verdicts,
        failure=record.failure,
        usage=usage_to_wire(record.model, record.spent),
    )
    told.submitted_at.FromDatetime(record.submitted_at)
    told.changed_at.FromDatetime(record.changed_at)
    return told


def assessment_to_wire(one: Assessment) -> proposal_pb2.Assessment:
    return proposal_pb2.Assessment(
        mode=_MODES[one.mode],
        rationale=one.rationale,
        bucket=_BUCKETS[one.bucket],
        confidence=one.confidence,
        assessor=one.assessor,
        quality=one.quality,
        screened=one.screened,
        identifiers_masked=one.identifiers_masked,
    )


def masks(request: parser_service_pb2.SubmitProposalRequest) -> bool:
    """Whether results are to be taken out instead of refused."""
    return request.outcomes == parser_service_pb2.SubmitProposalRequest.OUTCOMES_MASK


def _verdict_to_wire(verdict: Verdict) -> proposal_pb2.Assessment:
    return proposal_pb2.Assessment(
        mode=_MODES[verdict.mode], bucket=_BUCKETS[verdict.bucket], confidence=verdict.confidence
    )


def _outcome_to_wire(one: Outcome) -> proposal_pb2.MaskedOutcome:
    return proposal_pb2.MaskedOutcome(
        part=one.part, start=one.start, end=one.end, text=one.text, reason=one.why
    )


def _support_to_wire(support: Support) -> proposal_pb2.Support:
    return proposal_pb2.Support(
        claims=map(_ruled_to_wire, support.claims), ratio=support.ratio, method=support.method
    )


def _ruled_to_wire(one: Ruled) -> proposal_pb2.SupportedClaim:
    return proposal_pb2.SupportedClaim(
        text=one.claim.text,
        part=one.claim.part,
        ruling=_RULINGS[one.supported],
        explanation=one.explanation,
    )
