"""The tree read off a document's own structure, without a model.

Title and abstract are the root, sections the intermediate nodes, captioned figures and tables the leaves.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from firetrial_kit.errors import Fault, FiretrialError, invalid
from firetrial_parser import scope
from firetrial_parser.document import Caption, Document, Section
from firetrial_parser.findings import Citation, citations, conclusions, is_finding
from firetrial_parser.headings import NOT_PROSE
from firetrial_parser.prose import sentences
from firetrial_parser.quoting import found_of
from firetrial_parser.tree import Node, PaperFacts, Tree, numbered

DESCRIPTION_CHARS = 400
NO_HOME = frozenset({"abstract", "summary", "acknowledgments", "acknowledgements", *NOT_PROSE})


def no_leaf(document: Document) -> FiretrialError:
    """The error for a paper in which nothing could become a leaf."""
    found = f"{len(document.sections)} sections, {len(document.captions)} captions"
    cure = 'a tree needs a leaf: caption the figures and tables ("Table 1: …"), or parse with a model'
    return invalid("the paper", [Fault("tree", found, cure)])


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
        at = home(caption, mentions, document)
        leaf = _leaf(caption, mentions, at, document)
        (by_section[at].leaves if at is not None else rootless).append(leaf)
    children = (*rootless, *filter(None, (_intermediate(branch, document) for branch in top)))
    if not children:
        raise no_leaf(document)
    title = document.title or document.abstract[:80] or "Untitled"
    quotes = found_of(sentences(document.abstract), document)
    root = Node("root", title, description=document.abstract, page=_first_page(document), quotes=quotes)
    return numbered(replace(root, children=children))


def tree_of(document: Document) -> Tree:
    """The same with what the document says of the paper. Raises as `build_tree` does."""
    return Tree(build_tree(document), facts_of(document))


def facts_of(document: Document) -> PaperFacts:
    """What the document tells of the paper."""
    return PaperFacts(document.title, document.authors, document.venue, document.year)


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


def home(caption: Caption, mentions: Sequence[Citation], document: Document) -> int | None:
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
    task = "".join(sentences(caption.text)[:1])
    return Node(
        "leaf",
        title=f"{caption.label}: {task or 'without a text'}",
        description=caption.text,
        evidence=caption.label,
        page=caption.page,
        datasets=scope.datasets(context),
        models=scope.models(context),
        metrics=scope.metrics(context),
        protocol=scope.protocol(near or ([section.text] if section else [])),
        conclusion=" ".join(found),
        uncertain=not found,
        task=task,
        quotes=found_of(found or [caption.text], document),
    )


def _intermediate(branch: _Branch, document: Document) -> Node | None:
    """The node of a section, or None where no figure or table hangs under it."""
    below = (_intermediate(inner, document) for inner in branch.branches)
    children = (*branch.leaves, *filter(None, below))
    if not children:
        return None
    section = branch.section
    about = " ".join(section.paragraphs[:1])[:DESCRIPTION_CHARS]
    return Node(
        "intermediate",
        section.title,
        description=about,
        page=section.page,
        quotes=found_of([about], document),
        children=children,
    )
