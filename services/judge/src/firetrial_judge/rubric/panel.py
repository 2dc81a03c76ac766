"""Several rubric judges, or one asked several times: the majority decides each question.

The rule is that of the panels for claims (`firetrial_judge.panel`): passed or not by more than half of the
votes cast. A tie leaves the question UNSCORED, whatever the order of the judges; UNSCORED is an abstention.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from firetrial_judge.panel import Vote, flip_rate, majority, polled
from firetrial_judge.rubric.grade import LeafGrade, LeafVote, State
from firetrial_judge.rubric.grading import Graded, RubricJudge
from firetrial_judge.rubric.shown import SharedReader
from firetrial_judge.rubric.submission import Submission
from firetrial_judge.rubric.tree import Node, Rubric
from firetrial_judge.verdict import Verdict
from firetrial_kit.asking import Spent
from firetrial_kit.ids import digest

DISAGREEMENT, INCOMPLETE = "panel_disagreement", "panel_incomplete"
_MOST_TOLD = 50
_AS_VERDICT = {
    State.PASSED: Verdict.ENTAILED,
    State.FAILED: Verdict.NEUTRAL,
    State.UNSCORED: Verdict.UNSCORED,
}
_AS_STATE = {verdict: state for state, verdict in _AS_VERDICT.items()}


@dataclass(frozen=True, slots=True)
class Seat:
    """One judge in one of its turns; `repeat` counts from 1."""

    judge: RubricJudge
    repeat: int = 1

    @property
    def hash(self) -> str:
        """What tells its grades apart. A judge's first turn is what it says alone, which is asked once."""
        alone = self.judge.config_hash
        return alone if self.repeat == 1 else digest(alone, self.repeat)


@dataclass(frozen=True, slots=True)
class Turn:
    """What came of a seat: its grades by node id."""

    judge: str
    repeat: int
    leaves: dict[str, LeafGrade]


def panel_hash(seats: Sequence[Seat]) -> str:
    """What tells a panel's grades apart; for a single seat its own."""
    return seats[0].hash if len(seats) == 1 else digest([seat.hash for seat in seats])


async def graded(seats: Sequence[Seat], rubric: Rubric, submission: Submission) -> Graded:
    """What some judges say together, nothing kept. One alone may give a part and its error.

    Raises as `polled` does where there are several.
    """
    if len(seats) == 1:
        return await seats[0].judge.grade(rubric, submission)
    shared = SharedReader(submission, seats[0].judge.limits)
    found, abstained = await polled([(s.judge.model, _whole(s, rubric, submission, shared)) for s in seats])
    given = [(seat, answer) for seat, answer in zip(seats, found, strict=True) if answer is not None]
    turns = [Turn(s.judge.model, s.repeat, {leaf.id: leaf for leaf in g.leaves}) for s, g in given]
    leaves = decided(rubric.leaves, turns)
    return Graded(
        leaves,
        sum((one.spent for _, one in given), Spent()),
        flags={**given[0][1].flags, **panel_flags(leaves, abstained)},
    )


async def _whole(seat: Seat, rubric: Rubric, submission: Submission, shared: SharedReader) -> Graded:
    found = await seat.judge.grade(rubric, submission, shared=shared)
    if found.error:
        raise found.error
    return found


def panel_flags(leaves: Sequence[LeafGrade], abstained: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """What a reader of a panel's grade must know, with the words for it; what has none does not hold."""
    return {DISAGREEMENT: disagreements(leaves), INCOMPLETE: tuple(abstained)}


def decided(leaves: Sequence[Node], turns: Sequence[Turn]) -> tuple[LeafGrade, ...]:
    """One grade a question, in their order, with the votes on it."""
    return tuple(_decided(leaf, turns) for leaf in leaves)


def _decided(leaf: Node, turns: Sequence[Turn]) -> LeafGrade:
    given = [turn.leaves.get(leaf.id) or LeafGrade(leaf.id, State.UNSCORED) for turn in turns]
    votes = tuple(
        LeafVote(turn.judge, turn.repeat, grade.state, grade.answer)
        for turn, grade in zip(turns, given, strict=True)
    )
    verdicts = [Vote(vote.judge, vote.repeat, _AS_VERDICT[vote.state]) for vote in votes]
    verdict = majority([vote.verdict for vote in verdicts])
    spoken = _spoken(leaf, _AS_STATE[verdict], given)
    return replace(spoken, votes=votes, flip_rate=flip_rate(verdict, verdicts))


def _spoken(leaf: Node, state: State, given: Sequence[LeafGrade]) -> LeafGrade:
    """The grade with this state and the answer that most gave, in the words of the first who gave it."""
    fitting = [grade for grade in given if grade.state is state]
    if not fitting or state is State.UNSCORED:
        return LeafGrade(leaf.id, state, rationale="the judges do not agree", reading=given[0].reading)
    counts = Counter(grade.answer for grade in fitting)
    answer = min(
        counts, key=lambda one: (-counts[one], leaf.answers.index(one) if one in leaf.answers else -1)
    )
    return next(grade for grade in fitting if grade.answer == answer)


def disagreements(leaves: Sequence[LeafGrade]) -> tuple[str, ...]:
    """A line for each question that the votes differ on; of very many the first."""
    told = [f"the judges disagree on {leaf.id}: {_tally(leaf)}" for leaf in leaves if leaf.flip_rate]
    more = len(told) - _MOST_TOLD
    return (*told[:_MOST_TOLD], *([f"the judges disagree on {more} more"] if more > 0 else []))


def _tally(leaf: LeafGrade) -> str:
    counts = Counter(vote.state for vote in leaf.votes)
    return ", ".join(f"{counts[state]} {state}" for state in State if counts[state])
