"""A paper's way: stored, read into a document and a tree, made into tasks; or failed, or cancelled."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial

from firetrial.parser.v1 import events_pb2
from firetrial.plan.v1 import plan_pb2
from firetrial_kit import tenants
from firetrial_kit.clock import Clock
from firetrial_kit.errors import Fault, FiretrialError
from firetrial_kit.objects import ObjectRef
from firetrial_kit.records import Records
from firetrial_parser.announcing import Announcer
from firetrial_parser.archive import Archive
from firetrial_parser.asking import Bill
from firetrial_parser.document import Document
from firetrial_parser.intake import MAX_BYTES
from firetrial_parser.making import Making
from firetrial_parser.metrics import ParserMetrics
from firetrial_parser.publishing import Publishing
from firetrial_parser.reading import READER
from firetrial_parser.records import PaperRecord, PaperState
from firetrial_parser.trees import Grown, Trees

MAX_FAULTS = 100  # lines kept in a paper's record
CANCELLED = "the paper was cancelled"

Reads = Callable[[bytes, str], Awaitable[Document]]
"""(a file, its name) → the document. Raises as `read_apart` does."""


class Papers:
    """The papers of this installation."""

    def __init__(
        self,
        *,
        records: Records[PaperRecord],
        archive: Archive,
        making: Making,
        publishing: Publishing,
        announcer: Announcer,
        clock: Clock,
        metrics: ParserMetrics,
        trees: Trees,
        reads: Reads,
        limit: int = MAX_BYTES,
    ) -> None:
        self.records = records
        self.archive = archive
        self._making = making
        self._publishing = publishing
        self._announcer = announcer
        self._clock = clock
        self._metrics = metrics
        self._trees = trees
        self._reads = reads
        self._limit = limit

    async def submit(
        self, paper_id: str, source: ObjectRef, filename: str, plan: plan_pb2.Plan | None, experiment: str
    ) -> PaperRecord:
        """Record a stored paper and announce it. A failed or cancelled one gets another attempt."""
        now = self._clock.now()
        fresh = PaperRecord(paper_id, PaperState.SUBMITTED, filename, source, now, now)
        record = fresh
        if not await self.records.create(paper_id, fresh):
            record = await self.records.change(paper_id, self._reopened)
        await self._announcer.paper_submitted(record, plan, experiment)
        return record

    def _reopened(self, record: PaperRecord) -> PaperRecord | None:
        if record.state not in {PaperState.FAILED, PaperState.CANCELLED}:
            return None
        return replace(
            record,
            state=PaperState.SUBMITTED,
            attempt=record.attempt + 1,
            failure="",
            # A document without its tree was read rightly; it is the tree that failed.
            document=record.document if record.tree is None else None,
            tree=None,
            faults=(),
            changed_at=self._clock.now(),
        )

    async def cancel(self, paper_id: str) -> PaperRecord:
        """Stop a paper that has no tasks yet; one that is settled stays as it is."""

        def cancelled(record: PaperRecord) -> PaperRecord | None:
            if record.state.settled:
                return None
            return replace(record, state=PaperState.CANCELLED, changed_at=self._clock.now())

        return await self.records.change(paper_id, cancelled)

    async def read(self, event: events_pb2.PaperSubmitted) -> None:
        """Read a submitted paper. What was read is announced again, what cannot be is failed again."""
        record = await self.records.get(event.paper_id)
        if await self._stopped(record, event.experiment_id):
            return
        if record.tree is None:
            record = await self._read(record)
            if record.tree is None:  # cancelled while it was read
                await self._stopped(record, event.experiment_id)
                return
        await self._announcer.paper_parsed(record, event)

    async def _stopped(self, record: PaperRecord, experiment: str) -> bool:
        if record.state not in {PaperState.FAILED, PaperState.CANCELLED}:
            return False
        reason = record.failure or CANCELLED
        await self._announcer.paper_failed(record.id, reason, experiment, record.attempt)
        return True

    async def _read(self, record: PaperRecord) -> PaperRecord:
        data = await self.archive.source(record.source, self._limit)
        bill = Bill()
        try:
            with self._metrics.parsing.time():
                document, document_ref = await self._document(record, data)
                grown = await self._trees.of(document, data, bill, self._known)
        except FiretrialError as error:
            await self.records.change(record.id, partial(self._blamed, bill=bill, error=error))
            raise
        if grown.document is not document:
            document_ref = await self.archive.put_document(record.id, grown.document)
        tree_ref = await self.archive.put_tree(record.id, grown.tree)
        kept = partial(self._parsed, bill=bill, grown=grown, document=document_ref, tree=tree_ref)
        self._metrics.papers.labels("parsed").inc()
        return await self.records.change(record.id, kept)

    def _parsed(
        self, record: PaperRecord, bill: Bill, grown: Grown, document: ObjectRef, tree: ObjectRef
    ) -> PaperRecord:
        """The record with what was read and what it cost; the cost alone where it was cancelled meanwhile."""
        charged = record.charged(self._trees.model, bill.spent)
        if record.state is not PaperState.SUBMITTED:
            return charged
        return replace(
            charged,
            state=PaperState.PARSED,
            title=grown.tree.paper.title or grown.document.title,
            pages=len(grown.document.pages),
            document=document,
            tree=tree,
            faults=_lines(grown.faults),
            refused=_lines(grown.refused),
            extraction=grown.tree.extraction,
            grounding=grown.tree.grounding,
            changed_at=self._clock.now(),
        )

    async def _document(self, record: PaperRecord, data: bytes) -> tuple[Document, ObjectRef]:
        """The paper as text, read once by each version of the readers."""
        if record.document is not None and record.reader == READER:
            return await self.archive.document(record.document), record.document
        document = await self._reads(data, record.filename)
        ref = await self.archive.put_document(record.id, document)
        await self.records.change(record.id, lambda current: replace(current, document=ref, reader=READER))
        return document, ref

    def _blamed(self, record: PaperRecord, bill: Bill, error: FiretrialError) -> PaperRecord:
        """The record with what a failed attempt cost, and with each fault that it failed for."""
        charged = record.charged(self._trees.model, bill.spent)
        return replace(charged, faults=_lines(error.faults)) if error.faults else charged

    async def _known(self, paper_id: str) -> Document | None:
        """The document of a paper that was read, by the sha256 of its bytes."""
        record = await self.records.find(tenants.asked(paper_id))
        return await self.archive.document(record.document) if record and record.document else None

    async def make_tasks(self, event: events_pb2.PaperParsed) -> None:
        """Store the tasks of a paper that was read, then announce those that nothing blocks."""
        record = await self.records.get(event.paper_id)
        if await self._stopped(record, event.experiment_id):
            return
        if record.document is None or record.tree is None:
            return  # submitted anew since; its own event follows
        document, tree = await self.archive.document(record.document), await self.archive.tree(record.tree)
        stored = await self._making.best(document, tree.root, event.plan.max_tasks or 1, record.id)

        def ready(current: PaperRecord) -> PaperRecord | None:
            if current.state not in {PaperState.PARSED, PaperState.READY}:
                return None
            ids = dict.fromkeys([*current.task_ids, *(task.id for task in stored)])
            if current.state is PaperState.READY and tuple(ids) == current.task_ids:
                return None
            now = self._clock.now()
            return replace(current, state=PaperState.READY, task_ids=tuple(ids), changed_at=now)

        record = await self.records.change(record.id, ready)
        if await self._stopped(record, event.experiment_id) or record.state is not PaperState.READY:
            return
        plan = event.plan if event.HasField("plan") else None
        await self._publishing.announce(stored, plan, event.experiment_id)

    async def fail(self, paper_id: str, reason: str, experiment: str) -> None:
        """Record that a paper gives no task, and announce it. A paper that is ready stays so."""

        def failed(record: PaperRecord) -> PaperRecord | None:
            if record.state.settled:
                return None
            return replace(record, state=PaperState.FAILED, failure=reason, changed_at=self._clock.now())

        attempt = 1
        if await self.records.find(paper_id) is not None:
            attempt = (await self.records.change(paper_id, failed)).attempt
            self._metrics.papers.labels("failed").inc()
        await self._announcer.paper_failed(paper_id, reason, experiment, attempt)


def _lines(faults: Sequence[Fault]) -> tuple[str, ...]:
    return tuple(str(fault) for fault in faults[:MAX_FAULTS])
