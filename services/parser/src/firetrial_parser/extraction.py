"""The tree by a model: first what the paper asks, then the experiments, part by part, each held to the paper.

Two prompts: one over the paper's front gives root and questions, one over each part of its text gives the
leaves that answer them. They are merged by the questions' ids. What the validation finds wrong is asked for
again with the fault named; what stays wrong is taken out and told.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from firetrial_kit.asking import ModelError
from firetrial_kit.errors import Fault, FiretrialError, Reason
from firetrial_parser.asking import Asker, Bill, Prompt, load_prompt
from firetrial_parser.document import Document
from firetrial_parser.nesting import Entry, Linked, linked, nested, node_of, prefixed
from firetrial_parser.outlining import facts_of
from firetrial_parser.parts import BYTES_A_TOKEN, Part, cut, front, parts
from firetrial_parser.quoting import quoted
from firetrial_parser.tree import Node, PaperFacts, Tree, numbered
from firetrial_parser.validation import Paper, anchored, duplicates, node_faults, validate

VERSION = "v2"
CONTEXT = 32_000  # tokens of one request and its answer, where nothing else is said
TOLD_FAULTS = 20  # of a tree that is refused, in the reason that its paper failed for

_PLACE = re.compile(r"(?P<path>\d+(?:\.\d+)*)(?:\.(?P<part>[a-z].*))?")


@dataclass(frozen=True, slots=True)
class Extracted:
    """A tree without fault, and what was taken out of it: the fields are paths of the tree as it was."""

    tree: Tree
    refused: tuple[Fault, ...]


async def extract_tree(document: Document, asker: Asker, bill: Bill, context: int = CONTEXT) -> Extracted:
    """Ask for the tree. `context` is what the model takes at once, in tokens.

    Raises CORRUPT where the model gives no tree that the paper bears out, every fault named, and
    what `Asker.ask` raises, with the part that it concerns. `bill` holds what was spent also then.
    """
    size = context * BYTES_A_TOKEN // 2  # the other half is for the questions and for the answer
    extraction = _Extraction(document, await asyncio.to_thread(Paper, document), asker, bill, size)
    outline = await extraction.outline()
    taken, left = await asyncio.to_thread(parts, document, size)
    # All are waited for: an answer that comes after another part failed is paid for, and kept.
    found = await asyncio.gather(
        *(extraction.experiments(part, outline) for part in taken), return_exceptions=True
    )
    entries, faults = _merged(_answers(found, taken))
    refused = [*outline.faults, *faults]
    if left:
        refused.append(Fault("paper", f"{left} bytes", "were not asked about: the paper is too long"))
    return await asyncio.to_thread(_kept, document, asker.model, outline, entries, refused)


def _kept(
    document: Document, model: str, outline: _Outline, entries: Sequence[Entry], refused: Sequence[Fault]
) -> Extracted:
    """The merged tree without what the paper does not bear out."""
    whole = anchored(nested(outline.root, [*outline.questions, *entries]), document)
    faults = validate(whole, document)
    root, told = _without(whole, faults), (*refused, *faults)
    if root is None or not root.leaves():
        raise _none(model, told)
    tree = Tree(numbered(root), outline.paper, f"model {model}, prompt {VERSION}")
    return Extracted(tree, told)


def _none(model: str, refused: Sequence[Fault]) -> FiretrialError:
    told = "; ".join(map(str, refused[:TOLD_FAULTS])) or "it names no experiment"
    message = f"model {model!r} gave no tree that the paper bears out: {told}"
    return FiretrialError(Reason.CORRUPT, message, faults=refused)


# ---- what the paper asks


@dataclass(frozen=True, slots=True)
class _Outline:
    paper: PaperFacts
    root: Entry
    questions: tuple[Entry, ...]
    faults: tuple[Fault, ...]
    known: Mapping[str, int]  # the ids that nodes may hang under, with their depths

    def listing(self, size: int) -> str:
        """The questions, as a part's prompt tells them."""
        lines = (
            json.dumps({"id": q["id"], "parent": q["parent"], "title": q["title"]}, ensure_ascii=False)
            for q in (self.root, *self.questions)
        )
        return cut("\n".join(lines), size)


