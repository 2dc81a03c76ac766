"""The research-problem tree: the paper's question, its parts, and what each figure or table found.

Without a model the tree is read off the document's own structure: title and abstract are the root, sections
the intermediate nodes, captioned figures and tables the leaves.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from firetrial_kit.errors import Fault, FiretrialError, invalid
from firetrial_parser import scope
from firetrial_parser.document import Caption, Document, Section
from firetrial_parser.findings import Citation, citations, conclusions, is_finding
from firetrial_parser.headings import NOT_PROSE
from firetrial_parser.prose import sentences

NodeKind = Literal["root", "intermediate", "leaf"]
DESCRIPTION_CHARS = 400
NO_HOME = frozenset({"abstract", "summary", "acknowledgments", "acknowledgements", *NOT_PROSE})


@dataclass(frozen=True, slots=True)
class Quote:
    """Words of the paper that a node rests on, and where they stand.

    `start` and `end` are the half-open span of characters in the text of `page`, which counts from 1 (a
    source without pages is page 1) and is 0 where they were not found. `score` is 1 where they were found as
    they are, less where nearly so.
    """

    text: str
    page: int = 0
    start: int = 0
    end: int = 0
    score: float = 0.0


@dataclass(frozen=True, slots=True)
class Node:
    """A node of the tree. `path` is "0" for the root and "0.2.1" for the second child of its third child.

    A leaf names its `task` (what is done in the experiment), its `evidence` ("Table 1", "Figure 2",
    "Section 3.1"), what was measured on which `datasets` and `models` by which `metrics` and `protocol`, and
    its `conclusion`; `uncertain` where none was found. Any node may have `quotes`, evidence in the paper's
    own words. `page` counts from 1; 0 where the source has no pages.
    """

    kind: NodeKind
    title: str
    path: str = "0"
    description: str = ""
    evidence: str = ""
    page: int = 0
    datasets: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()
    protocol: str = ""
    conclusion: str = ""
    uncertain: bool = False
    children: tuple[Node, ...] = ()
    task: str = ""
    quotes: tuple[Quote, ...] = ()

    def walk(self) -> Iterator[Node]:
        """The node and all below it, parents first."""
        yield self
        for child in self.children:
            yield from child.walk()

    def leaves(self) -> list[Node]:
        """All leaves below, in order."""
        return [node for node in self.walk() if node.kind == "leaf"]

    def at(self, path: str) -> Node | None:
        """The node with this path, or None."""
        return next((node for node in self.walk() if node.path == path), None)

    def parent(self, path: str) -> Node | None:
        """The node above the one with this path, or None for the root and for unknown paths."""
        return self.at(path.rpartition(".")[0]) if "." in path else None

    def to_json(self) -> dict[str, Any]:
        """Nested JSON objects that `from_json` reads back without loss."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Node:
        """Inverse of `to_json`."""
        lists = {name: tuple(data.get(name, ())) for name in ("datasets", "models", "metrics")}
        children = tuple(cls.from_json(child) for child in data.get("children", ()))
        quotes = tuple(Quote(**quote) for quote in data.get("quotes", ()))
        return cls(**{**data, **lists, "children": children, "quotes": quotes})


def numbered(node: Node, path: str = "0") -> Node:
    """The tree with every path set to the node's position."""
    children = tuple(numbered(child, f"{path}.{i}") for i, child in enumerate(node.children))
    return replace(node, path=path, children=children)


def no_leaf(document: Document) -> FiretrialError:
    """The error for a paper in which nothing could become a leaf."""
    found = f"{len(document.sections)} sections, {len(document.captions)} captions"
    cure = 'a tree needs a leaf: caption the figures and tables ("Table 1: …"), or parse with a model'
    return invalid("the paper", [Fault("tree", found, cure)])


# ---- from structure, without a model


@dataclass(slots=True)
class _Branch:
    """A section with what hangs under it, while the tree is being built."""

    index: int
    section: Section
    leaves: list[Node] = field(default_factory=list)
    branches: list[_Branch] = field(default_factory=list)


def build_tree(document: Document) -> Node:
    """The tree of a document from its structure alone. Raises INVALID where it has no figure or table."""
    cited = citations(document)
    top, by_section = _branches(document.sections)
    rootless: list[Node] = []
    for caption in document.captions:
        mentions = cited.get(caption.label, [])
        home = _home(caption, mentions, document)
        leaf = _leaf(caption, mentions, home, document)
        (by_section[home].leaves if home is not None else rootless).append(leaf)
    children = (*rootless, *filter(None, map(_intermediate, top)))
    if not children:
        raise no_leaf(document)
    title = document.title or document.abstract[:80] or "Untitled"
    return numbered(
        Node("root", title, description=document.abstract, page=_first_page(document), children=children)
    )


def _first_page(document: Document) -> int:
    return 1 if document.format == "pdf" else 0


def _branches(sections: Sequence[Section]) -> tuple[list[_Branch], dict[int, _Branch]]:
    top: list[_Branch] = []
    by_section: dict[int, _Branch] = {}
    open_: list[_Branch] = []
    for index, section in enumerate(sections):
        branch = _Branch(index, section)
        by_section[index] = branch
        while open_ and open_[-1].section.level >= section.level:
            open_.pop()
        (open_[-1].branches if open_ else top).append(branch)
        open_.append(branch)
    return top, by_section


def _home(caption: Caption, mentions: Sequence[Citation], document: Document) -> int | None:
    """The section that says most about a figure or table, else the one it stands in, None for the root."""
    usable = [m for m in mentions if document.sections[m.section].title.lower() not in NO_HOME]
    weight = Counter({m.section: 0 for m in usable})
    for mention in usable:
        weight[mention.section] += 3 if is_finding(mention.text) else 1
    if weight:
        most = max(weight.values())
        best = [s for s, w in weight.items() if w == most]
        return caption.section if caption.section in best else best[0]
    at = caption.section
    while at is not None and at >= 0 and document.sections[at].title.lower() in NO_HOME:
        at -= 1
    return at if at is not None and at >= 0 else None


def _leaf(caption: Caption, mentions: Sequence[Citation], home: int | None, document: Document) -> Node:
    found = conclusions(document, mentions) or [s for s in sentences(caption.text) if is_finding(s)]
    section = document.sections[home] if home is not None else None
    paragraphs = {(m.section, m.paragraph) for m in mentions}
    near = [document.sections[s].paragraphs[p] for s, p in sorted(paragraphs)]
    context = "\n".join([caption.text, *near, section.text if section else ""])
    first = sentences(caption.text)[:1]
    return Node(
        "leaf",
        title=f"{caption.label}: {first[0] if first else 'without a text'}",
        description=caption.text,
        evidence=caption.label,
        page=caption.page,
        datasets=scope.datasets(context),
        models=scope.models(context),
        metrics=scope.metrics(context),
        protocol=scope.protocol(near or ([section.text] if section else [])),
        conclusion=" ".join(found),
        uncertain=not found,
    )


def _intermediate(branch: _Branch) -> Node | None:
    """The node of a section, or None where no figure or table hangs under it."""
    children = (*branch.leaves, *filter(None, map(_intermediate, branch.branches)))
    if not children:
        return None
    section = branch.section
    about = " ".join(section.paragraphs[:1])[:DESCRIPTION_CHARS]
    return Node("intermediate", section.title, description=about, page=section.page, children=children)
