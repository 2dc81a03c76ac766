"""An open problem that continues a paper: what its task says, and everything that can be wrong with it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields

from firetrial_kit.errors import Fault
from firetrial_parser.kinds.rubrics import Condition, Leaf, Rubrics

MAX_TEXT = 20_000  # characters of the direction and of the background
MAX_CLAUSE = 4_000
MAX_CLAUSES = 50  # in one list
MAX_TITLE = 500
_ID = re.compile(r"[a-z0-9-]{1,64}")
# What a question under each condition has to ask about, among the things that it may.
_ABOUT = {
    Condition.INTEGRITY: "conduct",
    Condition.COMPLETENESS: "deliverables",
    Condition.SUFFICIENCY: "success_conditions",
}


@dataclass(frozen=True, slots=True)
class Clause:
    """One thing that a specification states, by an id of its own."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class FollowUp:
    """The specification: what is asked of an agent and of its conduct."""

    paper_title: str
    direction: str
    background: str
    held_fixed: tuple[Clause, ...]
    design_space: tuple[Clause, ...]
    success_conditions: tuple[Clause, ...]
    deliverables: tuple[Clause, ...]
    conduct: tuple[Clause, ...]
    compute: tuple[Clause, ...]
    rubrics_shown: bool

    @property
    def lists(self) -> dict[str, tuple[Clause, ...]]:
        """The clauses by the name of their list, in the order of the contract."""
        return {name: getattr(self, name) for name in LISTS}

    @property
    def identity(self) -> dict[str, object]:
        """All of it, as JSON values."""
        return asdict(self)


LISTS = tuple(f.name for f in fields(FollowUp) if str(f.type).startswith("tuple["))
_NEEDED = ("success_conditions", "deliverables", "conduct")


def faults(told: FollowUp, field: str) -> Iterator[Fault]:
    """What is wrong with the specification by itself; `field` is where it lies."""
    for name, most in (("paper_title", MAX_TITLE), ("direction", MAX_TEXT), ("background", MAX_TEXT)):
        yield from _text_faults(f"{field}.{name}", getattr(told, name), most)
    seen: dict[str, str] = {}
    for name, clauses in told.lists.items():
        if len(clauses) > MAX_CLAUSES:
            yield Fault(f"{field}.{name}", f"{len(clauses)} clauses", f"must be at most {MAX_CLAUSES}")
        if name in _NEEDED and not clauses:
            yield Fault(f"{field}.{name}", "", "must state at least one clause")
        for n, clause in enumerate(clauses[:MAX_CLAUSES]):
            where = f"{field}.{name}[{n}]"
            yield from _text_faults(f"{where}.text", clause.text, MAX_CLAUSE)
            if not _ID.fullmatch(clause.id):
                yield Fault(f"{where}.id", clause.id[:80], f"must be {_ID.pattern}")
            elif clause.id in seen:
                yield Fault(f"{where}.id", clause.id, f"is that of {seen[clause.id]}: give it one of its own")
            seen.setdefault(clause.id, where)


def _text_faults(where: str, text: str, most: int) -> Iterator[Fault]:
    if not text.strip():
        yield Fault(where, "", "must hold text")
    if len(text) > most:
        yield Fault(where, f"{len(text)} characters", f"must have at most {most}")


def coverage_faults(told: FollowUp, rubrics: Rubrics, field: str) -> Iterator[Fault]:
    """Where both do not fit: nothing that has to be asked may be left out, nothing unstated be asked."""
    lists = {clause.id: name for name, clauses in told.lists.items() for clause in clauses}
    for leaf in rubrics.leaves:
        yield from _asked_faults(leaf, lists)
    for condition, name in _ABOUT.items():
        asked = {id_ for leaf in rubrics.leaves if leaf.condition is condition for id_ in leaf.asks}
        rubric = rubrics.named_of(condition)
        for clause in told.lists[name]:
            if clause.id not in asked:
                cure = (
                    f"is asked nowhere under {condition}: add a question to {rubric} with asks: [{clause.id}]"
                )
                yield Fault(f"{field}.{name}, {clause.id}", clause.text, cure)


def _asked_faults(leaf: Leaf, lists: dict[str, str]) -> Iterator[Fault]:
    unknown = [id_ for id_ in leaf.asks if id_ not in lists]
    for id_ in unknown:
        cure = f"is no clause that the specification states; it has {_few(sorted(lists))}"
        yield Fault(f"{leaf.where}, asks", id_, cure)
    if not leaf.asks:
        yield Fault(f"{leaf.where}, asks", "", "must name the clauses that the question asks about")
    elif leaf.condition and not unknown and _ABOUT[leaf.condition] not in {lists[id_] for id_ in leaf.asks}:
        cure = f"must name one of {_ABOUT[leaf.condition]}: that is what {leaf.condition} is about"
        yield Fault(f"{leaf.where}, asks", ", ".join(leaf.asks), cure)


def _few(names: Sequence[str]) -> str:
    return ", ".join(names[:30]) + (f" and {len(names) - 30} more" if len(names) > 30 else "")
