"""JSON as a stream brings it: hostile, cut, or none at all."""

from __future__ import annotations

import json
from typing import Any

MAX_INT = 2**53


def parsed(text: str) -> dict[str, Any] | None:
    """The object that a line is; None for anything else, also one that says something twice."""
    if not text.lstrip().startswith("{"):
        return None
    try:
        found = json.loads(text, object_pairs_hook=_once)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name stands twice in an object")
    return found


def text_of(value: object) -> str:
    """A string, or the text in a list of content blocks; of anything else its JSON."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, list):
        return "\n".join(map(_block, value))
    return compact(value)


def _block(block: object) -> str:
    if isinstance(block, dict) and isinstance(block.get("text"), str):
        return str(block["text"])
    if isinstance(block, dict) and block.get("type") == "image":
        return "[image]"
    return block if isinstance(block, str) else compact(block)


def compact(value: object) -> str:
    """JSON in one line, letters as they are."""
    return json.dumps(value, ensure_ascii=False)


def part(value: dict[str, Any], name: str) -> dict[str, Any]:
    """The object under a name; an empty one where there is none."""
    found = value.get(name)
    return found if isinstance(found, dict) else {}


def string(value: dict[str, Any], name: str) -> str:
    """The string under a name, else ""."""
    found = value.get(name)
    return found if isinstance(found, str) else ""


def count(value: dict[str, Any], name: str) -> int | None:
    """The number under a name, where it is a whole one that can be."""
    found = value.get(name)
    whole = isinstance(found, int) and not isinstance(found, bool) and 0 <= found <= MAX_INT
    return found if whole else None


def amount(value: dict[str, Any], name: str) -> float | None:
    """The number under a name, where it is a finite one from 0 on."""
    found = value.get(name)
    if isinstance(found, bool) or not isinstance(found, int | float):
        return None
    return float(found) if 0 <= found <= MAX_INT else None


def total(*parts: int | None) -> int | None:
    """The sum of what is known; None where nothing is."""
    known = [part for part in parts if part is not None]
    return sum(known) if known else None
