"""A rubric: a tree of questions with passing answers, weights and conditions.

One form serves two uses. Rubrics of follow-up research hold questions under the conditions C1 to C3, each
counted alike; PaperBench's rubrics hold requirements with weights, each leaf of one category.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Condition(StrEnum):
    """What a question stands for."""

    INTEGRITY = "C1"
    COMPLETENESS = "C2"
    SUFFICIENCY = "C3"


class Deliverable(StrEnum):
    """Which part of a submission a question is about."""

    PAPER = "paper"
    CODE = "code"
    LOGS = "logs"


@dataclass(frozen=True, slots=True)
class Node:
    """A question (a leaf) or a group of them.

    `parent` is the parent's place in the tree, -1 for the root; `weight` counts among its siblings.
    `condition` and `deliverables` come from the nearest node above where a node names none itself; no
    deliverables means all. `answers` are all that can be given, `passing` those that pass; for leaves only.
    `settled_by` names findings that fail a leaf without anyone being asked; a group hands them down.
    """

    id: str
    parent: int
    weight: float
    question: str
    leaf: bool
    condition: Condition | None = None
    category: str = ""
    deliverables: tuple[Deliverable, ...] = ()
    passing: tuple[str, ...] = ("yes",)
    answers: tuple[str, ...] = ("yes", "no")
    settled_by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rubric:
    """Nodes with every parent before its children, and siblings in their order."""

    nodes: tuple[Node, ...]

    @property
    def leaves(self) -> tuple[Node, ...]:
        """The questions, in their order."""
        return tuple(node for node in self.nodes if node.leaf)

    def above(self, node: Node) -> list[Node]:
        """The groups that a node lies in, the nearest first."""
        found = []
        while node.parent >= 0:
            node = self.nodes[node.parent]
            found.append(node)
        return found
