"""Which leaf of a tree makes the best task, and why: a main result, grounded, and cheap to find again."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from firetrial_kit.errors import Fault
from firetrial_parser.document import Document
from firetrial_parser.findings import Citation, citations, is_finding
from firetrial_parser.headings import numbered
from firetrial_parser.prose import sentences
from firetrial_parser.tree import Node
from firetrial_parser.validation import validate

_NO_RESULT = re.compile(
    r"(?i)\b(?:examples?|overview|illustration|architecture|pipeline|workflow|prompts?|schematic|set-?up|notation|templates?"
    r"|hyper-?parameters?|token counts?|statistics of|summary of the (?:data|prompt|context)|conversation"
    r"|screenshot|UI"
    r"|list of|versions?|procedure|data card|datasets\.)\b"
)
_UNFIT_SECTION = re.compile(
    r"(?i)\b(?:introduction|related work|background|preliminaries|set-?up|overview)\b|^discussion$"
)
# What cannot be had or paid for; each with the points that it costs and what is said of it.
_DEAR = (
    (
        re.compile(
            r"(?i)\bpre-?train(?:ed|ing)?\b.{0,40}\bfrom scratch|\btrain(?:ed|ing)?\b.{0,30}\bfrom scratch"
            r"|\bwe (?:pre-?train|fine-?tune|train)\b|\b(?:GPU|TPU)[- ](?:hours|days)\b"
            r"|\b\d+ (?:A100|H100|TPU)s?\b"
            r"|\b(?:fine-?tuned|instruction-?tuned|trained) (?:on|with|for)\b"
        ),
        -4.0,
        "needs training",
    ),
    (
        re.compile(
            r"(?i)\b(?:human (?:annotat\w+|evaluat\w+|subjects?|participants?|raters?)|crowd-?workers?"
            r"|participants|volunteers|interviews?|Mechanical Turk|Prolific|clinicians|physicians rated)\b"
        ),
        -4.0,
        "needs people",
    ),
    (
        re.compile(
            r"(?i)\b(?:proprietary (?:data|corpus|records)|private (?:data|records)|in-house|internal data"
            r"|under licen[cs]e|MIMIC(?:-\w+)?|electronic health records|not publicly available)\b"
        ),
        -3.0,
        "its data are not open",
    ),
)
_OPEN_INPUTS = 2.0
_GROUNDED = 0.9  # mean score of a leaf's quotes from which they count as found


@dataclass(frozen=True, slots=True)
class Why:
    """Points for or against a leaf, and what for, in words for people."""

    points: float
    why: str


@dataclass(frozen=True, slots=True)
class Candidate:
    """A leaf, the reasons for its place, and what makes it no target at all."""

    leaf: Node
    reasons: tuple[Why, ...]
    against: tuple[str, ...] = ()

    @property
    def score(self) -> float:
        """The sum of its points."""
        return sum(reason.points for reason in self.reasons)


def rank_candidates(document: Document, root: Node) -> list[Candidate]:
    """All leaves: those that can be a target, best first, then the others in the order of the tree."""
    weighing = _Weighing(document, root)
    found = [Candidate(leaf, tuple(weighing.reasons(leaf)), weighing.against(leaf)) for leaf in root.leaves()]
    fit = sorted((c for c in found if not c.against), key=lambda c: c.score, reverse=True)
    return [*fit, *(c for c in found if c.against)]


def rank_leaves(document: Document, root: Node) -> list[Node]:
    """The leaves that can be a target, best first."""
    return [candidate.leaf for candidate in rank_candidates(document, root) if not candidate.against]


def appendix_from(document: Document) -> int:
    """Index of the first section after the references, or of the first lettered or supplementary one."""
    for i, section in enumerate(document.sections):
        number = numbered(section.title)
        lettered = number is not None and number.parts[0].isalpha()
        ends = section.title.lower() in {"references", "bibliography", "appendix", "appendices"}
        if lettered or ends or section.supplementary:
            return i
    return len(document.sections)


class _Weighing:
    """A paper prepared for weighing its leaves."""

    def __init__(self, document: Document, root: Node) -> None:
        self._document = document
        self._root = root
        self._cited = citations(document)
        self._appendix = appendix_from(document)
        self._faults = validate(root, document)

    def against(self, leaf: Node) -> tuple[str, ...]:
        """Why a leaf cannot be a target."""
        found = [f"{fault}" for fault in self._faults if _is_of(fault, leaf)]
        if not leaf.conclusion:
            found.append("no sentence states what it shows")
        elif leaf.uncertain:
            found.append("what it shows is uncertain")
        return tuple(found)

    def reasons(self, leaf: Node) -> Iterator[Why]:
        mentions = self._cited.get(leaf.evidence, [])
        yield from self._place(leaf, mentions)
        findings = sum(is_finding(sentence) for sentence in sentences(leaf.conclusion))
        if findings:
            yield Why(min(findings, 4), f"{findings} sentences state a finding")
        if any(char.isdigit() for char in leaf.conclusion):
            yield Why(1, "its findings have numbers")
        if leaf.quotes and sum(q.score for q in leaf.quotes) / len(leaf.quotes) >= _GROUNDED:
            yield Why(1, "its quotes stand in the paper")
        yield from self._feasible(leaf, mentions)

    def _place(self, leaf: Node, mentions: Sequence[Citation]) -> Iterator[Why]:
        caption = self._document.caption(leaf.evidence)
        if caption is None or caption.section is None or caption.section < self._appendix:
            yield Why(6, "it stands in the main text")
        in_body = sum(mention.section < self._appendix for mention in mentions)
        if in_body:
            yield Why(min(in_body, 3), f"the main text cites it {in_body} times")
        if _NO_RESULT.search(leaf.title):
            yield Why(-6, "its title speaks of an example or a set-up")
        parent = self._root.parent(leaf.path)
        if parent and _UNFIT_SECTION.search(parent.title):
            yield Why(-3, f"it belongs to {parent.title!r}")

    def _feasible(self, leaf: Node, mentions: Sequence[Citation]) -> Iterator[Why]:
        """From what is said where the leaf is cited; what is not said is taken for cheap."""
        told = " ".join([leaf.title, leaf.description, leaf.task, leaf.protocol, *(m.text for m in mentions)])
        for pattern, points, why in _DEAR:
            if found := pattern.search(told):
                yield Why(points, f"{why}: “{found[0]}”")
        if leaf.datasets or leaf.models:
            names = ", ".join([*leaf.datasets, *leaf.models][:3])
            yield Why(_OPEN_INPUTS, f"its inputs are named: {names}")


def _is_of(fault: Fault, leaf: Node) -> bool:
    return f"{fault.field}.".startswith(f"{leaf.path}.")
