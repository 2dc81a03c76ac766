"""A review: two people decide alone, a disagreement is resolved, a tree may be edited in between.

The state follows from what was decided, so that no record can contradict itself. Decisions are about one
version of a tree: an edit ends the round, and what was decided in it is kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum

from firetrial_kit.errors import Fault, FiretrialError, Reason, check
from firetrial_kit.objects import ObjectRef

REVIEWERS = 2
MAX_NAME = 100
# A record holds them all, within what the state takes for one value.
MAX_REASON = 1_000
MAX_ROUNDS = 20
MAX_VERSIONS = 200
KEPT_REQUESTS = 100
EXTRACTION = "extraction"  # the name under which a tree stands as it was read


class Kind(StrEnum):
    """What is reviewed; the names are those of the contract."""

    SCREENED = "SCREENED"
    TREE = "TREE"


class State(StrEnum):
    """How far a review is; the names are those of the contract."""

    OPEN = "OPEN"
    DISPUTED = "DISPUTED"
    ACCEPTED = "ACCEPTED"
    REJECTED = "REJECTED"

    @property
    def settled(self) -> bool:
        """Whether it is decided."""
        return self in {State.ACCEPTED, State.REJECTED}


class Verdict(StrEnum):
    """What a person decides; the names are those of the contract."""

    ACCEPT = "ACCEPT"
    REJECT = "REJECT"


_SETTLED = {Verdict.ACCEPT: State.ACCEPTED, Verdict.REJECT: State.REJECTED}


@dataclass(frozen=True, slots=True)
class Decision:
    """One person's verdict and why."""

    reviewer: str
    verdict: Verdict
    reason: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Resolution:
    """How a disagreement ended: by a third person, or by the two who disagreed."""

    verdict: Verdict
    by: tuple[str, ...]
    reason: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Round:
    """Decisions on one version that do not count any more, and what ended them."""

    version: int
    decisions: tuple[Decision, ...]
    resolution: Resolution | None
    ended: str


@dataclass(frozen=True, slots=True)
class TreeVersion:
    """A version of a tree, who made it and when. `note` is the object with its changes and its faults."""

    number: int
    tree: ObjectRef
    note: ObjectRef
    by: str
    at: datetime
    changes: int = 0
    faults: int = 0


@dataclass(frozen=True, slots=True)
class ReviewRecord:
    """A review as it is kept. A screened paper is item `place` of a screening; a tree has versions.

    `requests` tells what each of the last request ids asked for.
    """

    id: str
    kind: Kind
    title: str
    created_at: datetime
    changed_at: datetime
    paper_id: str = ""
    screening_id: str = ""
    place: int = 0
    versions: tuple[TreeVersion, ...] = ()
    decisions: tuple[Decision, ...] = ()
    resolution: Resolution | None = None
    rounds: tuple[Round, ...] = ()
    requests: Mapping[str, str] = field(default_factory=dict)

    @property
    def state(self) -> State:
        """What the decisions of this round come to."""
        if self.resolution is not None:
            return _SETTLED[self.resolution.verdict]
        if len(self.decisions) < REVIEWERS:
            return State.OPEN
        verdicts = {decision.verdict for decision in self.decisions}
        return _SETTLED[verdicts.pop()] if len(verdicts) == 1 else State.DISPUTED

    @property
    def version(self) -> int:
        """The version that is decided on."""
        return self.versions[-1].number if self.versions else 1

    @property
    def faults(self) -> int:
        """Faults of the version that is decided on."""
        return self.versions[-1].faults if self.versions else 0

    def at(self, number: int) -> TreeVersion:
        """The version with this number, 0 for the latest. Raises NOT_FOUND, PRECONDITION without a tree."""
        if not self.versions:
            fault = Fault("id", self.id, "is of a screened paper, which has no tree: submit the paper first")
            raise FiretrialError(Reason.PRECONDITION, str(fault), faults=[fault])
        found = next((one for one in self.versions if one.number == (number or self.version)), None)
        if found is None:
            fault = Fault("version", str(number), f"must be 1 to {self.version}, or 0 for the latest")
            raise FiretrialError(Reason.NOT_FOUND, str(fault), faults=[fault])
        return found

    def seen_by(self, reviewer: str) -> tuple[Decision, ...]:
        """The decisions of this round that a person may see: while it lasts, none but their own."""
        if self.state is not State.OPEN:
            return self.decisions
        return tuple(one for one in self.decisions if same(one.reviewer, reviewer))

    def remembering(self, request_id: str, asked: str) -> ReviewRecord:
        """With what a request id was used for."""
        if not request_id:
            return self
        kept = list(self.requests.items())[1 - KEPT_REQUESTS :]
        return replace(self, requests=dict([*kept, (request_id, asked)]))

    def knows(self, request_id: str, asked: str) -> bool:
        """Whether this was asked and done before. Raises ALREADY_EXISTS where the id asked something else."""
        known = self.requests.get(request_id) if request_id else None
        if known not in (None, asked):
            fault = Fault("request_id", request_id, "was used for something else; choose a new one")
            raise FiretrialError(Reason.ALREADY_EXISTS, str(fault), faults=[fault])
        return known is not None


def same(one: str, other: str) -> bool:
    """Whether two names are one person's: spaces and case do not tell people apart."""
    return person(one) == person(other)


def person(name: str) -> str:
    """A name as it is compared."""
    return " ".join(name.split()).casefold()


