"""Batches of papers: taken in, gone on with, cancelled, and what was found in them so far."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from pathlib import Path

from firetrial_kit import tenants
from firetrial_kit.clock import Clock
from firetrial_kit.errors import Fault, FiretrialError, Reason, check, invalid
from firetrial_kit.ids import digest
from firetrial_kit.records import DEFAULT_PAGE, MAX_PAGE, Records
from firetrial_parser.selection.announcing import SelectionAnnouncer
from firetrial_parser.selection.candidates import MAX_ITEMS, Format, entries
from firetrial_parser.selection.criteria import Outcome
from firetrial_parser.selection.deciders import Deciders
from firetrial_parser.selection.screening import CANCELLED, PART, Screened, ScreeningRecord, State, ended
from firetrial_parser.selection.shelf import Shelf

MAX_BYTES = 256 * 1024 * 1024
_PAGE_PARTS = 40  # parts that are read for one page of results


@dataclass(frozen=True, slots=True)
class Wanted:
    """A batch as it was submitted: its file and the sha256 of that, and how it is to be screened."""

    path: Path
    sha256: str
    form: Format
    source: str = ""
    offline: bool = False
    max_cost_usd: float | None = None
    retry_errors: bool = False


class Screenings:
    """The batches of this installation."""

    def __init__(
        self,
        records: Records[ScreeningRecord],
        shelf: Shelf,
        deciders: Deciders,
        announcer: SelectionAnnouncer,
        clock: Clock,
    ) -> None:
        self.records = records
        self._shelf = shelf
        self._deciders = deciders
        self._announcer = announcer
        self._clock = clock

    async def submit(self, wanted: Wanted) -> ScreeningRecord:
        """Store a batch and announce it; one that is there goes on where it was.

        Raises INVALID for a batch without items or with too many, PRECONDITION for a cap without a price.
        """
        items = await asyncio.to_thread(_count, wanted.path, wanted.form)
        fault = Fault("items", str(items), f"must be 1 to {MAX_ITEMS}")
        check("the batch", [] if 0 < items <= MAX_ITEMS else [fault])
        record = fresh = await self._fresh(wanted, items)
        if not await self.records.create(fresh.id, fresh):
            record = await self.records.change(fresh.id, lambda found: self._again(found, wanted))
        if record.state is State.SUBMITTED:  # one that runs was announced
            await self._announcer.screening_submitted(record)
        return record

    async def _fresh(self, wanted: Wanted, items: int) -> ScreeningRecord:
        model = "" if wanted.offline else self._deciders.model
        deciding = self._deciders.of(model)
        rules = self._deciders.rules(deciding)
        id_ = tenants.mine(digest(wanted.sha256, wanted.form, rules, model, length=24))
        self._deciders.meter(id_, model, wanted.max_cost_usd)  # tells an unknown price before it begins
        ref = await self._shelf.put_items(id_, wanted.path, wanted.form)
        now = self._clock.now()
        return ScreeningRecord(
            id=id_,
            state=State.SUBMITTED,
            source=wanted.source,
            items_ref=ref,
            form=wanted.form,
            items=items,
            rules=rules,
            model=model,
            submitted_at=now,
            changed_at=now,
            max_cost_usd=wanted.max_cost_usd,
        )

    def _again(self, record: ScreeningRecord, wanted: Wanted) -> ScreeningRecord | None:
        """A batch that is there, to go on; None where there is nothing to do, or it is under way."""
        retry = wanted.retry_errors and record.counts.get(Outcome.ERROR, 0) > 0
        if not record.state.settled or (record.state is State.FINISHED and not retry):
            return None
        return replace(
            record,
            state=State.SUBMITTED,
            attempt=record.attempt + 1,
            max_cost_usd=wanted.max_cost_usd,
            reason="",
            changed_at=self._clock.now(),
            # To look again is to begin again: what was found without an error is at hand and kept.
            parts=0 if retry else record.parts,
            counts={} if retry else record.counts,
        )

    async def cancel(self, screening_id: str) -> ScreeningRecord:
        """Stop a batch after the part in hand; one that has ended stays as it is. Raises NOT_FOUND."""
        return await self.records.change(
            screening_id, lambda record: ended(record, State.CANCELLED, self._clock.now(), CANCELLED)
        )

    async def page(
        self, screening_id: str, outcomes: frozenset[Outcome], size: int, token: str
    ) -> tuple[list[Screened], str]:
        """Results in the order of the batch, after the place that `token` tells, and the next token.

        A page may hold fewer than `size`, also where more follow; 0 means 50. Raises NOT_FOUND, INVALID.
        """
        if not 0 <= size <= MAX_PAGE:
            raise invalid("the page", [Fault("page_size", str(size), f"must be 0 to {MAX_PAGE}")])
        size, after = size or DEFAULT_PAGE, _place(token)
        record = await self.records.get(screening_id)
        found: list[Screened] = []
        first = after // PART + 1
        for number in range(first, min(record.parts, first + _PAGE_PARTS - 1) + 1):
            for one in await self._shelf.part(screening_id, number):
                if one.place <= after or (outcomes and one.outcome not in outcomes):
                    continue
                if len(found) == size:
                    return found, str(found[-1].place)
                found.append(one)
        last = first + _PAGE_PARTS - 1
        return found, str(last * PART) if last < record.parts else ""

    async def result(self, screening_id: str, place: int) -> Screened:
        """One result. Raises NOT_FOUND."""
        for one in await self._shelf.part(screening_id, (place - 1) // PART + 1):
            if one.place == place:
                return one
        raise FiretrialError(
            Reason.NOT_FOUND, f"item {place} of screening {screening_id} was not looked at yet"
        )


def _place(token: str) -> int:
    if token and not (token.isascii() and token.isdigit() and len(token) < 10):
        raise invalid(
            "the page", [Fault("page_token", token, "must be the next_page_token of the page before")]
        )
    return int(token or 0)


def _count(path: Path, form: Format) -> int:
    return sum(1 for _ in entries(path, form))
