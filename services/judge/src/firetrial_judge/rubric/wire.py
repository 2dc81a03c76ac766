"""Grades as protobuf."""

from __future__ import annotations

from collections.abc import Sequence

from firetrial.judge.v1 import judgement_pb2, rubric_pb2
from firetrial_judge.rubric.grade import LeafGrade, LeafVote, State, Totals
from firetrial_judge.rubric.looking import Look
from firetrial_judge.wire import usage_to_wire
from firetrial_kit.asking import Spent

_STATES = {state: getattr(rubric_pb2, f"LEAF_STATE_{state}") for state in State}
_BACK = {wire: state for state, wire in _STATES.items()}


def fill(
    grade: rubric_pb2.Grade,
    leaves: Sequence[LeafGrade],
    totals: Totals,
    spent: Spent,
    faults: Sequence[str],
) -> rubric_pb2.Grade:
    """Put grades and what they come to into a message; what is undefined stays unset."""
    grade.leaves.extend(map(_leaf, leaves))
    for condition, tally in totals.conditions.tallies.items():
        grade.conditions[condition].passed = tally.passed
        grade.conditions[condition].total = tally.total
    optional = {
        "passed": totals.passed.p,
        "strict": totals.conditions.all_strict,
        "almost": totals.conditions.all_almost,
        "valid": totals.conditions.valid,
        "score": totals.weighted.score,
    }
    for name, value in optional.items():
        if value is not None:
            setattr(grade, name, value)
    for category, score in totals.weighted.by_category.items():
        if score is not None:
            grade.score_by_category[category] = score
    grade.faults.extend(faults)
    grade.usage.CopyFrom(usage_to_wire(spent))
    return grade


def leaves_to_domain(grade: rubric_pb2.Grade) -> dict[str, LeafGrade]:
    """The grades that a message holds, by node id."""
    return {
        leaf.node_id: LeafGrade(
            leaf.node_id,
            _BACK.get(leaf.state, State.UNSCORED),
            answer=leaf.answer,
            rationale=leaf.rationale,
            evidence=tuple(leaf.evidence),
            reading=tuple(leaf.reading),
            votes=tuple(
                LeafVote(v.judge, v.repeat, _BACK.get(v.state, State.UNSCORED), v.answer) for v in leaf.votes
            ),
            flip_rate=leaf.flip_rate if leaf.HasField("flip_rate") else None,
            settled_by=tuple(leaf.settled_by),
            looks=tuple(_look_to_domain(look) for look in leaf.looks),
        )
        for leaf in grade.leaves
    }


def usage_to_domain(usage: judgement_pb2.JudgeUsage) -> Spent:
    """What was paid for."""
    return Spent(
        usage.calls,
        usage.prompt_tokens,
        usage.completion_tokens,
        usage.cached_tokens,
        usage.cost_usd if usage.calls and usage.HasField("cost_usd") else None,
        usage.cache_hits,
    )


def _leaf(leaf: LeafGrade) -> rubric_pb2.LeafGrade:
    return rubric_pb2.LeafGrade(
        node_id=leaf.id,
        state=_STATES[leaf.state],
        score=leaf.score,
        answer=leaf.answer,
        rationale=leaf.rationale,
        evidence=leaf.evidence,
        settled_by=leaf.settled_by,
        reading=leaf.reading,
        votes=[
            rubric_pb2.LeafVote(judge=v.judge, repeat=v.repeat, state=_STATES[v.state], answer=v.answer)
            for v in leaf.votes
        ],
        flip_rate=leaf.flip_rate,
        looks=[
            rubric_pb2.Look(command=one.command, exit_code=one.exit_code, output=one.output, cut=one.cut)
            for one in leaf.looks
        ],
    )


def _look_to_domain(look: rubric_pb2.Look) -> Look:
    return Look(look.command, look.exit_code if look.HasField("exit_code") else None, look.output, look.cut)
