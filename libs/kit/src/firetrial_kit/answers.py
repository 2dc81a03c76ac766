"""Reading JSON out of what models write: fences, prose around it and trailing commas are forgiven.

What could be read in two ways is not: two different values, a key given twice, NaN.
"""

from __future__ import annotations

import json
import re
from typing import Any

from jsonschema import Draft202012Validator

_SHOWN = 300
_FENCE = re.compile(r"```(?:json)?\s*\n(.*?)```", re.DOTALL | re.IGNORECASE)
_TRAILING_COMMA = re.compile(r'("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])')
_MOST_VALUES = 20


def parsed(text: str, validator: Draft202012Validator) -> tuple[Any, str]:
    """The value in `text` that fits, and "", or None and what is wrong."""
    values = _values(text)
    if not values:
        return None, "it is not valid JSON"
    faults = [_schema_fault(value, validator) for value in values]
    fitting = [value for value, fault in zip(values, faults, strict=True) if not fault]
    if len(fitting) > 1 and any(value != fitting[0] for value in fitting):
        return None, "it holds several different JSON values"
    return (fitting[0], "") if fitting else (None, faults[-1])


def _schema_fault(value: Any, validator: Draft202012Validator) -> str:
    error = next(iter(sorted(validator.iter_errors(value), key=lambda e: (len(e.path), str(e.path)))), None)
    if error is None:
        return ""
    where = "/".join(str(part) for part in error.absolute_path) or "the value"
    return f"at {where}: {error.message[:_SHOWN]}"


def _values(text: str) -> list[Any]:
    """JSON values in `text`: all of it, or its fenced blocks, or objects amid prose."""
    candidates = [text.strip(), *(match.strip() for match in _FENCE.findall(text))]
    whole = [found[0] for candidate in candidates if (found := _loaded(candidate))]
    return whole or _embedded(text)


def _embedded(text: str) -> list[Any]:
    """Objects amid prose, up to the first that is broken: what comes after could be a piece of it."""
    values: list[Any] = []
    decoder = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_no_constant)
    start = text.find("{")
    while start >= 0 and len(values) < _MOST_VALUES:
        try:
            value, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            break
        values.append(value)
        start = text.find("{", end)
    return values


def _loaded(text: str) -> tuple[Any] | None:
    for candidate in (text, _TRAILING_COMMA.sub(lambda match: match[1] or "", text)):
        try:
            return (json.loads(candidate, object_pairs_hook=_unique, parse_constant=_no_constant),)
        except (ValueError, RecursionError):
            continue
    return None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({key for key, _ in pairs}) != len(pairs):
        raise ValueError("a key is given twice")
    return dict(pairs)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")
