"""Files that people write, JSON or YAML, to plain values, with nothing read twice or guessed."""

from __future__ import annotations

import importlib
import json
from typing import Any

from firetrial_kit.errors import Fault, FiretrialError, invalid

_SHOWN = 60


def load(data: bytes, subject: str = "the document") -> Any:
    """The value in a file. Raises INVALID, in the name of `subject`, for what is neither JSON nor YAML."""
    text = str(data, "utf-8", "replace").removeprefix("\ufeff")
    try:
        return _json(text, subject) if text.lstrip()[:1] in ("{", "[") else _yaml(text, subject)
    except RecursionError as error:
        raise _unreadable(subject, text, "must be nested less deep") from error


def _json(text: str, subject: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_unique, parse_constant=_refused)
    except ValueError as error:
        try:
            return _yaml(text, subject)  # a flow mapping of YAML may start like JSON
        except FiretrialError:
            raise _unreadable(subject, text, f"must be JSON or YAML: {error}") from error


def _yaml(text: str, subject: str) -> Any:
    yaml = importlib.import_module("yaml")  # ships no types
    base = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    loader = type("Loader", (base,), {"construct_mapping": _construct_mapping(base, yaml.YAMLError)})
    try:
        return yaml.load(text, loader)
    # A tag on a value that does not fit it ("!!bool x") makes the loader raise whatever comes.
    except (yaml.YAMLError, ValueError, LookupError, AttributeError, TypeError, OverflowError) as error:
        cure = f"must be JSON or YAML: {' '.join(str(error).split())[:300]}"
        raise _unreadable(subject, text, cure) from error


def _construct_mapping(base: Any, error: type[Exception]) -> Any:
    """YAML's own lets the last of two equal keys win."""

    def construct(self: Any, node: Any, deep: bool = False) -> Any:
        keys = [key.value for key, _ in node.value if isinstance(key.value, str)]
        if len(set(keys)) != len(keys):
            raise error(f"a key is given twice{node.start_mark}")
        return base.construct_mapping(self, node, deep)

    return construct


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key is given twice in one object")
    return found


def _refused(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _unreadable(subject: str, text: str, cure: str) -> FiretrialError:
    return invalid(subject, [Fault("the file", text[:_SHOWN], cure)])
