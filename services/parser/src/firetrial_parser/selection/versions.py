"""Versions of a paper's tree: kept under the hash of their content, each with its changes and its faults."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from firetrial_kit.errors import Fault, FiretrialError, Reason
from firetrial_kit.objects import ObjectRef
from firetrial_parser.archive import Archive
from firetrial_parser.document import Document
from firetrial_parser.grounding import grounded
from firetrial_parser.records import PaperRecord
from firetrial_parser.selection.editing import Change
from firetrial_parser.selection.shelf import Note, Shelf
from firetrial_parser.tree import Tree
from firetrial_parser.validation import validate


@dataclass(frozen=True, slots=True)
class KeptNote:
    """A note and where it lies."""

    ref: ObjectRef
    faults: tuple[Fault, ...]


class Versions:
    """Keeps trees that people have looked at. Nothing that was kept is ever replaced."""

    def __init__(self, archive: Archive, shelf: Shelf) -> None:
        self._archive = archive
        self._shelf = shelf

    async def document(self, paper: PaperRecord) -> Document:
        """The text of a paper. Raises PRECONDITION for one that is not read."""
        if paper.document is None:
            fault = Fault("paper_id", paper.id, "has no text now: submit the paper again")
            raise FiretrialError(Reason.PRECONDITION, str(fault), faults=[fault])
        return await self._archive.document(paper.document)

    async def tree(self, ref: ObjectRef) -> Tree:
        """A version's tree."""
        return await self._archive.tree(ref)

    async def note(self, ref: ObjectRef) -> Note:
        """A version's note."""
        return await self._shelf.note(ref)

    async def keep(
        self, paper: PaperRecord, tree: Tree, changes: Sequence[Change]
    ) -> tuple[ObjectRef, KeptNote]:
        """Validate a tree, store it with how well the paper supports it, and its note."""
        document = await self.document(paper)
        grounding = await asyncio.to_thread(grounded, tree.root, document)
        ref = await self._archive.put_tree_version(paper.id, replace(tree, grounding=grounding))
        return ref, await self.validate(paper, tree, changes)

    async def validate(self, paper: PaperRecord, tree: Tree, changes: Sequence[Change]) -> KeptNote:
        """Hold a tree against its paper, and store what is found."""
        document = await self.document(paper)
        faults = tuple(await asyncio.to_thread(validate, tree.root, document))
        return KeptNote(await self._shelf.put_note(paper.id, Note(tuple(changes), faults)), faults)
