"""The two rubrics of a follow-up task as their author wrote them, checked before anything is graded by them.

The judge reads the whole form (docs/rubrics.md). Here is read what has to fit the specification, and what
would keep the judge from reading the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from firetrial_kit.errors import Fault

MAX_NODES = 2_000
MAX_DEPTH = 50
MAX_QUESTION = 4_000
_MAX_ID = 200
DELIVERABLES = ("paper", "code", "logs")
# Findings that can be made without a model: docs/integrity.md tells what each means.
FINDINGS = (
    "untraced_number", "unexecuted_claim", "contradicts_output", "hard_coded_number", "fewer_samples",
    "fewer_seeds", "other_model", "other_dataset", "stand_in_results", "paper_contacted",
    "protected_file_edited",
)  # fmt: skip
TOP = "rubrics"
"""The id of the tree that the judge makes of both."""


class Condition(StrEnum):
    """What a question stands for."""

    INTEGRITY = "C1"
    COMPLETENESS = "C2"
    SUFFICIENCY = "C3"


_OF = {"direction": (Condition.COMPLETENESS, Condition.SUFFICIENCY), "integrity": (Condition.INTEGRITY,)}
NAMES = tuple(_OF)


@dataclass(frozen=True, slots=True)
class Leaf:
    """A question: `where` it stands, for people, and the ids of the clauses that it asks about."""

    where: str
    condition: Condition | None
    asks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Rubrics:
    """The questions of both rubrics, and all that is wrong with how these are written."""

    leaves: tuple[Leaf, ...]
    faults: tuple[Fault, ...]

    @staticmethod
    def named_of(condition: Condition) -> str:
        """The rubric that asks under a condition."""
        return next(name for name, conditions in _OF.items() if condition in conditions)


def read(documents: Mapping[str, Any]) -> Rubrics:
    """Read the rubrics "direction" and "integrity", each plain values as a file holds them."""
    reader = _Reader([], [], {TOP: "the tree that both are put into"})
    for name in NAMES:
        reader.read(name, documents.get(name))
    return Rubrics(tuple(reader.leaves), tuple(reader.faults))


@dataclass(frozen=True, slots=True)
class _Above:
    """What a node has from the groups that it lies in."""

    rubric: str
    depth: int = 0
    condition: Condition | None = None
    asks: tuple[str, ...] = ()


@dataclass
class _Reader:
    leaves: list[Leaf]
    faults: list[Fault]
    _ids: dict[str, str]
    _nodes: int = 0

    def read(self, name: str, document: Any) -> None:
        only = _OF[name]
        self._node(document, name, _Above(name, condition=only[0] if len(only) == 1 else None))

    def _node(self, raw: Any, place: str, above: _Above) -> None:
        if self._is_beyond(place, above):
            return
        if not isinstance(raw, dict):
            self._fault(place, raw, "must be a node: id, and a question or children")
            return
        where = self._where(raw, place, above.rubric)
        below = _Above(
            above.rubric,
            above.depth + 1,
            self._condition(raw, where, above),
            self._names(raw, "asks", where) or above.asks,
        )
        self._check_words(raw, where)
        children = raw.get("children", raw.get("sub_tasks"))
        if not children:
            self._leaf(raw, where, below)
        elif not isinstance(children, list):
            self._fault(f"{where}, children", children, "must be a list of nodes")
        else:
            for n, child in enumerate(children):
                self._node(child, f"{where}, children[{n}]", below)

    def _is_beyond(self, place: str, above: _Above) -> bool:
        """Whether a node is one too many, or too deep: told once, and nothing after it is read."""
        self._nodes += 1
        if self._nodes <= MAX_NODES and above.depth <= MAX_DEPTH:
            return False
        if self._nodes <= MAX_NODES + 1:
            self._fault(place, "", f"must be at most {MAX_NODES} nodes, {MAX_DEPTH} deep")
        self._nodes = MAX_NODES + 1
        return True

    def _where(self, raw: Mapping[str, Any], place: str, rubric: str) -> str:
        id_ = raw.get("id")
        if not (isinstance(id_, str) and id_.strip() and id_.isprintable() and len(id_) <= _MAX_ID):
            cure = f"must be text of 1 to {_MAX_ID} printable characters: a node needs its own id"
            self._fault(f"{place}, id", id_, cure)
            return place
        where = f'{rubric}, node "{id_}"'
        if id_ in self._ids:
            self._fault(
                f"{where}, id", id_, f"is that of {self._ids[id_]}: ids are of one node in both rubrics"
            )
        self._ids.setdefault(id_, where)
        return where

    def _condition(self, raw: Mapping[str, Any], where: str, above: _Above) -> Condition | None:
        given = raw.get("condition")
        if given is None:
            return above.condition
        allowed = _OF[above.rubric]
        if given not in [str(one) for one in allowed]:
            self._fault(f"{where}, condition", given, f"must be {' or '.join(allowed)} in this rubric")
            return above.condition
        return Condition(given)

    def _leaf(self, raw: Mapping[str, Any], where: str, told: _Above) -> None:
        question = raw.get("question", raw.get("requirements"))
        if not isinstance(question, str) or not 0 < len(question.strip()) <= MAX_QUESTION:
            self._fault(
                f"{where}, question", question, f"must ask something in up to {MAX_QUESTION} characters"
            )
        if told.condition is None:
            allowed = " or ".join(_OF[told.rubric])
            self._fault(f"{where}, condition", "", f"must be {allowed}, here or in a group above")
        self.leaves.append(Leaf(where, told.condition, told.asks))

    def _check_words(self, raw: Mapping[str, Any], where: str) -> None:
        for name, known in (("deliverables", DELIVERABLES), ("settled_by", FINDINGS)):
            for given in self._names(raw, name, where):
                if given not in known:
                    self._fault(f"{where}, {name}", given, f"must be one of {', '.join(known)}")
        weight = raw.get("weight", 1)
        if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 <= weight <= 1e9:
            self._fault(f"{where}, weight", weight, "must be a number from 0 to 1e9")
        answers = [_word(one) for one in _listed(raw.get("answers"))]
        passing = [_word(one) for one in _listed(raw.get("passing"))]
        if not all(answers) or not all(passing):
            self._fault(f"{where}, answers", raw.get("answers"), "answers and passing must be lists of words")
        elif answers and (strange := [one for one in passing or ["yes"] if one not in answers]):
            self._fault(f"{where}, passing", strange[0], f"must be one of its answers: {', '.join(answers)}")

    def _names(self, raw: Mapping[str, Any], name: str, where: str) -> tuple[str, ...]:
        listed = _listed(raw.get(name))
        if all(isinstance(one, str) for one in listed):
            return tuple(dict.fromkeys(listed))
        self._fault(f"{where}, {name}", raw[name], "must be a list of names")
        return ()

    def _fault(self, where: str, value: Any, cure: str) -> None:
        shown = (
            type(value).__name__ if isinstance(value, dict | list) else "" if value is None else str(value)
        )
        self.faults.append(Fault(where, shown[:200], cure))


def _listed(given: Any) -> Sequence[Any]:
    return given if isinstance(given, list) else [] if given is None else [given]


def _word(value: Any) -> str:
    """An answer as text: YAML reads a bare yes as true."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value.strip() if isinstance(value, str) and value.isprintable() else ""


def questions(documents: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """(id, question) of every question, for whoever is shown the rubrics."""
    for name in NAMES:
        yield from _questions(documents.get(name))


def _questions(raw: Any) -> Iterator[tuple[str, str]]:
    if not isinstance(raw, dict):
        return
    children = raw.get("children", raw.get("sub_tasks"))
    if not children:
        yield str(raw.get("id")), str(raw.get("question", raw.get("requirements", "")))
    for child in children or []:
        yield from _questions(child)
