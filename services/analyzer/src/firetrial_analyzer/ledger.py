"""Rows of analysed runs: kept once each, in whatever order and however often they are told.

A row is put into the record's tail by compare-and-set, so that it is in or not. Only then is a full tail
moved into a part, and parts are merged: the object first, then the record that names it. A crash in between
leaves an object that no record names, and the next row does the work again. Two processes that do it at the
same time write the same object, or lose the compare-and-set and go on from what the other has left.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import reduce

import polars as pl
from pydantic import TypeAdapter

from firetrial_analyzer import columns
from firetrial_analyzer.columns import Row, key
from firetrial_analyzer.outcomes import Slot
from firetrial_analyzer.parts import Parts
from firetrial_analyzer.record import LARGEST, NO_PLAN, TAIL, Plan, ReportRecord, mixed
from firetrial_analyzer.table import attempts, latest
from firetrial_kit.clock import Clock
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.objects import Objects
from firetrial_kit.records import Records

_PLAN = TypeAdapter(Plan)
_JSON = "application/json"


class _OvertakenError(Exception):
    """The record is no longer the one that was looked at."""


class Ledger:
    """The rows of every experiment."""

    def __init__(self, records: Records[ReportRecord], objects: Objects, clock: Clock) -> None:
        self.records = records
        self._objects = objects
        self._parts = Parts(objects)
        self._clock = clock
        self._turn = asyncio.Lock()

    async def rows(self, record: ReportRecord) -> pl.DataFrame:
        """All rows of a record, one for each judgement of each attempt."""
        kept = [await self._parts.get(part) for part in record.parts]
        return columns.concat([*kept, columns.frame(record.tail)])

    async def holds(self, experiment: str, run_id: str, judgement_id: str | None = None) -> bool:
        """Whether the run is in with this judgement, or with any where that is None."""
        record = await self.records.find(experiment)
        return record is not None and await self._holds(record, run_id, judgement_id)

    async def add(self, row: Row, plan: Plan, first: Callable[[], None] = lambda: None) -> ReportRecord:
        """The record with the row in it; the same row twice changes nothing.

        `first` is called where this brought in the first row of its run: once for a run, over all processes.
        """
        experiment: str = row["experiment"]
        async with self._turn:
            while True:
                known = await self.records.find(experiment)
                record = known or ReportRecord(experiment, self._clock.now())
                new = await self._with(record, row, plan)
                fresh = not await self._holds(record, row["run_id"], None)
                if await self._replace(known, new):
                    if fresh:
                        first()
                    return await self._compact(new)

    async def plan(self, experiment: str, plan: Plan) -> ReportRecord:
        """The record with `plan`, where that knows more runs."""
        record = await self.records.get(experiment)
        if record.with_plan(plan) == record:
            return record
        await self._put_plan(experiment, plan)
        return await self.change(experiment, lambda known: known.with_plan(plan))

    async def change(self, experiment: str, change: Callable[[ReportRecord], ReportRecord]) -> ReportRecord:
        """The record after `change`, which is pure; it is made where there was none."""
        now = self._clock.now()
        fresh = change(ReportRecord(experiment, now))
        if await self.records.find(experiment) is None and await self.records.create(experiment, fresh):
            return fresh

        def changed(record: ReportRecord) -> ReportRecord | None:
            new = change(record)
            return None if new == record else replace(new, changed_at=now)

        return await self.records.change(experiment, changed)

    async def rebuild(self, experiment: str, rows: Sequence[Row]) -> ReportRecord:
        """The record made anew from the rows of all its analyses, with those that wait in its tail.

        What was told of a failure without a run is not in the rows. The report is made when it is next asked
        for, or with the next run that ends.
        """
        async with self._turn:
            while True:
                old = await self.records.find(experiment)
                known = {key(row): row for row in (*rows, *(old.tail if old else ()))}
                table = columns.frame(known[name] for name in sorted(known))
                new = ReportRecord(
                    experiment,
                    self._clock.now(),
                    await self._kept_plan(experiment),
                    tuple([await self._parts.put(experiment, part) for part in table.iter_slices(LARGEST)]),
                    ended=len(latest(attempts(table))),
                    inputs=reduce(mixed, sorted(known), ""),
                )
                if await self._replace(old, new):
                    return new

    async def _with(self, record: ReportRecord, row: Row, plan: Plan) -> ReportRecord:
        planned = record.with_plan(plan)
        if planned.plan != record.plan:
            await self._put_plan(record.experiment_id, plan)
        if await self._holds(record, *key(row)):
            return planned
        ends = not row["superseded"] and not await self._has_ended(record, _slot(row))
        return planned.with_row(row, ends_slot=ends)

    async def _holds(self, record: ReportRecord, run_id: str, judgement_id: str | None) -> bool:
        known = [row["judgement_id"] for row in record.tail if row["run_id"] == run_id]
        for part in record.parts:
            known += (await self._parts.index(part)).judgements.get(run_id, ())
        return bool(known) if judgement_id is None else judgement_id in known

    async def _has_ended(self, record: ReportRecord, slot: Slot) -> bool:
        if any(_slot(row) == slot and not row["superseded"] for row in record.tail):
            return True
        return any([slot in (await self._parts.index(part)).ended for part in record.parts])

    async def _replace(self, old: ReportRecord | None, new: ReportRecord) -> bool:
        """Puts `new` in the place of `old`; False where something else stands there by now."""
        if old is None:
            return await self.records.create(new.experiment_id, new)
        if new == old:
            return True
        changed = replace(new, changed_at=self._clock.now())

        def in_its_place(known: ReportRecord) -> ReportRecord:
            if known != old:
                raise _OvertakenError
            return changed

        try:
            await self.records.change(new.experiment_id, in_its_place)
        except _OvertakenError:
            return False
        return True

    async def _compact(self, record: ReportRecord) -> ReportRecord:
        """Moves a full tail into a part, and merges parts while there are enough of a size."""
        while len(record.tail) >= TAIL:
            rows = record.tail[:TAIL]
            part = await self._parts.put(record.experiment_id, columns.frame(rows))

            def flushed(known: ReportRecord) -> ReportRecord:
                return known.with_part(part) if known.tail[:TAIL] == rows else known  # noqa: B023 - used at once

            record = await self.change(record.experiment_id, flushed)
        while small := record.mergeable():
            tables = [await self._parts.get(part) for part in small]
            large = await self._parts.put(record.experiment_id, pl.concat(tables))
            record = await self.change(record.experiment_id, lambda known: known.with_merged(small, large))  # noqa: B023
        return record

    async def _put_plan(self, experiment: str, plan: Plan) -> None:
        await self._objects.put("results", _plan_key(experiment), _PLAN.dump_json(plan), _JSON)

    async def _kept_plan(self, experiment: str) -> Plan:
        try:
            return _PLAN.validate_json(await self._objects.get(f"results/{_plan_key(experiment)}"))
        except FiretrialError as error:
            if error.reason is Reason.NOT_FOUND:
                return NO_PLAN
            raise


def _slot(row: Row) -> Slot:
    return Slot(row["task"], row["agent"], row["repeat"])


def _plan_key(experiment: str) -> str:
    return f"tables/{experiment}/plan.json"