@dataclass(frozen=True, slots=True)
class _Extraction:
    """The questions to the model about one paper; each request holds at most `size` bytes of it."""

    document: Document
    paper: Paper
    asker: Asker
    bill: Bill
    size: int

    async def outline(self) -> _Outline:
        """What the paper asks."""
        texts = front(self.document, self.size)
        try:
            answered = await self.asker.ask(
                _prompt("tree-outline"), texts, self.bill, check=self._outline_faults
            )
        except ModelError as error:
            raise _named(error, "the paper's outline") from error
        roots = _roots(answered.value)
        if len(roots) != 1:
            raise _none(self.asker.model, answered.faults)
        questions = linked(_questions(answered.value), {roots[0]["id"]: 0})
        root = {**roots[0], "title": roots[0]["title"].strip() or self.document.title or "Untitled"}
        facts = _facts(answered.value, self.document)
        return _Outline(facts, root, questions.entries, questions.faults, questions.depths)

    async def experiments(self, part: Part, outline: _Outline) -> Linked:
        """What one part reports."""

        def check(value: Any) -> list[Fault]:
            entries = value["nodes"]
            return [*linked(entries, outline.known).faults, *self._entry_faults(entries), *_empty(entries)]

        texts = {
            "QUESTIONS": outline.listing(self.size // 4),
            "CAPTIONS": part.captions or "(none)",
            "PART": part.text,
        }
        answered = await self.asker.ask(_prompt("tree-part"), texts, self.bill, check=check)
        return linked(answered.value["nodes"], outline.known)

    def _outline_faults(self, value: Any) -> list[Fault]:
        roots, rest = _roots(value), _questions(value)
        if len(roots) != 1:
            return [Fault("nodes", f"{len(roots)} roots", "there must be exactly one root")]
        return [*linked(rest, {roots[0]["id"]: 0}).faults, *self._entry_faults([*roots, *rest])]

    def _entry_faults(self, entries: Sequence[Entry]) -> list[Fault]:
        """What is wrong with each entry by itself, and with leaves that are there twice."""
        nodes = [node_of(entry, path=f"nodes.{entry['id']}") for entry in entries]
        faults = [fault for node in nodes for fault in (*node_faults(node), *self.paper.faults(node))]
        return [*faults, *duplicates(node for node in nodes if node.kind == "leaf")]


def _empty(entries: Sequence[Entry]) -> Iterator[Fault]:
    used = {entry["parent"] for entry in entries}
    for entry in entries:
        if entry["kind"] == "intermediate" and entry["id"] not in used:
            yield Fault(f"nodes.{entry['id']}", entry["title"], "has no leaf under it; drop it or add one")


def _roots(value: Any) -> list[Entry]:
    return [entry for entry in value["nodes"] if entry["kind"] == "root"]


def _questions(value: Any) -> list[Entry]:
    return [entry for entry in value["nodes"] if entry["kind"] != "root"]


def _facts(value: Mapping[str, Any], document: Document) -> PaperFacts:
    """What the model says of the paper where the paper says it too, else what the reader found."""
    read = facts_of(document)

    def there(text: str) -> bool:
        return bool(text.strip()) and quoted(text, document).page > 0

    authors = tuple(author for author in value["authors"] if there(author))
    year = value["year"]
    return PaperFacts(
        value["title"].strip() if there(value["title"]) else read.title,
        authors or read.authors,
        value["venue"].strip() if there(value["venue"]) else read.venue,
        year if 1500 < year < 3000 and re.search(rf"\b{year}\b", document.text) else read.year,
    )


# ---- its experiments, part by part


def _answers(found: Sequence[Linked | BaseException], taken: Sequence[Part]) -> list[Linked]:
    """The answers on all parts. Raises where there is none on one, naming it."""
    failed = [
        (part, error) for part, error in zip(taken, found, strict=True) if isinstance(error, BaseException)
    ]
    # What no retry can mend is told first.
    for part, error in sorted(failed, key=lambda one: getattr(one[1], "retryable", False)):
        if not isinstance(error, ModelError):
            raise error
        where = f"part {taken.index(part) + 1} of {len(taken)} ({part.name})"
        others = f"; {len(failed) - 1} more failed" if len(failed) > 1 else ""
        raise _named(error, where, others) from error
    return [answer for answer in found if not isinstance(answer, BaseException)]


def _merged(answers: Sequence[Linked]) -> tuple[list[Entry], list[Fault]]:
    """The entries of all parts, their ids made unique, and all faults."""
    entries = [
        entry for n, answer in enumerate(answers, 1) for entry in prefixed(answer.entries, f"part {n}/")
    ]
    return entries, [fault for answer in answers for fault in answer.faults]


def _named(error: ModelError, where: str, others: str = "") -> FiretrialError:
    """The same with what was asked about."""
    message = f"{where}: {error.message}{others}"
    return FiretrialError(error.reason, message, faults=error.faults, retry_after=error.retry_after)


# ---- what is kept


def _without(root: Node, faults: Sequence[Fault]) -> Node | None:
    """The tree without nodes and quotes that have faults, and without branches that then end in no leaf."""
    wrong: dict[str, set[str]] = {}
    for fault in faults:
        place = _PLACE.fullmatch(fault.field)
        if place is not None:
            wrong.setdefault(place["path"], set()).add(place["part"] or "")

    def kept(node: Node) -> Node | None:
        here = wrong.get(node.path, set())
        if node.kind != "root" and any(not part.startswith("quotes[") for part in here):
            return None
        children = tuple(filter(None, map(kept, node.children)))
        if node.kind == "intermediate" and not children:
            return None
        quotes = tuple(q for i, q in enumerate(node.quotes) if f"quotes[{i}]" not in here)
        return replace(node, quotes=quotes, children=children)

    return kept(root)


@cache
def _prompt(name: str) -> Prompt:
    return load_prompt(name, VERSION)
