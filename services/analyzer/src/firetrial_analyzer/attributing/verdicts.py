"""A model's verdicts, each checked by itself: against its form, the order of questions, the trajectory."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from jsonschema import Draft202012Validator

from firetrial_analyzer.attributing import forms
from firetrial_analyzer.attributing.quotes import Quotes
from firetrial_analyzer.attribution import Missed
from firetrial_analyzer.false_claims import FalsePositive
from firetrial_analyzer.taxonomy.catalogue import ErrorType, FalsePositiveKind, Taxonomy
from firetrial_analyzer.taxonomy.steps import Citation

_SHOWN = 200
_PLANNING = (ErrorType.GOAL_DEVIATION, ErrorType.METHOD_DEVIATION)
T = TypeVar("T", Missed, FalsePositive)


@dataclass(frozen=True, slots=True)
class Asked:
    """What a model is asked: missed claims without a type, and false ones with what the rules say of them.

    `truth` holds the ids that a false claim can be held against. A kind in `settled` is not the model's to
    change.
    """

    missed: tuple[Missed, ...]
    false: tuple[FalsePositive, ...]
    truth: frozenset[str]
    settled: frozenset[str]

    def only(self, ids: Collection[str]) -> Asked:
        return replace(
            self,
            missed=tuple(one for one in self.missed if one.claim_id in ids),
            false=tuple(one for one in self.false if one.claim_id in ids),
        )

    @property
    def ids(self) -> tuple[str, ...]:
        return (*(one.claim_id for one in self.missed), *(one.claim_id for one in self.false))


@dataclass(slots=True)
class Checked:
    """The verdicts that hold by claim, and by claim what is wrong with the others."""

    missed: dict[str, Missed] = field(default_factory=dict)
    false: dict[str, FalsePositive] = field(default_factory=dict)
    faults: dict[str, str] = field(default_factory=dict)
    foreign: list[str] = field(default_factory=list)


class Checking:
    """Checks the answers on one run."""

    def __init__(self, taxonomy: Taxonomy, quotes: Quotes, settled_by: str) -> None:
        self._taxonomy = taxonomy
        self._quotes = quotes
        self._settled_by = settled_by
        self._missed = Draft202012Validator(forms.missed_verdict(taxonomy))
        self._false = Draft202012Validator(forms.false_verdict(taxonomy))

    def check(self, asked: Asked, answer: Mapping[str, Sequence[Any]]) -> Checked:
        """Each claim that was asked about ends in one of the two."""
        checked = Checked()
        self._side(asked.missed, answer["missed"], checked.missed, checked, asked)
        self._side(asked.false, answer["false"], checked.false, checked, asked)
        return checked

    def _side(
        self, asked: Sequence[T], told: Sequence[Any], found: dict[str, T], checked: Checked, whole: Asked
    ) -> None:
        entries: dict[str, list[Any]] = {}
        for entry in told:
            entries.setdefault(str(entry.get("id")) if isinstance(entry, dict) else "", []).append(entry)
        for one in asked:
            given = entries.pop(one.claim_id, [])
            fault = _one(given) or self._fault(one, given[0], whole)
            if fault:
                checked.faults[one.claim_id] = fault
            else:
                found[one.claim_id] = self._taken(one, given[0])
        checked.foreign += [f"there is no claim {id_[:_SHOWN]!r} to judge here" for id_ in entries]

    def _fault(self, one: Missed | FalsePositive, entry: Mapping[str, Any], asked: Asked) -> str:
        validator = self._missed if isinstance(one, Missed) else self._false
        if (error := next(validator.iter_errors(entry), None)) is not None:
            where = "/".join(map(str, error.absolute_path)) or "the entry"
            return f"at {where}: {error.message[:_SHOWN]}"
        rules = _order(entry) if isinstance(one, Missed) else _kept(one, entry, asked)
        return next(rules, "") or self._citation_fault(entry)

    def _citation_fault(self, entry: Mapping[str, Any]) -> str:
        citations, faults = self._quotes.checked(entry["citations"])
        return "; ".join(faults) or ("" if citations else "it cites no step")

    def _taken(self, one: T, entry: Mapping[str, Any]) -> T:
        citations, _ = self._quotes.checked(entry["citations"])
        taken: dict[str, Any] = {"rationale": entry["rationale"], "citations": citations}
        if isinstance(one, Missed):
            stage = self._taxonomy.stage_of(entry["type"]).id
            return replace(one, stage=stage, type=entry["type"], settled_by=self._settled_by, **taken)
        kind = FalsePositiveKind(entry["kind"])
        return replace(one, kind=kind, against=entry["against"], settled_by=self._settled_by, **taken)


def _one(given: Sequence[Any]) -> str:
    if not given:
        return "no verdict was given"
    return "several verdicts were given" if any(entry != given[0] for entry in given) else ""


def _order(entry: Mapping[str, Any]) -> Iterator[str]:
    """Planning goes first: a deviation that is stated is the type, and is none that is not stated."""
    goal, method, type_ = entry["goal_as_asked"], entry["method_as_asked"], entry["type"]
    due = ErrorType.GOAL_DEVIATION if not goal else None if method else ErrorType.METHOD_DEVIATION
    if due and type_ != due:
        yield f"the answers on planning make it {due}, not {type_}"
    if due is None and type_ in _PLANNING:
        yield f"it is called {type_}, though goal and method are said to be as asked"


def _kept(one: FalsePositive, entry: Mapping[str, Any], asked: Asked) -> Iterator[str]:
    if one.claim_id in asked.settled and entry["kind"] != one.kind:
        yield f"its kind is settled as {one.kind}"
    if entry["against"] and entry["against"] not in asked.truth:
        yield f"there is no finding {entry['against'][:_SHOWN]!r} to hold it against"


def as_citations(told: Sequence[Citation]) -> list[dict[str, Any]]:
    """Citations as a model is shown them."""
    return [{"step": citation.step, "quote": citation.quote} for citation in told]
