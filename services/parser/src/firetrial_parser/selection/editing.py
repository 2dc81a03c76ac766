"""Editing a tree field by field: all edits of a request are made, or none."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from firetrial_kit.errors import Fault, check
from firetrial_parser.tree import Node, Quote, numbered

MAX_EDITS = 100
MAX_VALUE = 20_000  # characters of one value
MAX_VALUES = 100
_SHOWN = 80


@dataclass(frozen=True, slots=True)
class Edit:
    """A field of the node at `path` set to `values` (one, or any number for lists), or the node taken out."""

    path: str
    field: str = ""
    values: tuple[str, ...] = ()
    remove: bool = False


@dataclass(frozen=True, slots=True)
class Change:
    """What an edit changed, as text: a list is one value a line; of a removed node its title."""

    path: str
    field: str
    before: str
    after: str


def _words(values: Sequence[str]) -> str:
    return values[0].strip()


def _list(values: Sequence[str]) -> tuple[str, ...]:
    return tuple(value.strip() for value in values if value.strip())


def _page(values: Sequence[str]) -> int:
    return int(values[0])


def _flag(values: Sequence[str]) -> bool:
    return {"true": True, "false": False}[values[0].strip().lower()]


Anchor = Callable[[str], Quote]
_TEXTS = ("title", "description", "task", "evidence", "protocol", "conclusion")
_LISTS = ("datasets", "models", "metrics")
_READ: dict[str, Callable[[Sequence[str]], Any]] = {
    **dict.fromkeys(_TEXTS, _words),
    **dict.fromkeys(_LISTS, _list),
    "page": _page,
    "uncertain": _flag,
}
_QUOTES = "quotes"
FIELDS = (*_READ, _QUOTES)


def apply(root: Node, edits: Sequence[Edit], anchor: Anchor) -> tuple[Node, list[Change]]:
    """The edited tree, its paths renumbered, and each change by the path that its node had before.

    `anchor` finds where quoted words stand in the paper. Raises INVALID with every fault. Edits that change
    nothing leave no change.
    """
    check("the edits", _faults(root, edits))
    values: dict[str, dict[str, Any]] = {}
    for edit in edits:
        if not edit.remove:
            values.setdefault(edit.path, {})[edit.field] = _value(edit, anchor)
    removed = {edit.path for edit in edits if edit.remove}
    changes = list(_changes(root, values, removed))
    return numbered(_edited(root, values, removed)), changes


def _value(edit: Edit, anchor: Anchor) -> Any:
    if edit.field == _QUOTES:
        return tuple(anchor(words) for words in _list(edit.values))
    return _READ[edit.field](edit.values)


def _edited(node: Node, values: dict[str, dict[str, Any]], removed: set[str]) -> Node:
    children = tuple(_edited(child, values, removed) for child in node.children if child.path not in removed)
    return replace(node, **values.get(node.path, {}), children=children)


def _changes(root: Node, values: dict[str, dict[str, Any]], removed: set[str]) -> Iterator[Change]:
    for node in root.walk():
        for name, value in values.get(node.path, {}).items():
            before = getattr(node, name)
            if before != value:
                yield Change(node.path, name, _text(before), _text(value))
        if node.path in removed:
            yield Change(node.path, "removed", node.title, "")


def _text(value: Any) -> str:
    if isinstance(value, tuple):
        return "\n".join(one.text if isinstance(one, Quote) else one for one in value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _faults(root: Node, edits: Sequence[Edit]) -> Iterator[Fault]:
    if not 1 <= len(edits) <= MAX_EDITS:
        yield Fault("edits", str(len(edits)), f"must be 1 to {MAX_EDITS}")
    paths = {node.path for node in root.walk()}
    seen: set[tuple[str, str]] = set()
    for number, edit in enumerate(edits):
        name = f"edits[{number}]"
        if edit.path not in paths:
            yield Fault(f"{name}.path", edit.path[:_SHOWN], "must be the path of a node of this version")
        if edit.remove:
            if edit.path == root.path:
                yield Fault(f"{name}.remove", edit.path, "the root stays; reject the tree instead")
            continue
        if (edit.path, edit.field) in seen:
            yield Fault(f"{name}.field", edit.field, "is set twice on this node")
        seen.add((edit.path, edit.field))
        yield from _field_faults(name, edit)


def _field_faults(name: str, edit: Edit) -> Iterator[Fault]:
    if edit.field not in FIELDS:
        yield Fault(f"{name}.field", edit.field[:_SHOWN], f"must be one of {', '.join(FIELDS)}")
        return
    if edit.field in (*_LISTS, _QUOTES):
        if len(edit.values) > MAX_VALUES:
            yield Fault(f"{name}.values", f"{len(edit.values)} values", f"at most {MAX_VALUES}")
    elif len(edit.values) != 1:
        yield Fault(f"{name}.values", f"{len(edit.values)} values", f"{edit.field} takes one value")
    if any(len(value) > MAX_VALUE for value in edit.values):
        yield Fault(f"{name}.values", edit.values[0][:_SHOWN], f"at most {MAX_VALUE} characters each")
    told = edit.values[0].strip() if edit.values else ""
    if edit.field == "title" and edit.values and not told:
        yield Fault(f"{name}.values", "", "a title must not be empty")
    if edit.field == "page" and not (told.isascii() and told.isdigit() and len(told) <= 6):
        yield Fault(f"{name}.values", told[:_SHOWN], "a page is a number, 0 where there is none")
    if edit.field == "uncertain" and told.lower() not in {"true", "false"}:
        yield Fault(f"{name}.values", told[:_SHOWN], "must be true or false")
