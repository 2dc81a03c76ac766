"""Reviews: protobuf ↔ domain, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict

from firetrial.parser.v1 import review_pb2
from firetrial_kit.errors import Fault
from firetrial_kit.references import ref_to_wire
from firetrial_parser.selection import agreement, review
from firetrial_parser.selection.editing import Change, Edit
from firetrial_parser.selection.review import Decision, Kind, Resolution, ReviewRecord, State, Verdict

_REQUEST_ID = re.compile(r"[A-Za-z0-9_-]{0,64}")
_KINDS = {review_pb2.ReviewKind.Value(f"REVIEW_KIND_{one}"): one for one in Kind}
_STATES = {review_pb2.ReviewState.Value(f"REVIEW_STATE_{one}"): one for one in State}
_VERDICTS = {review_pb2.Verdict.Value(f"VERDICT_{one}"): one for one in Verdict}
_TO_VERDICT = {verdict: number for number, verdict in _VERDICTS.items()}


def kind_to_domain(kind: review_pb2.ReviewKind.ValueType) -> Kind | None:
    """None for any. Raises KeyError for what `choice_faults` tells."""
    return _KINDS[kind] if kind else None


def state_to_domain(state: review_pb2.ReviewState.ValueType) -> State:
    return _STATES[state]


def verdict_to_domain(verdict: review_pb2.Verdict.ValueType) -> Verdict:
    return _VERDICTS[verdict]


def choice_faults(
    kind: review_pb2.ReviewKind.ValueType, states: Iterable[review_pb2.ReviewState.ValueType] = ()
) -> Iterator[Fault]:
    """What is wrong with a choice of reviews."""
    if kind and kind not in _KINDS:
        yield Fault("kind", str(kind), "must be SCREENED or TREE, or unset for both")
    for state in states:
        if state not in _STATES:
            yield Fault("states", str(state), "must be OPEN, DISPUTED, ACCEPTED or REJECTED")


def verdict_faults(verdict: review_pb2.Verdict.ValueType) -> Iterator[Fault]:
    """What is wrong with a verdict."""
    if verdict not in _VERDICTS:
        yield Fault("verdict", str(verdict), "must be ACCEPT or REJECT")


def request_faults(request_id: str) -> Iterator[Fault]:
    """What is wrong with the id of a request."""
    if not _REQUEST_ID.fullmatch(request_id):
        yield Fault("request_id", request_id[:80], f"must match {_REQUEST_ID.pattern}")


def review_to_wire(record: ReviewRecord, reviewer: str) -> review_pb2.Review:
    """A review as this person may see it."""
    wired = review_pb2.Review(
        id=record.id,
        kind=review_pb2.ReviewKind.Value(f"REVIEW_KIND_{record.kind}"),
        state=review_pb2.ReviewState.Value(f"REVIEW_STATE_{record.state}"),
        title=record.title,
        paper_id=record.paper_id,
        version=record.version,
        decided=len(record.decisions),
        decisions=map(_decision, record.seen_by(reviewer)),
        resolution=_resolution(record.resolution),
        rounds=map(_round, record.rounds),
        versions=map(_version, record.versions),
        faults=record.faults,
    )
    wired.created_at.FromDatetime(record.created_at)
    wired.changed_at.FromDatetime(record.changed_at)
    return wired


def _decision(decision: Decision) -> review_pb2.Decision:
    wired = review_pb2.Decision(
        reviewer=decision.reviewer, verdict=_TO_VERDICT[decision.verdict], reason=decision.reason
    )
    wired.decided_at.FromDatetime(decision.at)
    return wired


def _resolution(resolution: Resolution | None) -> review_pb2.Resolution | None:
    if resolution is None:
        return None
    wired = review_pb2.Resolution(
        verdict=_TO_VERDICT[resolution.verdict], by=resolution.by, reason=resolution.reason
    )
    wired.resolved_at.FromDatetime(resolution.at)
    return wired


def _round(over: review.Round) -> review_pb2.ReviewRound:
    return review_pb2.ReviewRound(
        version=over.version,
        decisions=map(_decision, over.decisions),
        resolution=_resolution(over.resolution),
        ended=over.ended,
    )


def _version(version: review.TreeVersion) -> review_pb2.TreeVersion:
    wired = review_pb2.TreeVersion(
        number=version.number,
        tree=ref_to_wire(version.tree),
        by=version.by,
        changes=version.changes,
        faults=version.faults,
    )
    wired.made_at.FromDatetime(version.at)
    return wired


def edit_to_domain(edit: review_pb2.TreeEdit) -> Edit:
    if edit.WhichOneof("change") == "remove":
        return Edit(edit.path, remove=edit.remove)
    return Edit(edit.path, edit.set.field, tuple(edit.set.values))


def change_to_wire(change: Change) -> review_pb2.TreeChange:
    return review_pb2.TreeChange(**asdict(change))


def fault_to_wire(fault: Fault) -> review_pb2.TreeFault:
    return review_pb2.TreeFault(field=fault.field, value=fault.value, cure=fault.cure)


def agreement_to_wire(found: agreement.Agreement) -> review_pb2.ReviewAgreement:
    return review_pb2.ReviewAgreement(
        first=found.first,
        second=found.second,
        **asdict(found.table),
        raw=found.raw.value,
        raw_low=found.raw.low,
        raw_high=found.raw.high,
        kappa=found.kappa.value,
        kappa_low=found.kappa.low,
        kappa_high=found.kappa.high,
        resolved=found.resolved,
        disputed=found.disputed,
    )