def decided(record: ReviewRecord, decision: Decision, version: int) -> ReviewRecord:
    """With one person's decision; while the round lasts, their later one replaces it.

    Raises INVALID, PRECONDITION where the round is over, CONFLICT where the tree has another version by now.
    """
    check("the decision", _decision_faults(record, decision))
    _must_stand(record, version)
    if record.state is not State.OPEN:
        cure = "resolve the disagreement" if record.state is State.DISPUTED else "reopen it to decide again"
        raise _not_now(record, cure)
    others = tuple(one for one in record.decisions if not same(one.reviewer, decision.reviewer))
    return replace(record, decisions=(*others, decision), changed_at=decision.at)


def _decision_faults(record: ReviewRecord, decision: Decision) -> Iterator[Fault]:
    yield from name_faults("reviewer", decision.reviewer)
    yield from _reason_faults(decision.reason)
    if not decision.reason.strip():
        if decision.verdict is Verdict.REJECT:
            yield Fault("reason", "", "say why it is rejected")
        elif record.faults:
            yield Fault("reason", "", f"say why it is right in spite of its {record.faults} faults")


def resolved(record: ReviewRecord, resolution: Resolution, version: int) -> ReviewRecord:
    """With the disagreement ended.

    Raises INVALID where those who end it are neither a third person nor the two, PRECONDITION where there is
    no disagreement, CONFLICT where the tree has another version by now.
    """
    _must_stand(record, version)
    if record.state is not State.DISPUTED:
        raise _not_now(record, "only a disagreement can be resolved; decide on it instead")
    faults = [fault for name in resolution.by for fault in name_faults("by", name)]
    disputants = {person(one.reviewer) for one in record.decisions}
    by = {person(name) for name in resolution.by}
    third = len(by) == 1 and not by & disputants
    if not third and by != disputants:
        names = " and ".join(one.reviewer for one in record.decisions)
        faults.append(Fault("by", ", ".join(resolution.by), f"must be a third person, or {names} together"))
    faults += _reason_faults(resolution.reason)
    if not resolution.reason.strip():
        faults.append(Fault("reason", "", "say why the disagreement ends so"))
    check("the resolution", faults)
    return replace(record, resolution=resolution, changed_at=resolution.at)


def reopened(record: ReviewRecord, by: str, reason: str, at: datetime) -> ReviewRecord:
    """A new round for what was settled. Raises INVALID, PRECONDITION where it is not settled."""
    faults = [*name_faults("reviewer", by), *_reason_faults(reason)]
    check("the request", [*faults, *([] if reason.strip() else [Fault("reason", "", "say why")])])
    if not record.state.settled:
        raise _not_now(record, "only what was accepted or rejected can be reopened; decide on it instead")
    return _new_round(record, f"reopened by {by}: {reason}", at)


def edited(record: ReviewRecord, version: TreeVersion, based_on: int) -> ReviewRecord:
    """With a new version of the tree, and a new round where anything was decided.

    Raises PRECONDITION where the review is settled, CONFLICT where the edit was made to an older version.
    """
    _must_stand(record, based_on)
    if record.state.settled:
        raise _not_now(record, "reopen it to edit its tree")
    if len(record.versions) >= MAX_VERSIONS:
        raise _not_now(record, f"it has {MAX_VERSIONS} versions, the most there can be; decide on the last")
    began = _new_round(record, f"edited by {version.by}", version.at) if record.decisions else record
    return replace(began, versions=(*record.versions, version), changed_at=version.at)


def revalidated(record: ReviewRecord, version: TreeVersion) -> ReviewRecord:
    """With a version's faults as they are found now."""
    versions = tuple(version if one.number == version.number else one for one in record.versions)
    return replace(record, versions=versions)


def _new_round(record: ReviewRecord, ended: str, at: datetime) -> ReviewRecord:
    if len(record.rounds) >= MAX_ROUNDS:
        raise _not_now(record, f"it has had {MAX_ROUNDS} rounds; submit the paper's tree anew")
    over = Round(record.version, record.decisions, record.resolution, ended)
    return replace(record, decisions=(), resolution=None, rounds=(*record.rounds, over), changed_at=at)


def name_faults(field_name: str, name: str) -> Iterator[Fault]:
    """What is wrong with a person's name."""
    if not name.strip():
        yield Fault(field_name, name, "must name a person")
    elif len(name) > MAX_NAME:
        yield Fault(field_name, name, f"at most {MAX_NAME} characters")
    elif person(name) == EXTRACTION:
        yield Fault(field_name, name, "is no person; give your own name")


def _reason_faults(reason: str) -> Iterator[Fault]:
    if len(reason) > MAX_REASON:
        yield Fault("reason", f"{len(reason)} characters", f"at most {MAX_REASON} characters")


def _must_stand(record: ReviewRecord, version: int) -> None:
    if version != record.version:
        cure = f"look at version {record.version}, which it has now, and decide on that"
        fault = Fault("version", str(version), cure)
        raise FiretrialError(Reason.CONFLICT, f"review {record.id} has changed: {fault}", faults=[fault])


def _not_now(record: ReviewRecord, cure: str) -> FiretrialError:
    fault = Fault("state", record.state, cure)
    return FiretrialError(Reason.PRECONDITION, f"review {record.id}: {fault}", faults=[fault])


def pairs(record: ReviewRecord) -> Sequence[tuple[Decision, Decision, Resolution | None]]:
    """The decisions of each round in which two people decided, the earlier first, and how it was resolved."""
    rounds = [(one.decisions, one.resolution) for one in record.rounds]
    found = []
    for decisions, resolution in [*rounds, (record.decisions, record.resolution)]:
        if len(decisions) == REVIEWERS:
            first, second = sorted(decisions, key=lambda one: one.at)
            found.append((first, second, resolution))
    return found
