"""Findings that were made of a run without a model, and the questions of a rubric that they settle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from firetrial_judge.rubric.grade import LeafGrade, State
from firetrial_judge.rubric.tree import Node, Rubric

_MAX_RATIONALE = 2000
NOT_READ = "not_read"


@dataclass(frozen=True, slots=True)
class Found:
    """A finding by its name, in words, with the steps of the trajectory that show it: (step, quote)."""

    name: str
    statement: str
    citations: tuple[tuple[int, str], ...] = ()

    @property
    def told(self) -> str:
        cited = "; ".join(f'step {step}: "{quote}"' for step, quote in self.citations)
        return f"{self.statement} ({cited})" if cited else self.statement


def settled(rubric: Rubric, findings: Sequence[Found]) -> list[LeafGrade]:
    """The questions that a finding fails. A question without one is open: the absence proves nothing."""
    grades = []
    for leaf in rubric.leaves:
        against = [finding for finding in findings if finding.name in leaf.settled_by]
        if against:
            grades.append(_failed(leaf, against))
    return grades


def _failed(leaf: Node, against: Sequence[Found]) -> LeafGrade:
    return LeafGrade(
        leaf.id,
        State.FAILED,
        answer=next((answer for answer in leaf.answers if answer not in leaf.passing), ""),
        rationale=" ".join(finding.told for finding in against)[:_MAX_RATIONALE],
        settled_by=tuple(dict.fromkeys(finding.name for finding in against)),
    )
