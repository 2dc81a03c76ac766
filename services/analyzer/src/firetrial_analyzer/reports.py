"""From ended runs to a stored report.

The order is always object, state, event, so that a crash between any two leaves work to be done again and
never a word about something that does not exist.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, replace

import polars as pl

from firetrial_analyzer.analysis import AnalysedRun
from firetrial_analyzer.announce import Announcer
from firetrial_analyzer.archive import KEPT, Archive
from firetrial_analyzer.columns import Key, Row, key, key_of, row
from firetrial_analyzer.compose import SHOWN_RUNS, Composer
from firetrial_analyzer.cutoffs import Cutoff, shipped
from firetrial_analyzer.ledger import Ledger
from firetrial_analyzer.metrics import AnalyzerMetrics
from firetrial_analyzer.outcomes import RunOutcome
from firetrial_analyzer.record import Plan, ReportRecord
from firetrial_analyzer.render import TABULAR, Format, render, render_rows
from firetrial_analyzer.report import Experiment, Report
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.ids import digest

# Bytes of rendered formats that are kept in memory.
_CACHED = 64 * 1024 * 1024


class Reports:
    """Everything that happens to an experiment's report; each step may be taken again without harm."""

    def __init__(
        self,
        *,
        ledger: Ledger,
        archive: Archive,
        announcer: Announcer,
        metrics: AnalyzerMetrics,
        cutoffs: Mapping[str, Cutoff] | None = None,
        shown_runs: int = SHOWN_RUNS,
    ) -> None:
        self.records = ledger.records
        self._ledger = ledger
        self._archive = archive
        self._announcer = announcer
        self._metrics = metrics
        self._cutoffs = shipped() if cutoffs is None else cutoffs
        self._shown_runs = shown_runs
        self._rendering = asyncio.Lock()
        self._cache = _Cache()
        self._details: dict[Key, AnalysedRun] = {}
        self._last: tuple[str, Report] | None = None

    def timed(self) -> AbstractContextManager[object]:
        """A run is being analysed while inside."""
        return self._metrics.analysing.time()

    async def again(self, run: RunOutcome, judgement_id: str, plan: Plan) -> bool:
        """Whether the run is in with this judgement already; then it is announced again, and no more."""
        if not await self._ledger.holds(run.experiment, run.run_id, judgement_id):
            return False
        await self._ledger.plan(run.experiment, plan)
        await self._announcer.run_analyzed(run)
        await self._settle(run.experiment)
        return True

    async def add(self, item: AnalysedRun, plan: Plan) -> None:
        """An ended run: kept, announced, and reported on where it was the last that was missing."""
        await self._keep(item, plan)
        await self._announcer.run_analyzed(item.run)
        await self._settle(item.run.experiment)

    async def add_unanalysed(self, item: AnalysedRun, plan: Plan, why: str) -> None:
        """A run that cannot be analysed. Where it has been, it was the report that could not be made."""
        if await self._ledger.holds(item.run.experiment, item.run.run_id):
            await self._announcer.run_analysis_failed(item.run, why)
            record = await self.records.get(item.run.experiment)
            if record.all_ended:
                await self.give_up(record.experiment_id, f"the report could not be made: {why}")
            return
        await self._keep(item, plan)
        await self._announcer.run_analysis_failed(item.run, why)
        await self._settle(item.run.experiment)

    async def give_up(self, experiment: str, reason: str) -> None:
        """There will be no report, unless there is a complete one already."""
        record = await self._ledger.change(
            experiment, lambda record: record if record.complete else replace(record, failure=reason)
        )
        await self._announcer.experiment_reported(record)

    async def rendered(self, experiment: str, form: Format) -> bytes:
        """The report over what has ended by now; nothing is made twice while no further run ends.

        Raises NOT_FOUND for an experiment of which no run has ended, PRECONDITION for one that came to
        nothing.
        """
        record = await self._reportable(experiment)
        ref = record.formats.get(form.value) if record.complete else None
        if ref and (stored := await self._archive.stored(ref)):
            return stored
        async with self._rendering:
            if cached := self._cache.get(record, form):
                return cached
            data = (await self._render(record, [form]))[form]
            self._cache.put(record, form, data)
            return data

    async def report(self, experiment: str) -> Report:
        """The same as a value, with all its runs' details. Raises as `rendered` does."""
        record = await self._reportable(experiment)
        async with self._rendering:
            return await self._report(record, await self._ledger.rows(record))

    async def _reportable(self, experiment: str) -> ReportRecord:
        record = await self.records.get(experiment)
        if record.failure and not record.ended:
            raise FiretrialError(
                Reason.PRECONDITION, f"experiment {experiment!r} has no report: {record.failure}"
            )
        return record

    async def rebuild(self, *, keep: bool = False) -> list[str]:
        """Makes the records of all experiments anew from the analyses in the store; returns their ids.

        With `keep`, a record that there is stays and gets the rows that it lacks; told is which changed, and
        reports that are complete now are made.
        """
        found: dict[str, list[Row]] = {}
        for run_id in await self._archive.run_ids():
            item = await self._archive.analysis(run_id)
            if item.run.experiment:
                found.setdefault(item.run.experiment, []).append(row(item))
        changed = [id_ for id_, rows in found.items() if await self._rebuild(id_, rows, keep=keep)]
        return sorted(changed)

    async def _rebuild(self, experiment: str, rows: Sequence[Row], *, keep: bool) -> bool:
        known = await self.records.find(experiment) if keep else None
        if known is None:
            await self._ledger.rebuild(experiment, rows)
            if keep:
                await self._settle(experiment)
            return True
        lacking = [row for row in rows if not await self._ledger.holds(experiment, *key(row))]
        for one in lacking:
            await self._ledger.add(one, known.plan)
        if lacking:
            await self._settle(experiment)
        return bool(lacking)

    async def _keep(self, item: AnalysedRun, plan: Plan) -> None:
        run = item.run
        alone = not run.experiment and await self._archive.find_analysis(run.run_id) is None
        if not await self._ledger.holds(run.experiment, run.run_id, item.judgement_id):
            await self._archive.put_analysis(item)
            self._metrics.analysed(item)
        if run.experiment:
            await self._ledger.add(row(item), plan, lambda: self._metrics.ended(run))
        elif alone:
            self._metrics.ended(run)

    async def _settle(self, experiment: str) -> None:
        """Make the report where every slot has ended, and say so; again where a run came in meanwhile."""
        if not experiment:
            return
        record = await self.records.get(experiment)
        if record.all_ended and not record.complete:  # else nobody waits for what is being rendered
            async with self._rendering:
                record = await self.records.get(experiment)
                while record.all_ended and not record.complete:
                    record = await self._make(record)
        if record.complete:
            await self._announcer.experiment_reported(record)

    async def _make(self, record: ReportRecord) -> ReportRecord:
        inputs = record.inputs
        formats = await self._render(record, KEPT)
        refs = await self._archive.put_report(record.experiment_id, formats)
        return await self._ledger.change(record.experiment_id, lambda known: known.with_report(inputs, refs))

    async def _render(self, record: ReportRecord, forms: Sequence[Format]) -> dict[Format, bytes]:
        with self._metrics.rendering.time():
            rows = await self._ledger.rows(record)
            if set(forms) <= TABULAR:
                return await asyncio.to_thread(lambda: {form: render_rows(rows, form) for form in forms})
            report = await self._report(record, rows)
            return await asyncio.to_thread(lambda: {form: render(report, form) for form in forms})

    async def _report(self, record: ReportRecord, rows: pl.DataFrame) -> Report:
        """The last one is at hand for its other formats."""
        made_of = _identity(record)
        if self._last is None or self._last[0] != made_of:
            self._last = made_of, await self._composed(record, rows)
        return self._last[1]

    async def _composed(self, record: ReportRecord, rows: pl.DataFrame) -> Report:
        composer = await asyncio.to_thread(Composer, rows, self._shown_runs)
        tasks = [await self._archive.task(task) for task in composer.tasks]
        details = await self._detailed(composer.wanted)
        plan = record.plan
        experiment = Experiment(
            id=record.experiment_id,
            tasks=tuple(tasks),
            expected_runs=plan.expected_runs,
            agents=plan.agents,
            repeats=plan.repeats,
            model=plan.model,
            probe=plan.probe,
        )
        return await asyncio.to_thread(composer.report, experiment, details, self._cutoffs)

    async def _detailed(self, wanted: Sequence[Key]) -> dict[Key, AnalysedRun]:
        """What is known of these runs; what the report before had is at hand."""
        missing = [run_id for run_id, judgement_id in wanted if (run_id, judgement_id) not in self._details]
        found = {key_of(item): item for item in await self._archive.analyses(missing)}
        self._details = {key: item for key in wanted if (item := found.get(key) or self._details.get(key))}
        return self._details


class _Cache:
    """Rendered formats by what they were made of, those that were last asked for."""

    def __init__(self) -> None:
        self._held: OrderedDict[tuple[str, Format], bytes] = OrderedDict()

    def get(self, record: ReportRecord, form: Format) -> bytes | None:
        key = _identity(record), form
        if key in self._held:
            self._held.move_to_end(key)
        return self._held.get(key)

    def put(self, record: ReportRecord, form: Format, data: bytes) -> None:
        self._held[_identity(record), form] = data
        while sum(map(len, self._held.values())) > _CACHED and len(self._held) > 1:
            self._held.popitem(last=False)


def _identity(record: ReportRecord) -> str:
    """Of what a report is made of."""
    return digest(record.experiment_id, record.inputs, asdict(record.plan))
