"""What is wrong with a tree, judged by the paper itself. A fault's field is the node's path and its part."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from firetrial_kit.errors import Fault
from firetrial_parser.document import Document, normal_label
from firetrial_parser.headings import numbered as section_number
from firetrial_parser.numerals import Numerals
from firetrial_parser.prose import flat
from firetrial_parser.quoting import QUOTE_SCORE, quoted
from firetrial_parser.tree import Node

MIN_QUOTE_WORDS = 4  # fewer between quotation marks name a thing

_QUOTE = re.compile(r"[“\"]([^“”\"]{3,400})[”\"]")
_SECTION = re.compile(r"(?i)^(?:section|sec\.|§|appendix)\s*([A-Z\d]+(?:\.\d+)*)")
_LABEL = re.compile(r"(?i)^(?:fig(?:ure|s?\.)?|tab(?:le|s?\.)?)s?\s*[A-Z]?\.?[\dIVXLC]")


def validate(root: Node, document: Document) -> list[Fault]:
    """Every fault of a tree, in the order of its nodes; an empty list for a sound one."""
    paper = Paper(document)
    return [*shape_faults(root), *(fault for node in root.walk() for fault in paper.faults(node))]


def is_evidence(label: str) -> bool:
    """Whether a label has the form of a figure's, a table's or a section's."""
    return bool(_LABEL.match(label.strip()) or _SECTION.match(label.strip()))


def anchored(node: Node, document: Document) -> Node:
    """The tree with each quote's place, and with evidence spelt as its caption spells it."""
    caption = document.caption(node.evidence) if _LABEL.match(node.evidence.strip()) else None
    return replace(
        node,
        evidence=caption.label if caption else node.evidence,
        page=caption.page if caption else node.page,
        quotes=tuple(quoted(quote.text, document) for quote in node.quotes),
        children=tuple(anchored(child, document) for child in node.children),
    )


def shape_faults(root: Node) -> Iterator[Fault]:
    """What is wrong with a tree whatever its paper says: its form, and leaves that are there twice."""
    if root.kind != "root":
        yield Fault(root.path, root.kind, "the topmost node must be the root")
    if not root.leaves():
        cure = "the tree has no leaf; every question needs a figure, table or section"
        yield Fault(root.path, root.title, cure)
    yield from _below(root, "0")
    yield from duplicates(root.leaves())


def _below(node: Node, path: str) -> Iterator[Fault]:
    if node.path != path:
        yield Fault(f"{path}.path", node.path, f"must be {path}, the node's position")
    yield from node_faults(replace(node, path=path))
    if node.kind == "leaf" and node.children:
        many = f"{len(node.children)} children"
        yield Fault(f"{path}.children", many, "a leaf has none; make it intermediate")
    if node.kind == "intermediate" and not node.children:
        yield Fault(f"{path}.children", node.title, "every branch must end in a leaf; drop it or add one")
    for i, child in enumerate(node.children):
        if child.kind == "root":
            yield Fault(f"{path}.{i}", child.title, "there is one root only; make it intermediate")
        yield from _below(child, f"{path}.{i}")


def node_faults(node: Node) -> Iterator[Fault]:
    """What is wrong with a node by itself."""
    if not node.title.strip():
        yield Fault(f"{node.path}.title", "", "must not be empty")
    if node.kind == "leaf" and not node.conclusion.strip() and not node.uncertain:
        yield Fault(f"{node.path}.conclusion", "", "state the finding, or mark the leaf uncertain")


def duplicates(leaves: Iterable[Node]) -> Iterator[Fault]:
    """Leaves that say what an earlier one says."""
    seen: dict[tuple[str, str, str], str] = {}
    for leaf in leaves:
        # Two leaves of one figure that both have no finding are two only where they ask for two things.
        asked = "" if leaf.conclusion.strip() else flat(f"{leaf.title} {leaf.task}")
        key = (normal_label(leaf.evidence), flat(leaf.conclusion), asked)
        if key in seen:
            yield Fault(leaf.path, leaf.evidence, f"is the same leaf as {seen[key]}; keep one of them")
        seen.setdefault(key, leaf.path)


class Paper:
    """A paper prepared for look-ups, and what it says against a node."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._numerals = Numerals("\n".join(_everything(document)))
        self._labels = {normal_label(c.label): c.label for c in document.captions}
        titles = [section.title for section in document.sections]
        numbers = [section_number(title) for title in titles]
        self._sections = {flat(title) for title in titles} | {flat(n.title) for n in numbers if n}
        self._section_numbers = {".".join(n.parts).lower() for n in numbers if n}

    def faults(self, node: Node) -> Iterator[Fault]:
        """What the node says and the paper does not; those below it are left out."""
        for i, quote in enumerate(node.quotes):
            yield from self._unfound(f"{node.path}.quotes[{i}]", quote.text)
        if node.kind == "leaf":
            yield from self._evidence(node)
            yield from self._conclusion(node)

    def _evidence(self, leaf: Node) -> Iterator[Fault]:
        label = leaf.evidence.strip()
        section = _SECTION.match(label)
        known = (
            normal_label(label) in self._labels
            or flat(label) in self._sections
            or (section is not None and section[1].lower() in self._section_numbers)
        )
        if not known:
            there = ", ".join(self._labels.values()) or "no captions"
            cure = f"no such figure, table or section; the paper has {there}"
            yield Fault(f"{leaf.path}.evidence", label, cure)

    def _conclusion(self, leaf: Node) -> Iterator[Fault]:
        field = f"{leaf.path}.conclusion"
        for quote in _QUOTE.findall(leaf.conclusion):
            if len(quote.split()) >= MIN_QUOTE_WORDS:
                yield from self._unfound(field, quote.rstrip(".,;"))
        for number in self._numerals.missing(leaf.conclusion):
            yield Fault(field, number.text, "this number does not occur in the paper")

    def _unfound(self, field: str, text: str) -> Iterator[Fault]:
        quote = quoted(text, self._document)
        if not quote.page:
            near = f"nearest: {quote.score:.2f} of {QUOTE_SCORE:.2f}" if quote.score else "nothing like it"
            yield Fault(field, text, f"this quotation is not in the paper ({near}); quote it exactly")


def _everything(document: Document) -> Iterator[str]:
    yield from (document.title, document.abstract, *document.pages)
    yield from (section.text for section in document.sections)
    yield from (caption.text for caption in document.captions)
    yield from (cell for table in document.tables for row in table.rows for cell in row)
