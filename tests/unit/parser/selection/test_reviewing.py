"""The queue through its RPCs: two people, a third, edits, and the tree from which tasks are made."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firetrial.parser.v1 import events_pb2, paper_pb2
from firetrial.parser.v1 import parser_service_pb2 as papers
from firetrial.parser.v1 import review_pb2 as pb
from firetrial_kit.errors import FiretrialError, Reason
from unit.parser.selection.desk import Desk, item

YES, NO = pb.VERDICT_ACCEPT, pb.VERDICT_REJECT


class Table(Desk):
    """A desk with the tree of the study in the queue."""

    @classmethod
    async def laid(cls) -> Table:
        table = cls()
        table.paper = (await table.submit()).paper.id
        await table.run()
        assert await table.bus.deliver(table.queued) == ["done"]
        table.id = f"t-{table.paper[:12]}"
        return table

    paper = ""
    id = ""

    async def look(self, reviewer: str = "", version: int = 0) -> pb.GetReviewResponse:
        return await self.servicer.GetReview(
            pb.GetReviewRequest(id=self.id, reviewer=reviewer, version=version), None
        )

    async def decide(
        self,
        who: str,
        verdict: pb.Verdict.ValueType,
        version: int = 1,
        reason: str = "so it is",
        request_id: str = "",
    ) -> pb.Review:
        request = pb.DecideReviewRequest(
            id=self.id, reviewer=who, verdict=verdict, reason=reason, version=version, request_id=request_id
        )
        return (await self.servicer.DecideReview(request, None)).review

    async def resolve(self, verdict: pb.Verdict.ValueType, *by: str) -> pb.Review:
        request = pb.ResolveReviewRequest(id=self.id, by=by, verdict=verdict, reason="again", version=1)
        return (await self.servicer.ResolveReview(request, None)).review

    async def edit(
        self, version: int, *edits: pb.TreeEdit, who: str = "Ada", request_id: str = ""
    ) -> pb.EditTreeResponse:
        request = pb.EditTreeRequest(
            id=self.id, reviewer=who, version=version, edits=edits, request_id=request_id
        )
        return await self.servicer.EditTree(request, None)

    async def tree(self) -> paper_pb2.Node:
        """The tree from which tasks are made."""
        return (await self.servicer.GetTree(papers.GetTreeRequest(paper_id=self.paper), None)).root


def put(path: str, field: str, *values: str) -> pb.TreeEdit:
    return pb.TreeEdit(path=path, set=pb.TreeEdit.SetField(field=field, values=values))


async def refused(call: Any) -> FiretrialError:
    with pytest.raises(FiretrialError) as caught:
        await call
    return caught.value


async def test_a_tree_that_was_read_is_queued_once_with_its_faults() -> None:
    table = await Table.laid()
    assert await table.again(table.queued, "paper_parsed") == ["done"]
    listed = (await table.servicer.ListReviews(pb.ListReviewsRequest(kind=pb.REVIEW_KIND_TREE), None)).reviews
    assert [one.id for one in listed] == [table.id]
    seen = await table.look()
    assert (seen.review.state, seen.review.version, seen.review.decided) == (pb.REVIEW_STATE_OPEN, 1, 0)
    assert seen.review.versions[0].by == "extraction"
    assert len(seen.faults) == seen.review.faults
    assert seen.tree == await table.tree()


async def test_neither_sees_the_other_before_deciding() -> None:
    table = await Table.laid()
    mine = await table.decide("Ada", YES)
    assert [one.reviewer for one in mine.decisions] == ["Ada"]
    for who in ("Bob", ""):
        seen = (await table.look(who)).review
        assert (seen.decided, list(seen.decisions)) == (1, [])
        listed = await table.servicer.ListReviews(pb.ListReviewsRequest(reviewer=who), None)
        assert list(listed.reviews[0].decisions) == []
    disputed = await table.decide("Bob", NO)
    assert disputed.state == pb.REVIEW_STATE_DISPUTED
    assert len(disputed.decisions) == 2
    assert table.told("paper_reviewed", events_pb2.PaperReviewed) == []


async def test_a_third_person_ends_it_and_it_is_announced_once() -> None:
    table = await Table.laid()
    await table.decide("Ada", YES)
    await table.decide("Bob", NO)
    error = await refused(table.resolve(YES, "Ada"))
    assert (error.reason, error.faults[0].field) == (Reason.INVALID, "by")
    ended = await table.resolve(NO, "Eve")
    assert (ended.state, list(ended.resolution.by)) == (pb.REVIEW_STATE_REJECTED, ["Eve"])
    (told,) = table.told("paper_reviewed", events_pb2.PaperReviewed)
    assert (told.review_id, told.accepted, told.paper_id) == (table.id, False, table.paper)
    stats = await table.servicer.GetReviewAgreement(pb.GetReviewAgreementRequest(), None)
    assert (stats.overall.first_accepts, stats.overall.raw, stats.overall.resolved) == (1, 0.0, 1)
    assert [(one.first, one.second) for one in stats.pairs] == [("Ada", "Bob")]


async def test_an_edited_tree_is_validated_and_once_accepted_tasks_are_made_of_it() -> None:
    table = await Table.laid()
    leaf = next(node for node in _walk((await table.look()).tree) if node.evidence == "Table 1")
    wrong = await table.edit(1, put(leaf.path, "conclusion", "Hardness falls to 123 (Table 1)."))
    assert any("123" in fault.value for fault in wrong.faults)
    made = wrong.review.versions[1]
    assert (made.number, made.by, made.changes) == (2, "Ada", 1)
    assert wrong.changes[0].before == leaf.conclusion
    error = await refused(table.decide("Ada", YES, version=2, reason=""))
    assert "in spite of its" in error.message
    said = "Hardness increases from 410 at 10 minutes to 655 at 40 minutes."
    right = await table.edit(2, put(leaf.path, "conclusion", said), who="Bob")
    assert list(right.faults) == list((await table.look(version=1)).faults)
    early = pb.MakeReviewedTaskRequest(review_id=table.id)
    assert (await refused(table.servicer.MakeReviewedTask(early, None))).reason is Reason.PRECONDITION
    await table.decide("Ada", YES, version=3)
    assert (await table.decide("Bob", YES, version=3)).state == pb.REVIEW_STATE_ACCEPTED
    assert _leaf(await table.tree(), leaf.path).conclusion == said
    (told,) = table.told("paper_reviewed", events_pb2.PaperReviewed)
    assert (told.accepted, told.version, told.tree) == (True, 3, right.review.versions[2].tree)
    stale = pb.MakeReviewedTaskRequest(review_id=table.id, version=1)
    assert (await refused(table.servicer.MakeReviewedTask(stale, None))).reason is Reason.PRECONDITION
    answer = await table.servicer.MakeReviewedTask(
        pb.MakeReviewedTaskRequest(review_id=table.id, version=3, leaf_path=leaf.path), None
    )
    assert answer.task.paper_id == table.paper
    truth = table.everything.held[f"truth/tasks/{answer.task.id}/truth.json"][0].decode()
    assert "655 at 40 minutes" in truth
    assert "150 points" not in truth, "it is of the edited tree"
    old = await table.look(version=1)
    assert _leaf(old.tree, leaf.path).conclusion == leaf.conclusion, "every version stays"


async def test_what_was_read_before_is_told_as_stale() -> None:
    table = await Table.laid()
    await table.edit(1, put("0", "title", "Another title"))
    error = await refused(table.decide("Bob", YES, version=1))
    assert (error.code, error.faults[0].field) == ("ABORTED", "version")
    assert "version 2" in error.faults[0].cure
    assert (await refused(table.edit(1, put("0", "title", "Mine")))).code == "ABORTED"
    assert (await refused(table.look(version=9))).reason is Reason.NOT_FOUND


async def test_the_same_request_is_done_once() -> None:
    table = await Table.laid()
    first = await table.edit(1, put("0", "title", "T"), request_id="e1")
    again = await table.edit(1, put("0", "title", "T"), request_id="e1")
    assert again == first
    error = await refused(table.edit(1, put("0", "title", "U"), request_id="e1"))
    assert error.reason is Reason.ALREADY_EXISTS
    await table.decide("Ada", YES, version=2, request_id="d1")
    await table.decide("Bob", YES, version=2, request_id="d2")
    settled = await table.decide("Bob", YES, version=2, request_id="d2")
    assert settled.state == pb.REVIEW_STATE_ACCEPTED
    error = await refused(table.decide("Bob", NO, version=2, request_id="d2"))
    assert error.reason is Reason.ALREADY_EXISTS
    assert len({one.version for one in table.told("paper_reviewed", events_pb2.PaperReviewed)}) == 1


async def test_an_edit_that_changes_nothing_and_one_of_a_screened_paper_are_refused() -> None:
    table = await Table.laid()
    same = (await table.look()).tree.title
    assert "must change something" in (await refused(table.edit(1, put("0", "title", same)))).message
    screening = await table.hand_in([item("a")])
    await table.work()
    (paper,) = await table.results(screening.id)
    table.id = paper.review_id
    assert (await refused(table.edit(1, put("0", "title", "T")))).reason is Reason.PRECONDITION
    revalidate = table.servicer.RevalidateTree(pb.RevalidateTreeRequest(id=table.id), None)
    assert (await refused(revalidate)).reason is Reason.PRECONDITION
    await table.decide("Ada", YES, reason="")
    assert (await table.decide("Bob", YES)).state == pb.REVIEW_STATE_ACCEPTED


async def test_revalidating_finds_what_it_found() -> None:
    table = await Table.laid()
    edited = await table.edit(1, put("0", "title", "Another title"))
    answer = await table.servicer.RevalidateTree(pb.RevalidateTreeRequest(id=table.id), None)
    assert list(answer.faults) == list(edited.faults)
    seen = await table.look(version=2)
    assert [one.field for one in seen.changes] == ["title"], "what changed is still told"


async def test_reopened_it_is_decided_anew_and_told_again() -> None:
    table = await Table.laid()
    await table.decide("Ada", YES)
    await table.decide("Bob", YES)
    request = pb.ReopenReviewRequest(id=table.id, reviewer="Eve", reason="the figure was corrected")
    opened = (await table.servicer.ReopenReview(request, None)).review
    assert (opened.state, opened.rounds[0].ended) == (
        pb.REVIEW_STATE_OPEN,
        "reopened by Eve: the figure was corrected",
    )
    await table.decide("Ada", NO)
    await table.decide("Bob", NO)
    assert [one.accepted for one in table.told("paper_reviewed", events_pb2.PaperReviewed)] == [True, False]


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"verdict": 0}, {"verdict"}),
        ({"verdict": 9, "request_id": "a b"}, {"verdict", "request_id"}),
        ({"reviewer": ""}, {"reviewer"}),
        ({"reviewer": "x" * 101, "reason": "r" * 1001}, {"reviewer", "reason"}),
    ],
)
async def test_every_fault_of_a_decision_is_told(fields: dict[str, Any], named: set[str]) -> None:
    table = await Table.laid()
    request = pb.DecideReviewRequest(
        **{"id": table.id, "reviewer": "Ada", "verdict": YES, "reason": "r", "version": 1, **fields}
    )
    error = await refused(table.servicer.DecideReview(request, None))
    assert {fault.field for fault in error.faults} == named
    assert all(fault.cure for fault in error.faults)


async def test_unknown_reviews_and_choices_are_told() -> None:
    table = await Table.laid()
    table.id = "t-none"
    assert (await refused(table.look())).reason is Reason.NOT_FOUND
    bad = pb.ListReviewsRequest(kind=9, states=[9])  # type: ignore[arg-type, list-item]
    error = await refused(table.servicer.ListReviews(bad, None))
    assert {fault.field for fault in error.faults} == {"kind", "states"}


@settings(max_examples=25)
@given(st.lists(st.tuples(st.sampled_from(["Ada", "Bob", "Eve"]), st.sampled_from([YES, NO])), max_size=6))
async def test_people_at_the_same_time_leave_two_decisions_and_one_outcome(
    said: list[tuple[str, pb.Verdict.ValueType]],
) -> None:
    table = Table()
    screening = await table.hand_in([item("a")])
    await table.work()
    table.id = (await table.results(screening.id))[0].review_id
    answers = await asyncio.gather(
        *(table.decide(who, verdict) for who, verdict in said), return_exceptions=True
    )
    review = (await table.look()).review
    assert review.decided <= 2
    for answer in answers:
        if isinstance(answer, BaseException):
            assert isinstance(answer, FiretrialError)
            assert answer.reason is Reason.PRECONDITION
    people = {who for who, _ in said}
    assert review.decided == min(2, len(people))
    told = table.told("paper_reviewed", events_pb2.PaperReviewed)
    settled = review.state in {pb.REVIEW_STATE_ACCEPTED, pb.REVIEW_STATE_REJECTED}
    assert bool(told) == settled
    assert len({one.accepted for one in told}) <= 1


def _walk(node: paper_pb2.Node) -> list[paper_pb2.Node]:
    return [node, *(found for child in node.children for found in _walk(child))]


def _leaf(root: paper_pb2.Node, path: str) -> paper_pb2.Node:
    return next(node for node in _walk(root) if node.path == path)
