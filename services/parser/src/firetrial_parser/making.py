"""Tasks made of a paper that was read: drafted from its tree, worded and rated by a model if there is one."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from firetrial_kit.errors import Fault, FiretrialError, Reason
from firetrial_parser.asking import Asker, Bill
from firetrial_parser.document import Document
from firetrial_parser.records import TaskRecord
from firetrial_parser.task import Draft, MadeTask, Variant, draft, targets
from firetrial_parser.tasks import Tasks
from firetrial_parser.tree import Node
from firetrial_parser.wording import Wording


class Making:
    """Makes and keeps tasks. `asker` is None where no model is configured."""

    def __init__(self, tasks: Tasks, asker: Asker | None = None) -> None:
        self._tasks = tasks
        self._asker = asker
        self._wording = Wording(asker, tasks.checker) if asker else None

    async def best(self, document: Document, root: Node, count: int, paper_id: str) -> list[TaskRecord]:
        """Up to `count` tasks, the best target first. Raises INVALID where no leaf states a finding."""
        leaves = (await asyncio.to_thread(targets, document, root))[:count]
        return [await self._keep(document, root, leaf, Variant.REDISCOVERY, paper_id) for leaf in leaves]

    async def of_leaf(
        self, document: Document, root: Node, path: str, variant: Variant, paper_id: str
    ) -> TaskRecord:
        """The task of the leaf at `path`, the best target where that is "". Raises INVALID for no target."""
        leaves = await asyncio.to_thread(targets, document, root)
        leaf = next((leaf for leaf in leaves if leaf.path == path), None) if path else leaves[0]
        if leaf is None:
            raise _no_target(path, leaves)
        return await self._keep(document, root, leaf, variant, paper_id)

    async def _keep(
        self, document: Document, root: Node, leaf: Node, variant: Variant, paper_id: str
    ) -> TaskRecord:
        begun = await asyncio.to_thread(draft, document, root, leaf, variant)
        bill = Bill()
        made = await self._finish(begun, bill)
        model = self._asker.model if self._asker else ""
        return await self._tasks.keep(made, paper_id, model, bill.spent)

    async def _finish(self, begun: Draft, bill: Bill) -> MadeTask:
        if self._wording is None:
            return await asyncio.to_thread(begun.finish)
        question = await self._wording.question(begun, bill)
        rated = await self._wording.rating(begun, bill)
        return await asyncio.to_thread(begun.finish, question, rated)


def _no_target(path: str, leaves: Sequence[Node]) -> FiretrialError:
    named = ", ".join(leaf.path for leaf in leaves[:20])
    fault = Fault("leaf_path", path, f"must be a leaf that can be a target: {named}")
    return FiretrialError(Reason.INVALID, str(fault), faults=[fault])
