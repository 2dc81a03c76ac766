"""Trees as models give them: flat lists of nodes that name their parents. What hangs nowhere is told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from firetrial_kit.errors import Fault
from firetrial_parser.tree import Node, NodeKind, Quote, numbered

MAX_NODES = 500  # in one answer
MAX_DEPTH = 24  # of nodes below the root

Entry = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Linked:
    """The entries of a list that hang under a known node, what is wrong with the others, and all depths."""

    entries: tuple[Entry, ...]
    faults: tuple[Fault, ...]
    depths: Mapping[str, int]


def linked(entries: Sequence[Entry], known: Mapping[str, int]) -> Linked:
    """Sift entries by their links; `known` gives the ids they may hang under, with their depths."""
    taken, depths, kept = list(entries[:MAX_NODES]), dict(known), list[int]()
    loose = list(range(len(taken)))
    while hung := [n for n in loose if _hang(taken[n], depths)]:  # parents may come after their children
        kept += hung
        loose = sorted(set(loose) - set(hung))
    twice = Counter(entry["id"] for entry in taken)
    faults = [_unlinked(taken[n], depths, twice) for n in loose]
    if len(entries) > MAX_NODES:
        faults.insert(0, Fault("nodes", str(len(entries)), f"at most {MAX_NODES} nodes"))
    return Linked(tuple(taken[n] for n in sorted(kept)), tuple(faults), depths)


def _hang(entry: Entry, depths: dict[str, int]) -> bool:
    """Note the entry's depth if it can hang where it says."""
    depth = depths.get(entry["parent"], MAX_DEPTH)
    if depth >= MAX_DEPTH or entry["id"] in depths or not entry["id"].strip():
        return False
    # Nothing hangs under a leaf.
    depths[entry["id"]] = depth + 1 if entry["kind"] == "intermediate" else MAX_DEPTH
    return True


def _unlinked(entry: Entry, depths: Mapping[str, int], twice: Mapping[str, int]) -> Fault:
    name, parent = entry["id"], entry["parent"]
    if not name.strip() or (name in depths and twice[name] < 2):
        return Fault(f"nodes.{name}.id", name, "must be a new id, not one of the questions'")
    if name in depths:
        return Fault(f"nodes.{name}.id", name, "ids must be unique")
    if depths.get(parent, 0) >= MAX_DEPTH:
        return Fault(f"nodes.{name}.parent", parent, "is a leaf, or too deep; hang it under a question")
    cure = "must be the id of a question or of an intermediate node that hangs under one, not in a circle"
    return Fault(f"nodes.{name}.parent", parent, cure)


def prefixed(entries: Iterable[Entry], prefix: str) -> Iterator[Entry]:
    """The entries with ids, and links among themselves, that no other list has."""
    listed = list(entries)
    own = {entry["id"] for entry in listed}
    for entry in listed:
        parent = entry["parent"]
        yield {
            **entry,
            "id": f"{prefix}{entry['id']}",
            "parent": f"{prefix}{parent}" if parent in own else parent,
        }


def node_of(entry: Entry, children: tuple[Node, ...] = (), path: str = "0") -> Node:
    """One entry as a node."""
    return Node(
        kind=cast("NodeKind", entry["kind"]),
        title=" ".join(entry["title"].split()),
        path=path,
        description=entry["description"].strip(),
        evidence=entry.get("evidence", "").strip(),
        datasets=_names(entry.get("datasets", ())),
        models=_names(entry.get("models", ())),
        metrics=_names(entry.get("metrics", ())),
        protocol=entry.get("protocol", "").strip(),
        conclusion=entry.get("conclusion", "").strip(),
        uncertain=entry.get("uncertain", False),
        task=entry.get("task", "").strip(),
        quotes=tuple(Quote(text) for text in _names(entry["quotes"])),
        children=children,
    )


def nested(root: Entry, entries: Iterable[Entry]) -> Node:
    """The tree of a root and of entries that are linked to it."""
    below: dict[str, list[Entry]] = {}
    for entry in entries:
        below.setdefault(entry["parent"], []).append(entry)

    def grown(entry: Entry) -> Node:
        return node_of(entry, tuple(map(grown, below.get(entry["id"], ()))))

    return numbered(grown(root))


def _names(texts: Iterable[str]) -> tuple[str, ...]:
    """Without those that are empty or there twice."""
    return tuple(dict.fromkeys(text.strip() for text in texts if text.strip()))
