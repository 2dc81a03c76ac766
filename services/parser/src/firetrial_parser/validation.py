"""What is wrong with a tree, judged by the paper itself. A fault's field is the node's path and its part."""

from __future__ import annotations

import re
from collections.abc import Iterator

from firetrial_kit.errors import Fault
from firetrial_parser.document import Document, normal_label
from firetrial_parser.headings import numbered as section_number
from firetrial_parser.prose import flat
from firetrial_parser.tree import Node

MIN_QUOTE_WORDS = 4

_NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?")
_QUOTE = re.compile(r"[“\"]([^“”\"]{3,400})[”\"]")
_SECTION = re.compile(r"(?i)^(?:section|sec\.|§|appendix)\s*([A-Z\d]+(?:\.\d+)*)")


def validate(root: Node, document: Document) -> list[Fault]:
    """Every fault of a tree, in the order of its nodes; an empty list for a sound one."""
    faults = [*_shape(root), *_duplicates(root)]
    source = _Source(document)
    for leaf in root.leaves():
        faults += _evidence(leaf, source)
        faults += _conclusion(leaf, source)
    return faults


class _Source:
    """The paper prepared for look-ups."""

    def __init__(self, document: Document) -> None:
        everything = [document.title, document.abstract, *document.pages]
        everything += [section.text for section in document.sections]
        everything += [caption.text for caption in document.captions]
        text = "\n".join(everything)
        self.squeezed = _squeeze(text)
        self.numbers = {_value(n) for n in _NUMBER.findall(text)}
        self.labels = {normal_label(c.label): c.label for c in document.captions}
        titles = [section.title for section in document.sections]
        numbers = [section_number(title) for title in titles]
        self.sections = {flat(title) for title in titles} | {flat(n.title) for n in numbers if n}
        self.section_numbers = {".".join(n.parts).lower() for n in numbers if n}


def _squeeze(text: str) -> str:
    # Line breaks and hyphens fall differently in every copy of a text.
    return re.sub(r"[\s\-]+", "", flat(text))


def _value(number: str) -> str:
    plain = number.replace(",", "")
    return plain.rstrip("0").rstrip(".") if "." in plain else plain


def _shape(root: Node) -> Iterator[Fault]:
    if root.kind != "root":
        yield Fault(root.path, root.kind, "the topmost node must be the root")
    if not root.leaves():
        yield Fault(
            root.path, root.title, "the tree has no leaf; every question needs a figure, table or section"
        )
    yield from _below(root, "0")


def _below(node: Node, path: str) -> Iterator[Fault]:
    if node.path != path:
        yield Fault(f"{path}.path", node.path, f"must be {path}, the node's position")
    if not node.title.strip():
        yield Fault(f"{path}.title", "", "must not be empty")
    if node.kind == "leaf" and node.children:
        yield Fault(
            f"{path}.children", f"{len(node.children)} children", "a leaf has none; make it intermediate"
        )
    if node.kind == "intermediate" and not node.children:
        yield Fault(f"{path}.children", node.title, "every branch must end in a leaf; drop it or add one")
    for i, child in enumerate(node.children):
        if child.kind == "root":
            yield Fault(f"{path}.{i}", child.title, "there is one root only; make it intermediate")
        yield from _below(child, f"{path}.{i}")


def _duplicates(root: Node) -> Iterator[Fault]:
    seen: dict[tuple[str, str], str] = {}
    for leaf in root.leaves():
        key = (normal_label(leaf.evidence), flat(leaf.conclusion))
        if key in seen:
            yield Fault(leaf.path, leaf.evidence, f"is the same leaf as {seen[key]}; keep one of them")
        seen.setdefault(key, leaf.path)


def _evidence(leaf: Node, source: _Source) -> Iterator[Fault]:
    label = leaf.evidence.strip()
    section = _SECTION.match(label)
    known = (
        normal_label(label) in source.labels
        or flat(label) in source.sections
        or (section is not None and section[1].lower() in source.section_numbers)
    )
    if not known:
        there = ", ".join(source.labels.values()) or "no captions"
        yield Fault(
            f"{leaf.path}.evidence", label, f"no such figure, table or section; the paper has {there}"
        )


def _conclusion(leaf: Node, source: _Source) -> Iterator[Fault]:
    if not leaf.conclusion.strip():
        if not leaf.uncertain:
            yield Fault(f"{leaf.path}.conclusion", "", "state the finding, or mark the leaf uncertain")
        return
    for quote in _QUOTE.findall(leaf.conclusion):
        if len(quote.split()) >= MIN_QUOTE_WORDS and _squeeze(quote.rstrip(".,;")) not in source.squeezed:
            yield Fault(
                f"{leaf.path}.conclusion", quote, "this quotation is not in the paper; quote it exactly"
            )
    for number in dict.fromkeys(_NUMBER.findall(leaf.conclusion)):
        if _value(number) not in source.numbers:
            yield Fault(f"{leaf.path}.conclusion", number, "this number does not occur in the paper")
