"""The review as a state machine: by example, and under whatever two people and a third may do."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firetrial_kit.errors import FiretrialError, Reason
from firetrial_parser.selection.review import (
    KEPT_REQUESTS,
    MAX_ROUNDS,
    MAX_VERSIONS,
    Decision,
    Resolution,
    ReviewRecord,
    State,
    Verdict,
    decided,
    edited,
    pairs,
    person,
    reopened,
    resolved,
)
from unit.parser.selection.reviews import decision, now, review, version

YES, NO = Verdict.ACCEPT, Verdict.REJECT


def end(record: ReviewRecord, verdict: Verdict, *by: str, reason: str = "looked again") -> ReviewRecord:
    return resolved(record, Resolution(verdict, by, reason, now()), record.version)


def raised(call: object, *args: object) -> FiretrialError:
    assert callable(call)
    with pytest.raises(FiretrialError) as caught:
        call(*args)
    assert all(fault.cure for fault in caught.value.faults)
    return caught.value


@pytest.mark.parametrize(
    ("first", "second", "state"),
    [
        (YES, YES, State.ACCEPTED),
        (NO, NO, State.REJECTED),
        (YES, NO, State.DISPUTED),
        (NO, YES, State.DISPUTED),
    ],
)
def test_two_people_settle_it_or_disagree(first: Verdict, second: Verdict, state: State) -> None:
    record = decided(review("r"), decision("Ada", first), 1)
    assert record.state is State.OPEN
    assert decided(record, decision("Bob", second), 1).state is state


def test_the_second_does_not_see_the_first_before_deciding() -> None:
    record = decided(review("r"), decision("Ada", YES), 1)
    assert record.seen_by("Bob") == ()
    assert record.seen_by("") == ()
    assert [one.reviewer for one in record.seen_by("ada")] == ["Ada"]
    assert len(decided(record, decision("Bob", NO), 1).seen_by("Bob")) == 2


def test_one_person_is_not_two() -> None:
    record = decided(review("r"), decision("Ada Lee", YES), 1)
    again = decided(record, decision("  ada  LEE ", NO), 1)
    assert (again.state, [one.verdict for one in again.decisions]) == (State.OPEN, [NO])


def test_a_stale_version_is_told_with_the_cure() -> None:
    record = edited(review("r"), version(2, "Ada"), 1)
    error = raised(decided, record, decision("Bob", YES), 1)
    assert (error.reason, error.code) == (Reason.CONFLICT, "ABORTED")
    assert "version 2" in error.faults[0].cure
    assert raised(edited, record, version(2, "Bob"), 1).reason is Reason.CONFLICT


@pytest.mark.parametrize(
    ("verdict", "by", "fits"),
    [
        (YES, ("Eve",), True),
        (NO, ("Ada", "Bob"), True),
        (YES, ("bob", "ADA"), True),
        (YES, ("Ada",), False),
        (YES, ("Bob", "Eve"), False),
        (YES, ("Eve", "Mallory"), False),
        (YES, (), False),
        (YES, (" ",), False),
    ],
)
def test_a_third_person_or_both_end_a_disagreement(verdict: Verdict, by: tuple[str, ...], fits: bool) -> None:
    record = review("r", decision("Ada", YES), decision("Bob", NO))
    if not fits:
        assert raised(end, record, verdict, *by).faults[0].field == "by"
        return
    state = end(record, verdict, *by).state
    assert state is (State.ACCEPTED if verdict is YES else State.REJECTED)


def test_what_is_missing_is_told_all_at_once() -> None:
    error = raised(decided, review("r"), Decision(" ", NO, "", now()), 1)
    assert {fault.field for fault in error.faults} == {"reviewer", "reason"}
    assert raised(decided, review("r"), decision("extraction", YES), 1).reason is Reason.INVALID
    faulty = review("r", faults=2)
    assert "2 faults" in raised(decided, faulty, decision("Ada", YES, ""), 1).message
    assert decided(faulty, decision("Ada", YES, "the caption is an image"), 1).decisions


def test_what_is_over_is_not_decided_again() -> None:
    settled = review("r", decision("Ada", YES), decision("Bob", YES))
    disputed = review("r", decision("Ada", YES), decision("Bob", NO))
    assert "reopen" in raised(decided, settled, decision("Eve", NO), 1).message
    assert "resolve" in raised(decided, disputed, decision("Eve", NO), 1).message
    assert raised(end, settled, NO, "Eve").reason is Reason.PRECONDITION
    assert raised(edited, settled, version(2, "Eve"), 1).reason is Reason.PRECONDITION
    assert raised(reopened, disputed, "Eve", "why", now()).reason is Reason.PRECONDITION


def test_an_edit_ends_the_round_and_what_was_decided_is_kept() -> None:
    record = edited(review("r", decision("Ada", YES), decision("Bob", NO)), version(2, "Eve"), 1)
    assert (record.state, record.version, record.decisions) == (State.OPEN, 2, ())
    assert [(over.version, len(over.decisions), over.ended) for over in record.rounds] == [
        (1, 2, "edited by Eve")
    ]
    assert len(pairs(record)) == 1
    assert edited(review("r"), version(2, "Eve"), 1).rounds == ()


def test_reopened_rounds_count_for_agreement_and_have_an_end() -> None:
    record = review("r", decision("Ada", YES), decision("Bob", YES))
    for _ in range(MAX_ROUNDS):
        record = reopened(record, "Eve", "new figures", now())
        record = decided(decided(record, decision("Ada", YES), 1), decision("Bob", YES), 1)
    assert len(pairs(record)) == MAX_ROUNDS + 1
    assert raised(reopened, record, "Eve", "again", now()).reason is Reason.PRECONDITION


def test_versions_have_an_end() -> None:
    record = review("r")
    for number in range(1, MAX_VERSIONS):
        record = edited(record, version(number + 1, "Ada"), number)
    late = version(MAX_VERSIONS + 1, "Ada")
    assert "decide on the last" in raised(edited, record, late, MAX_VERSIONS).message


def test_a_request_id_asks_for_one_thing() -> None:
    record = review("r").remembering("q1", "decide yes")
    assert record.knows("q1", "decide yes")
    assert not record.knows("q2", "decide yes")
    assert not record.knows("", "decide yes")
    assert raised(record.knows, "q1", "decide no").reason is Reason.ALREADY_EXISTS
    for number in range(KEPT_REQUESTS + 5):
        record = record.remembering(f"n{number}", "x")
    assert len(record.requests) == KEPT_REQUESTS


# ---- whatever they do


@dataclass
class Model:
    """What people know to have happened, kept without the record's help."""

    version: int = 1
    decisions: dict[str, Verdict] = field(default_factory=dict)
    resolution: Verdict | None = None
    pairs: int = 0

    @property
    def state(self) -> State:
        if self.resolution:
            return State.ACCEPTED if self.resolution is YES else State.REJECTED
        found = set(self.decisions.values())
        if len(self.decisions) < 2:
            return State.OPEN
        if len(found) == 2:
            return State.DISPUTED
        return State.ACCEPTED if found == {YES} else State.REJECTED

    def fresh(self) -> None:
        self.pairs += len(self.decisions) == 2
        self.decisions, self.resolution = {}, None


