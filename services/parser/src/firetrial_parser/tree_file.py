"""A tree as a JSON file, `{"paper": {…}, "root": {…}}`, and the document that it makes by itself.

Fields are those of `Tree`; of a node only `kind` and `title` are needed. Paths may be left out.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter, ValidationError

from firetrial_kit.errors import Fault, check, invalid
from firetrial_parser.document import PARAGRAPH_BREAK, Caption, Document, Kind, Section, normal_label
from firetrial_parser.tree import SUBMITTED, Grounding, Node, PaperFacts, Quote, Tree, numbered
from firetrial_parser.validation import is_evidence, shape_faults

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

MAX_BYTES = 8 * 1024 * 1024
MAX_NODES = 5_000
MAX_DEPTH = 24  # of nodes below the root
MAX_FAULTS = 200

_TREE = TypeAdapter(Tree)
_NESTED: dict[type[Any], dict[str, type[Any]]] = {
    Tree: {"paper": PaperFacts, "grounding": Grounding, "root": Node},
    Node: {"children": Node, "quotes": Quote},
}


def read_tree(data: bytes) -> Tree:
    """The tree of a file. Raises INVALID naming every fault by its node's path.

    What can be told without the paper is checked here: form, one root, branches that end in leaves, leaves
    that are there once and name a figure, table or section.
    """
    if len(data) > MAX_BYTES:
        raise invalid("the tree", [Fault("file", f"{len(data)} bytes", f"at most {MAX_BYTES} bytes")])
    try:
        read = _TREE.validate_json(data, strict=True)
    except ValidationError as error:
        raise invalid("the tree", [_told(fault) for fault in error.errors()[:MAX_FAULTS]]) from None
    check("the tree", [*_size_faults(read.root), *_unknown(json.loads(data), Tree, "")][:MAX_FAULTS])
    root = numbered(read.root) if all(node.path == "0" for node in read.root.walk()) else read.root
    check("the tree", [*shape_faults(root), *_evidence_faults(root)][:MAX_FAULTS])
    return Tree(root, read.paper, SUBMITTED)


def document_of(data: bytes) -> Document:
    """The file as a document: its nodes are its sections, its leaves' evidence its captions."""
    tree = read_tree(data)
    texts, sections, captions = [tree.paper.title], list[Section](), dict[str, Caption]()
    for node in tree.root.walk():
        text = PARAGRAPH_BREAK.join(_texts(node))
        texts += [node.title, text]
        if node.kind != "leaf":
            sections.append(Section(node.title, node.path.count(".") + 1, 0, text))
            continue
        last = sections[-1]
        sections[-1] = replace(last, text=PARAGRAPH_BREAK.join(filter(None, [last.text, text])))
        label = normal_label(node.evidence)
        kind: Kind = "table" if label.startswith("table") else "figure"
        if label.startswith(("figure", "table")):
            told = node.description or node.title
            captions.setdefault(label, Caption(label.capitalize(), kind, 0, told, len(sections) - 1))
    return Document(
        sha256=hashlib.sha256(data).hexdigest(),
        format="tree",
        title=tree.paper.title or tree.root.title,
        abstract=tree.root.description,
        authors=tree.paper.authors,
        sections=tuple(sections),
        captions=tuple(captions.values()),
        pages=(PARAGRAPH_BREAK.join(filter(None, texts)),),
        venue=tree.paper.venue,
        year=tree.paper.year,
    )


def _texts(node: Node) -> Iterator[str]:
    told = (node.description, node.task, node.protocol, node.conclusion, *(q.text for q in node.quotes))
    yield from (text for text in told if text.strip())


def _told(fault: ErrorDetails) -> Fault:
    """One fault, its place as a node's path and part: root, children, 0, title is 0.0.title."""
    place, inside = "", False
    for step in fault["loc"]:
        if step == "root":
            place, inside = "0", True
        elif isinstance(step, int):
            place += f".{step}" if place.endswith(tuple("0123456789")) and inside else f"[{step}]"
        elif step != "children":
            place, inside = f"{place}.{step}".lstrip("."), False
    if fault["loc"] == ("root",) and fault["type"] == "missing":
        return Fault("root", "", 'is required: a tree is {"paper": {…}, "root": {…}}')
    if fault["type"] == "missing":  # its input is all that is around it
        return Fault(place, "", "is required")
    given = fault["input"]
    shown = str(given, "utf-8", "replace") if isinstance(given, bytes) else str(given)
    return Fault(place or "file", shown[:200], fault["msg"])


def _unknown(value: Any, type_: type[Any], place: str) -> Iterator[Fault]:
    """The names in a file that mean nothing, where a misspelt one would be passed over in silence."""
    known = {field.name for field in fields(type_)}
    for name in value.keys() - known:
        yield Fault(
            f"{place}.{name}".lstrip("."), str(value[name])[:80], f"is none of {', '.join(sorted(known))}"
        )
    for name, below in _NESTED.get(type_, {}).items():
        inner = value.get(name, ())
        if isinstance(inner, dict):
            yield from _unknown(inner, below, "0" if name == "root" else f"{place}.{name}".lstrip("."))
            continue
        for i, item in enumerate(inner):
            yield from _unknown(item, below, f"{place}.{i}" if name == "children" else f"{place}.{name}[{i}]")


def _size_faults(root: Node) -> Iterator[Fault]:
    nodes, level, depth = 1, list(root.children), 0
    while level and nodes <= MAX_NODES and depth < MAX_DEPTH:
        nodes, depth = nodes + len(level), depth + 1
        level = [child for node in level for child in node.children]
    if nodes > MAX_NODES:
        yield Fault("0", f"over {MAX_NODES} nodes", f"at most {MAX_NODES} nodes")
    elif level:
        yield Fault("0", f"over {MAX_DEPTH} levels", f"nodes lie at most {MAX_DEPTH} levels below the root")


def _evidence_faults(root: Node) -> Iterator[Fault]:
    for leaf in root.leaves():
        if not is_evidence(leaf.evidence):
            cure = 'must name a figure, table or section: "Figure 3", "Table 2", "Section 3.1"'
            yield Fault(f"{leaf.path}.evidence", leaf.evidence, cure)
