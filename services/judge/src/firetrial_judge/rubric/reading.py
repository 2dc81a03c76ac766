"""From a file's plain values to a rubric and the scores that it carries, every fault named with its node.

Fields of a node: id; question (or requirements); weight, 1 by default; condition C1, C2 or C3; deliverables,
some of paper, code and logs; category (or task_category); passing (or passing_answers) and answers;
settled_by, names of findings that fail it; children (or sub_tasks). Others, such as asks, are not read.
A graded tree has on its leaves a score from 0 to 1, passed, or an answer.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeVar

from firetrial_judge.rubric.tree import Condition, Deliverable, Node, Rubric
from firetrial_judge.text import clean
from firetrial_kit.errors import Fault, check

MAX_NODES = 100_000
_MAX_CATEGORIES = 16
_MAX_FAULTS = 200
_MAX_WEIGHT = 1e9
_MAX_ID = 200
_YES_NO = ("yes", "no")
_OTHERWISE = "none of these"
Raw = Mapping[str, Any]
E = TypeVar("E", bound=StrEnum)


@dataclass(frozen=True, slots=True)
class Reading:
    """A rubric, and what its file says of scores: by node id, None where the file says that there is none."""

    rubric: Rubric
    scores: Mapping[str, float | None]


def read(document: Any) -> Reading:
    """Read a tree. Raises INVALID with every fault (at most 200 are told)."""
    reader = _Reader()
    reader.walk(document)
    check("the rubric", reader.faults[:_MAX_FAULTS])
    return Reading(Rubric(tuple(reader.nodes)), reader.scores)


@dataclass
class _Reader:
    """The walk's state. No recursion: a tree may be as deep as it likes."""

    nodes: list[Node] = field(default_factory=list)
    scores: dict[str, float | None] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    _ids: set[str] = field(default_factory=set)
    _objects: set[int] = field(default_factory=set)

    def walk(self, document: Any) -> None:
        waiting: list[tuple[Any, int, str]] = [(document, -1, "the root")]
        while waiting:
            raw, parent, place = waiting.pop()
            if len(self.nodes) >= MAX_NODES:
                self.faults.append(Fault("the rubric", "", f"must have at most {MAX_NODES} nodes"))
                return
            waiting += reversed(list(self._visit(raw, parent, place)))
        categories = {node.category for node in self.nodes if node.category}
        if len(categories) > _MAX_CATEGORIES:
            shown = ", ".join(sorted(categories)[:3])
            self.faults.append(Fault("categories", shown, f"must be at most {_MAX_CATEGORIES} in all"))

    def _visit(self, raw: Any, parent: int, place: str) -> Iterator[tuple[Any, int, str]]:
        """Read one node; gives its children as they wait to be read."""
        if not isinstance(raw, dict):
            self._fault(place, raw, "must be a node: an object with an id")
            return
        where = self._where(raw, place)
        if not self._is_new(raw, parent, where):
            return
        children = _first(raw, "children", "sub_tasks")
        if children is not None and not isinstance(children, list):
            self._fault(f"{where}, children", children, "must be a list of nodes")
            children = None
        index = len(self.nodes)
        self.nodes.append(self._node(raw, parent, where, leaf=not children))
        if children:
            self._check_weights(children, where)
        for n, child in enumerate(children or []):
            yield child, index, f"{where}, children[{n}]"

    def _where(self, raw: Raw, place: str) -> str:
        id_ = raw.get("id")
        if isinstance(id_, str) and id_.strip() and id_.isprintable() and len(id_) <= _MAX_ID:
            return f'node "{id_}"'
        cure = f"must be text of 1 to {_MAX_ID} printable characters: a node needs its own id"
        self._fault(f"{place}, id", id_ if id_ is not None else "", cure)
        return place

    def _is_new(self, raw: Raw, parent: int, where: str) -> bool:
        """Whether this node was not met before: one that was is a cycle or stands twice in the tree."""
        id_ = raw.get("id")
        known = isinstance(id_, str) and id_ in self._ids
        if known or id(raw) in self._objects:
            above = self._ids_above(parent) if known else set()
            cure = "must not lie below itself (a cycle)" if id_ in above else "must stand in the tree once"
            self._fault(f"{where}, id", id_, cure)
            return False
        self._objects.add(id(raw))
        if isinstance(id_, str):
            self._ids.add(id_)
        return True

    def _ids_above(self, index: int) -> set[str]:
        found = set()
        while index >= 0:
            found.add(self.nodes[index].id)
            index = self.nodes[index].parent
        return found

    def _node(self, raw: Raw, parent: int, where: str, *, leaf: bool) -> Node:
        question = _first(raw, "question", "requirements")
        if question is not None and not isinstance(question, str):
            self._fault(f"{where}, question", question, "must be text")
        elif leaf and not (question or "").strip():
            self._fault(f"{where}, question", question or "", "must be asked: it is a leaf")
        above = self.nodes[parent] if parent >= 0 else None
        passing, answers = self._answers(raw, where) if leaf else (_YES_NO[:1], _YES_NO)
        node = Node(
            id=str(raw.get("id")),
            parent=parent,
            weight=self._weight(raw, where),
            question=clean(question).strip() if isinstance(question, str) else "",
            leaf=leaf,
            condition=self._condition(raw, where) or (above.condition if above else None),
            category=self._text(raw, where, "category", "task_category"),
            deliverables=self._deliverables(raw, where) or (above.deliverables if above else ()),
            passing=passing,
            answers=answers,
            settled_by=self._names(raw, where) or (above.settled_by if above else ()),
        )
        self._note_score(raw, node, where)
        return node

    def _weight(self, raw: Raw, where: str) -> float:
        weight = raw.get("weight", 1)
        if _number(weight) and 0 <= weight <= _MAX_WEIGHT:
            return float(weight)
        self._fault(f"{where}, weight", weight, f"must be a number from 0 to {_MAX_WEIGHT:g}")
        return 1.0

    def _check_weights(self, children: list[Any], where: str) -> None:
        weights = [child.get("weight", 1) for child in children if isinstance(child, dict)]
        if weights and all(_number(weight) and weight == 0 for weight in weights):
            shown = ", ".join(map(str, weights[:10]))
            self._fault(f"{where}, weights of its children", shown, "must not all be zero")

    def _condition(self, raw: Raw, where: str) -> Condition | None:
        given = raw.get("condition")
        return None if given is None else self._member(Condition, given, f"{where}, condition")

    def _deliverables(self, raw: Raw, where: str) -> tuple[Deliverable, ...]:
        given = _first(raw, "deliverables", "deliverable")
        listed = given if isinstance(given, list) else [] if given is None else [given]
        found = (self._member(Deliverable, one, f"{where}, deliverables") for one in listed)
        return tuple(dict.fromkeys(one for one in found if one is not None))

    def _names(self, raw: Raw, where: str) -> tuple[str, ...]:
        given = raw.get("settled_by")
        listed = given if isinstance(given, list) else [] if given is None else [given]
        if any(not (isinstance(one, str) and one.isidentifier()) for one in listed):
            self._fault(f"{where}, settled_by", given, "must be a list of names of findings")
            return ()
        return tuple(dict.fromkeys(listed))

    def _member(self, kind: type[E], given: Any, where: str) -> E | None:
        for member in kind:
            if given == member.value:
                return member
        self._fault(where, given, f"must be one of {', '.join(kind)}")
        return None

    def _text(self, raw: Raw, where: str, *names: str) -> str:
        given = _first(raw, *names)
        if given is None or (isinstance(given, str) and given.isprintable()):
            return (given or "").strip()
        self._fault(f"{where}, {names[0]}", given, "must be text of one line")
        return ""

    def _answers(self, raw: Raw, where: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Passing answers, and all that can be given: where only the first are named, another one fails."""
        passing = self._words(_first(raw, "passing", "passing_answers"), f"{where}, passing") or _YES_NO[:1]
        answers = self._words(raw.get("answers"), f"{where}, answers")
        if not answers:
            answers = _YES_NO if set(passing) <= set(_YES_NO) else (*passing, _OTHERWISE)
        if strange := [one for one in passing if one not in answers]:
            self._fault(f"{where}, passing", strange[0], f"must be one of its answers: {', '.join(answers)}")
        return passing, answers

    def _words(self, given: Any, where: str) -> tuple[str, ...]:
        listed = given if isinstance(given, list) else [] if given is None else [given]
        words = [_word(one) for one in listed]
        if any(not word for word in words) or len(set(words)) != len(words):
            self._fault(where, given, "must be a list of different answers, each a line of text")
        return tuple(dict.fromkeys(word for word in words if word))

    def _note_score(self, raw: Raw, node: Node, where: str) -> None:
        if raw.get("valid_score") is False:
            self.scores[node.id] = None  # its judge gave no usable answer; the score beside it means nothing
        elif "score" in raw:
            score = raw["score"]
            if score is not None and not (_number(score) and 0 <= score <= 1):
                self._fault(f"{where}, score", score, "must be a number from 0 to 1, or null for none")
            else:
                self.scores[node.id] = None if score is None else float(score)
        elif raw.get("passed") is not None:
            if not isinstance(raw["passed"], bool):
                self._fault(f"{where}, passed", raw["passed"], "must be true or false")
            self.scores[node.id] = float(raw["passed"] is True)
        elif node.leaf and raw.get("answer") is not None:
            answer = _word(raw["answer"])
            if answer not in node.answers:
                self._fault(f"{where}, answer", raw["answer"], f"must be one of {', '.join(node.answers)}")
            self.scores[node.id] = float(answer in node.passing)

    def _fault(self, where: str, value: Any, cure: str) -> None:
        self.faults.append(Fault(where, _shown(value), cure))


def _first(raw: Raw, *names: str) -> Any:
    return next((raw[name] for name in names if raw.get(name) is not None), None)


def _number(value: Any) -> bool:
    """Whether it is a finite number; whole ones of any length are compared, never converted here."""
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, int) and not isinstance(value, bool)


def _word(value: Any) -> str:
    """An answer as text: YAML reads a bare yes as true."""
    if isinstance(value, bool):
        return _YES_NO[0] if value else _YES_NO[1]
    return value.strip() if isinstance(value, str) and value.isprintable() else ""


def _shown(value: Any) -> str:
    if isinstance(value, dict | list):
        return type(value).__name__
    if isinstance(value, int) and value.bit_length() > 1000:
        return "a huge number"  # Python refuses to print the longest
    return str(value)