PEOPLE = st.sampled_from(["Ada", "ada", "Bob", "Eve"])
VERDICTS = st.sampled_from([YES, NO])
# Each knows the newest version, or an older one.
BEHIND = st.sampled_from([0, 0, 0, 1])
ACTIONS = st.one_of(
    st.tuples(st.just("decide"), PEOPLE, VERDICTS, BEHIND),
    st.tuples(st.just("resolve"), st.lists(PEOPLE, max_size=2), VERDICTS, BEHIND),
    st.tuples(st.just("edit"), PEOPLE, VERDICTS, BEHIND),
    st.tuples(st.just("reopen"), PEOPLE, VERDICTS, BEHIND),
)


@given(st.lists(ACTIONS, max_size=40))
def test_any_interleaving_leaves_a_record_that_is_what_happened(
    actions: list[tuple[str, object, Verdict, int]],
) -> None:
    record, model = review("r"), Model()
    for kind, who, verdict, behind in actions:
        reasons = refusal(model, kind, who, behind)
        if reasons:
            assert raised(act, record, kind, who, verdict, record.version - behind).reason in reasons
            continue
        record = act(record, kind, who, verdict, record.version - behind)
        follow(model, kind, who, verdict)
        assert (record.state, record.version) == (model.state, model.version)
        assert {person(one.reviewer): one.verdict for one in record.decisions} == model.decisions
        assert len(pairs(record)) == model.pairs + (len(model.decisions) == 2)
        if record.state is State.OPEN:
            for name in ("Ada", "Bob", "Eve"):
                assert all(person(one.reviewer) == person(name) for one in record.seen_by(name))


def act(record: ReviewRecord, kind: str, who: object, verdict: Verdict, at: int) -> ReviewRecord:
    if kind == "resolve":
        assert isinstance(who, list)
        return resolved(record, Resolution(verdict, tuple(who), "because", now()), at)
    assert isinstance(who, str)
    if kind == "decide":
        return decided(record, decision(who, verdict), at)
    if kind == "edit":
        return edited(record, version(at + 1, who), at)
    return reopened(record, who, "because", now())


def refusal(model: Model, kind: str, who: object, behind: int) -> set[Reason]:
    """The reasons for which this may be refused now; none where it must be done."""
    if behind and kind != "reopen":
        return {Reason.CONFLICT}
    if kind == "decide":
        return set() if model.state is State.OPEN else {Reason.PRECONDITION}
    if kind == "edit":
        return {Reason.PRECONDITION} if model.state.settled else set()
    if kind == "reopen":
        return set() if model.state.settled else {Reason.PRECONDITION}
    if model.state is not State.DISPUTED:
        return {Reason.PRECONDITION}
    assert isinstance(who, list)
    by = {person(name) for name in who}
    fits = by == set(model.decisions) or (len(by) == 1 and not by & set(model.decisions))
    return set() if fits else {Reason.INVALID}


def follow(model: Model, kind: str, who: object, verdict: Verdict) -> None:
    if kind == "decide":
        assert isinstance(who, str)
        model.decisions[person(who)] = verdict
    elif kind == "resolve":
        model.resolution = verdict
    elif kind == "edit":
        model.fresh()
        model.version += 1
    else:
        model.fresh()
