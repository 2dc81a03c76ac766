"""The forms of answers, as JSON schemas. What is asked for is strict; each entry is checked by itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from firetrial_analyzer.taxonomy.catalogue import Taxonomy
from firetrial_kit.asking import Schema

_TEXT: Schema = {"type": "string"}


def _object(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def _list(of: Any) -> dict[str, Any]:
    return {"type": "array", "items": of}


CITATION = _object({"step": {"type": "integer"}, "quote": _TEXT})
OBSERVATION = _object({"what": _TEXT, "claims": _list(_TEXT), "citations": _list(CITATION)})
OBSERVATIONS = _object({"observations": _list(OBSERVATION)})
_ANY = _list({})
# What is taken of an answer before its entries are looked at.
OBSERVATIONS_ACCEPTED: Schema = {
    "type": "object",
    "properties": {"observations": _ANY},
    "required": ["observations"],
}
VERDICTS_ACCEPTED: Schema = {
    "type": "object",
    "properties": {"missed": _ANY, "false": _ANY},
    "required": ["missed", "false"],
}


def missed_verdict(taxonomy: Taxonomy) -> Schema:
    return _object(
        {
            "id": _TEXT,
            "goal_as_asked": {"type": "boolean"},
            "method_as_asked": {"type": "boolean"},
            "type": _one_of([leaf.id for leaf in taxonomy.error_types]),
            "rationale": _TEXT,
            "citations": _list(CITATION),
        }
    )


def false_verdict(taxonomy: Taxonomy) -> Schema:
    return _object(
        {
            "id": _TEXT,
            "kind": _one_of([kind.id for kind in taxonomy.false_positive_kinds]),
            "against": _TEXT,
            "rationale": _TEXT,
            "citations": _list(CITATION),
        }
    )


def verdicts(taxonomy: Taxonomy) -> Schema:
    return _object({"missed": _list(missed_verdict(taxonomy)), "false": _list(false_verdict(taxonomy))})


def _one_of(ids: Sequence[str]) -> dict[str, Any]:
    return {"type": "string", "enum": list(ids)}
