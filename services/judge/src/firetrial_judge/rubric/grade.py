"""What a judge says of a submission, question by question, and what that is worth in all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from firetrial_judge.rubric.looking import Look
from firetrial_judge.rubric.scoring import Conditions, Tally, Weighted, conditions, tally, weighted
from firetrial_judge.rubric.tree import Rubric
from firetrial_kit import tenants
from firetrial_kit.ids import digest


class State(StrEnum):
    """UNSCORED: no usable answer from the judge, which is no failure of the submission's."""

    PASSED = "PASSED"
    FAILED = "FAILED"
    UNSCORED = "UNSCORED"


@dataclass(frozen=True, slots=True)
class LeafVote:
    """What one judge of a panel said of a question in one of its turns; `repeat` counts from 1."""

    judge: str
    repeat: int
    state: State
    answer: str = ""


@dataclass(frozen=True, slots=True)
class LeafGrade:
    """One question's grade, and its `answer` in the question's own words.

    `evidence` is what the judge named of `reading`, all that it was shown; both as "file:first-last", in
    lines counted from 1. `votes` are a panel's, and `flip_rate` the share of those cast that differ from the
    state, 0 to 1, None for fewer than two. `settled_by` names the findings that failed it without a judge;
    `looks` are the commands that the judge had run for it.
    """

    id: str
    state: State
    answer: str = ""
    rationale: str = ""
    evidence: tuple[str, ...] = ()
    reading: tuple[str, ...] = ()
    votes: tuple[LeafVote, ...] = ()
    flip_rate: float | None = None
    settled_by: tuple[str, ...] = ()
    looks: tuple[Look, ...] = ()

    @property
    def score(self) -> float | None:
        return None if self.state is State.UNSCORED else float(self.state is State.PASSED)


@dataclass(frozen=True, slots=True)
class Totals:
    """What grades come to: over all questions, by condition, and over the weighted tree."""

    passed: Tally
    conditions: Conditions
    weighted: Weighted


def totals(rubric: Rubric, grades: Sequence[LeafGrade]) -> Totals:
    """Undefined is None throughout: a question without a grade is never counted as failed."""
    scores = {grade.id: grade.score for grade in grades}
    return Totals(tally(list(scores.values())), conditions(rubric, scores), weighted(rubric, scores))


def grade_id(submission: str, rubric: str, config_hash: str) -> str:
    """The same files, rubric and judge give the same id: "g-" and 32 hex digits."""
    return tenants.mine("g-" + digest(submission, rubric, config_hash, length=32))
