"""The screening of a batch, part by part.

A part is screened, stored, its papers queued and announced, and then the batch's record moves on behind it.
Whoever takes the work up again, after whatever ended it, finds what was paid for in the cache and asks for
nothing twice.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path

from firetrial_kit import tenants
from firetrial_kit.asking import Meter, UpstreamRefused
from firetrial_kit.clock import Clock
from firetrial_kit.errors import Fault, FiretrialError, Reason, invalid
from firetrial_kit.records import Records
from firetrial_parser.asking import Bill
from firetrial_parser.papers import Papers
from firetrial_parser.records import billed
from firetrial_parser.selection.announcing import SelectionAnnouncer
from firetrial_parser.selection.candidates import Candidate, Entry, entries
from firetrial_parser.selection.criteria import Outcome
from firetrial_parser.selection.deciders import Deciders
from firetrial_parser.selection.deciding import Charge, Deciding, Read
from firetrial_parser.selection.metrics import SelectionMetrics
from firetrial_parser.selection.queueing import Queueing, screened_id
from firetrial_parser.selection.screening import (
    PART,
    Screened,
    ScreeningRecord,
    State,
    counted,
    ended,
    screen,
)
from firetrial_parser.selection.shelf import Shelf

_REFUSALS = 5  # refused in a row, it is the endpoint's settings and not the papers
_AT_ONCE = 16


@dataclass(slots=True)
class _Work:
    """What is under way for one batch. `over` is why it cannot go on."""

    deciding: Deciding
    meter: Meter | None
    refused: int = 0
    over: FiretrialError | None = None
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class Worker:
    """Screens batches."""

    def __init__(
        self,
        *,
        records: Records[ScreeningRecord],
        shelf: Shelf,
        papers: Papers,
        deciders: Deciders,
        queueing: Queueing,
        announcer: SelectionAnnouncer,
        clock: Clock,
        metrics: SelectionMetrics,
    ) -> None:
        self._records = records
        self._shelf = shelf
        self._papers = papers
        self._deciders = deciders
        self._queueing = queueing
        self._announcer = announcer
        self._clock = clock
        self._metrics = metrics

    async def run(self, screening_id: str, attempt: int) -> None:
        """Screen what is left of a batch. Raises PRECONDITION where it cannot go on, and what may pass."""
        record = await self._records.get(screening_id)
        if record.attempt != attempt:
            return  # submitted again since; its own event follows
        if not record.state.settled:
            record = await self._run(record)
        if record.state.settled:
            await self._announcer.screening_ended(record)

    async def stop(self, screening_id: str, reason: str) -> None:
        """End a batch early and say why; one that has ended stays as it is."""
        if await self._records.find(screening_id) is not None:
            record = await self._change(screening_id, State.STOPPED, reason)
            await self._announcer.screening_ended(record)

    async def _change(self, screening_id: str, state: State, reason: str = "") -> ScreeningRecord:
        now = self._clock.now()
        return await self._records.change(screening_id, lambda record: ended(record, state, now, reason))

    async def _run(self, record: ScreeningRecord) -> ScreeningRecord:
        work = self._work(record)
        record = await self._records.change(record.id, self._running)
        with tempfile.TemporaryDirectory(prefix="firetrial-screening-") as folder:
            path = Path(folder) / "items"
            await self._shelf.fetch_items(record.items_ref, path)
            items, number = entries(path, record.form), 0
            while batch := await asyncio.to_thread(lambda: list(islice(items, PART))):
                number += 1
                if number > record.parts:
                    record = await self._part(record, number, batch, work)
                if record.state is not State.RUNNING:
                    return record
        return await self._change(record.id, State.FINISHED)

    def _work(self, record: ScreeningRecord) -> _Work:
        deciding = self._deciders.of(record.model)
        rules = self._deciders.rules(deciding)
        if rules != record.rules:
            fault = Fault("rules", ", ".join(record.rules), f"are {', '.join(rules)} by now: submit it again")
            raise FiretrialError(Reason.PRECONDITION, str(fault), faults=[fault])
        return _Work(deciding, self._deciders.meter(record.id, record.model, record.max_cost_usd))

    def _running(self, record: ScreeningRecord) -> ScreeningRecord | None:
        if record.state is not State.SUBMITTED:
            return None
        return replace(record, state=State.RUNNING, changed_at=self._clock.now())

    async def _part(
        self, record: ScreeningRecord, number: int, batch: Sequence[Entry], work: _Work
    ) -> ScreeningRecord:
        """Screen one part, store it, queue and announce what people are to decide on, and move on."""
        before = await self._shelf.part(record.id, number)
        done = {one.place: one for one in before if one.outcome is not Outcome.ERROR}
        turns = asyncio.Semaphore(_AT_ONCE)

        async def one(entry: Entry) -> Screened | None:
            async with turns:
                return done.get(entry.place) or await self._item(record.id, entry, work)

        # All that were begun are waited for: their answers are paid, and the next attempt finds them.
        results = await asyncio.gather(*map(one, batch), return_exceptions=True)
        screened = [result for result in results if isinstance(result, Screened)]
        for result in results:
            if isinstance(result, BaseException):
                raise result
        if work.over is not None:
            raise work.over
        await self._shelf.put_part(record.id, number, screened)
        for item in screened:
            if item.place not in done:
                self._metrics.screened.labels(item.outcome.lower()).inc()
            if item.review_id:
                await self._queueing.screened(record.id, item)
        return await self._records.change(record.id, lambda found: self._moved(found, number, screened))

    def _moved(
        self, record: ScreeningRecord, number: int, screened: Iterable[Screened]
    ) -> ScreeningRecord | None:
        if record.parts != number - 1:
            return None
        counts = counted(record.counts, screened)
        return replace(record, parts=number, counts=counts, changed_at=self._clock.now())

    async def _item(self, screening_id: str, entry: Entry, work: _Work) -> Screened | None:
        """One item through the stages; None where the batch stops before it."""
        if work.over is not None:
            return None
        if entry.error:
            return Screened(entry.place, entry.candidate, Outcome.ERROR, entry.error)
        charge = Charge(Bill(), work.meter)
        paper_id = tenants.asked(entry.candidate.paper_id)
        entry = replace(entry, candidate=replace(entry.candidate, paper_id=paper_id))
        try:
            read = await self._read(entry.candidate)
            candidate = replace(entry.candidate, title=read.title, abstract=read.abstract)
            named = replace(entry, candidate=candidate)
            found = await screen(named, read, self._deciders.keywords, work.deciding, charge)
            if charge.bill.total.calls:
                work.refused = 0
        except FiretrialError as error:
            if error.retryable:
                raise
            if self._ends(error, work):
                work.over = error
                return None
            found = Screened(
                entry.place, entry.candidate, Outcome.ERROR, error.message, spent=dict(charge.bill.spent)
            )
        finally:
            await asyncio.shield(self._pay(screening_id, charge, work))
        if found.outcome.queued:
            review = tenants.beside(screening_id, screened_id(entry.candidate, read))
            found = replace(found, review_id=review)
        return found

    def _ends(self, error: FiretrialError, work: _Work) -> bool:
        """Whether an item's error is the batch's: its cap is reached, or the endpoint refuses them all."""
        if not isinstance(error, UpstreamRefused):
            return error.reason is Reason.PRECONDITION
        work.refused += 1
        return work.refused >= _REFUSALS

    async def _pay(self, screening_id: str, charge: Charge, work: _Work) -> None:
        """Write down what an item cost at once, so that it is known whatever happens to its part."""
        spent = dict(charge.bill.spent)
        if not any(one.calls or one.cache_hits for one in spent.values()):
            return
        async with work.lock:
            await self._records.change(
                screening_id, lambda record: replace(record, spent=billed(record.spent, spent))
            )

    async def _read(self, candidate: Candidate) -> Read:
        """What there is to read of a paper. Raises NOT_FOUND, or INVALID for a paper that was not read."""
        if not candidate.paper_id:
            page = f"{candidate.title}\n{candidate.abstract}".strip()
            return Read(candidate.title, candidate.abstract, (page,))
        record = await self._papers.records.get(candidate.paper_id)
        if record.document is None:
            cure = record.failure or "it has not been read yet: submit the batch again with retry_errors"
            raise invalid("the item", [Fault("paper_id", candidate.paper_id, cure)])
        document = await self._papers.archive.document(record.document)
        title, abstract = candidate.title or document.title, candidate.abstract or document.abstract
        return Read(title, abstract, document.pages)
