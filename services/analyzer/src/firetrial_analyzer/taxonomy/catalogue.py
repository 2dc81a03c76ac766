"""The error taxonomy: stages, error types of missing claims, kinds of false ones. Versioned package data.

After FIRE-Bench (arXiv 2602.02905), with definitions of our own. A version that was shipped is never changed;
a new one is a new file.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from importlib.resources import files
from typing import Any

from firetrial_kit.errors import Fault, check, invalid

SCHEMA = "firetrial.taxonomy/1"
LATEST = "1"


class ErrorType(StrEnum):
    """The ids that the code knows; every taxonomy must have them."""

    METHOD_DEVIATION = "METHOD_DEVIATION"
    GOAL_DEVIATION = "GOAL_DEVIATION"
    UNSOUND_IMPLEMENTATION = "UNSOUND_IMPLEMENTATION"
    LAZINESS = "LAZINESS"
    ENDLESS_LOOP = "ENDLESS_LOOP"
    PREMATURE_TERMINATION = "PREMATURE_TERMINATION"
    ANALYSIS_FAILURE = "ANALYSIS_FAILURE"
    ENVIRONMENT_SETUP = "ENVIRONMENT_SETUP"
    API_CALL_ISSUE = "API_CALL_ISSUE"
    POLICY_VIOLATION = "POLICY_VIOLATION"
    TIMEOUT = "TIMEOUT"
    OTHER = "OTHER"


class FalsePositiveKind(StrEnum):
    CONTRADICTORY = "CONTRADICTORY"
    UNRELATED = "UNRELATED"
    OVERGENERALIZED = "OVERGENERALIZED"
    ALTERNATIVE = "ALTERNATIVE"


@dataclass(frozen=True, slots=True)
class Entry:
    """A stage or a kind of false claim."""

    id: str
    name: str
    definition: str


@dataclass(frozen=True, slots=True)
class LeafType:
    """A type of error; `signals` names the facts that settle it without a model."""

    id: str
    name: str
    definition: str
    stage: str
    signals: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Taxonomy:
    """Stages in the order of research, types in the order of stages."""

    version: str
    stages: tuple[Entry, ...]
    error_types: tuple[LeafType, ...]
    false_positive_kinds: tuple[Entry, ...]

    def stage_of(self, error_type: str) -> Entry:
        """The stage of a type. Raises KeyError for an unknown one."""
        stage = {leaf.id: leaf.stage for leaf in self.error_types}[error_type]
        return {entry.id: entry for entry in self.stages}[stage]


def load(version: str = LATEST) -> Taxonomy:
    """A shipped version. Raises INVALID for one that there is not."""
    file = files("firetrial_analyzer.taxonomy").joinpath(f"taxonomy-{version}.json")
    if not version.isalnum() or not file.is_file():
        raise invalid(
            "the taxonomy", [Fault("version", version, f"must be a shipped version, such as {LATEST}")]
        )
    return read(file.read_text("utf-8"))


def read(text: str) -> Taxonomy:
    """A taxonomy from its JSON. Raises INVALID with every fault."""
    try:
        document = json.loads(text)
    except ValueError as error:
        raise invalid("the taxonomy", [Fault("taxonomy", text[:40], f"must be JSON: {error}")]) from error
    reader = _Reader(document if isinstance(document, dict) else {})
    taxonomy = reader.taxonomy()
    check("the taxonomy", reader.faults)
    return taxonomy


class _Reader:
    def __init__(self, document: dict[str, Any]) -> None:
        self._document = document
        self.faults: list[Fault] = []

    def taxonomy(self) -> Taxonomy:
        if self._document.get("schema") != SCHEMA:
            self._fault("schema", self._document.get("schema"), f"must be {SCHEMA}")
        stages = tuple(self._entry(*item) for item in self._list("stages"))
        types = tuple(self._leaf(*item, {stage.id for stage in stages}) for item in self._list("error_types"))
        kinds = tuple(self._entry(*item) for item in self._list("false_positive_kinds"))
        self._complete("stages", [stage.id for stage in stages], ())
        self._complete("error_types", [leaf.id for leaf in types], ErrorType)
        self._complete("false_positive_kinds", [kind.id for kind in kinds], FalsePositiveKind)
        version = self._text("", self._document, "version")
        return Taxonomy(version, stages, types, kinds)

    def _list(self, field: str) -> list[tuple[str, dict[str, Any]]]:
        given = self._document.get(field)
        if not isinstance(given, list) or not given or not all(isinstance(item, dict) for item in given):
            self._fault(field, given, "must be a list of at least one object")
            return []
        return [(f"{field}[{n}].", item) for n, item in enumerate(given)]

    def _entry(self, place: str, item: dict[str, Any]) -> Entry:
        return Entry(*(self._text(place, item, key) for key in ("id", "name", "definition")))

    def _leaf(self, place: str, item: dict[str, Any], stages: set[str]) -> LeafType:
        entry, stage = self._entry(place, item), self._text(place, item, "stage")
        if stage not in stages:
            self._fault(f"{place}stage", stage, f"must be one of {', '.join(sorted(stages))}")
        signals = item.get("signals", [])
        if not isinstance(signals, list) or not all(isinstance(name, str) for name in signals):
            self._fault(f"{place}signals", signals, "must be a list of names")
            signals = []
        return LeafType(entry.id, entry.name, entry.definition, stage, tuple(signals))

    def _text(self, place: str, item: dict[str, Any], key: str) -> str:
        given = item.get(key)
        if isinstance(given, str) and given.strip():
            return given
        self._fault(f"{place}{key}", given, "must be a text that is not empty")
        return ""

    def _complete(self, field: str, ids: list[str], needed: Iterable[str]) -> None:
        for name in sorted({name for name in ids if name and ids.count(name) > 1}):
            self._fault(field, name, "each id may stand once")
        for name in needed:
            if name not in ids:
                self._fault(field, ", ".join(ids), f"must have {name}")

    def _fault(self, field: str, value: object, cure: str) -> None:
        self.faults.append(Fault(field, str(value), cure))
