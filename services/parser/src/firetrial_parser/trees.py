"""A paper's tree, however it comes about: off the structure, by a model, or as somebody submitted it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from firetrial_kit.errors import Fault, FiretrialError, check, invalid
from firetrial_parser.asking import Asker, Bill
from firetrial_parser.document import Document
from firetrial_parser.entailment import Entails
from firetrial_parser.extraction import CONTEXT, extract_tree
from firetrial_parser.grounding import grounded, grounded_by
from firetrial_parser.outlining import tree_of
from firetrial_parser.tree import Grounding, Node, Quote, Tree
from firetrial_parser.tree_file import read_tree
from firetrial_parser.validation import anchored, validate

# The document of a paper that was read before, by the paper's id; None where there is none.
Known = Callable[[str], Awaitable[Document | None]]


@dataclass(frozen=True, slots=True)
class Grown:
    """A tree with the document that bears it out, what is wrong with it, and what was taken out of it."""

    document: Document
    tree: Tree
    faults: tuple[Fault, ...] = ()
    refused: tuple[Fault, ...] = ()


class Trees:
    """Makes trees. Without an `asker` they come from structure, without a `judge` words alone ground them.

    `context` is what the model takes in one request, in tokens.
    """

    def __init__(
        self, asker: Asker | None = None, *, judge: Entails | None = None, context: int = CONTEXT
    ) -> None:
        self._asker = asker
        self._judge = judge
        self._context = context

    @property
    def model(self) -> str:
        """The model that is asked, "" for none."""
        return self._asker.model if self._asker else ""

    async def of(self, document: Document, data: bytes, bill: Bill, known: Known) -> Grown:
        """The tree of a document that was read from `data`; `bill` holds what was spent also where it fails.

        Raises INVALID where the document gives none, and as `extract_tree` and `read_tree` do.
        """
        if document.format == "tree":
            return await self._submitted(document, data, known)
        if self._asker is None:
            tree = await asyncio.to_thread(tree_of, document)
            faults = await asyncio.to_thread(validate, tree.root, document)
            return await self._grounded(Grown(document, tree, tuple(faults)))
        extracted = await extract_tree(document, self._asker, bill, self._context)
        return await self._grounded(Grown(document, extracted.tree, refused=extracted.refused))

    async def _submitted(self, document: Document, data: bytes, known: Known) -> Grown:
        """A submitted tree, held to its paper where it names one that was read here; refused as a whole."""
        tree = await asyncio.to_thread(read_tree, data)
        if not tree.paper.id:
            return Grown(document, replace(tree, root=_unplaced(tree.root)))
        paper = await known(tree.paper.id)
        if paper is None:
            cure = "must be a paper that was read here, or be left out"
            raise invalid("the tree", [Fault("paper.id", tree.paper.id, cure)])
        root = await asyncio.to_thread(anchored, tree.root, paper)
        check("the tree", await asyncio.to_thread(validate, root, paper))
        return await self._grounded(Grown(paper, replace(tree, root=root)))

    async def _grounded(self, grown: Grown) -> Grown:
        grounding = await self._share(grown)
        return replace(grown, tree=replace(grown.tree, grounding=grounding))

    async def _share(self, grown: Grown) -> Grounding:
        root, document = grown.tree.root, grown.document
        if self._judge is not None:
            try:
                return await grounded_by(root, document, self._judge)
            except FiretrialError:
                pass  # a judge that is away costs the share some of its statements, and no paper its tree
        return await asyncio.to_thread(grounded, root, document)


def _unplaced(node: Node) -> Node:
    """The tree with quotes that stand nowhere: there is no paper in which they were looked for."""
    return replace(
        node,
        quotes=tuple(Quote(quote.text) for quote in node.quotes),
        children=tuple(map(_unplaced, node.children)),
    )
