"""From ended runs to a stored report.

The order is always object, state, event, so that a crash between any two leaves work to be done again and
never a word about something that does not exist.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace

from firetrial_analyzer.analysis import AnalysedRun
from firetrial_analyzer.announce import Announcer
from firetrial_analyzer.archive import KEPT, Archive
from firetrial_analyzer.compose import build
from firetrial_analyzer.metrics import AnalyzerMetrics
from firetrial_analyzer.record import NO_PLAN, Plan, ReportRecord
from firetrial_analyzer.render import Format, render
from firetrial_analyzer.report import Experiment
from firetrial_kit.clock import Clock
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.records import Records


class Reports:
    """Everything that happens to an experiment's report; each step may be taken again without harm."""

    def __init__(
        self,
        *,
        records: Records[ReportRecord],
        archive: Archive,
        announcer: Announcer,
        clock: Clock,
        metrics: AnalyzerMetrics,
    ) -> None:
        self.records = records
        self._archive = archive
        self._announcer = announcer
        self._clock = clock
        self._metrics = metrics
        self._rendering = asyncio.Lock()

    async def add(self, item: AnalysedRun, plan: Plan) -> None:
        """An ended run: kept, announced, and reported on where it was the last that was missing."""
        await self._keep(item, plan)
        await self._announcer.run_analyzed(item.run)
        await self._settle(item.run.experiment)

    async def add_unanalysed(self, item: AnalysedRun, plan: Plan, why: str) -> None:
        """A run that cannot be analysed. Where it has been, it was the report that could not be made."""
        record = await self.records.find(item.run.experiment)
        if record is not None and item.run.run_id in record.run_ids:
            await self._announcer.run_analysis_failed(item.run, why)
            if record.all_ended:
                await self.give_up(record.experiment_id, f"the report could not be made: {why}")
            return
        await self._keep(item, plan)
        await self._announcer.run_analysis_failed(item.run, why)
        await self._settle(item.run.experiment)

    async def give_up(self, experiment: str, reason: str) -> None:
        """There will be no report, unless there is a complete one already."""
        record = await self._change(
            experiment, lambda record: record if record.complete else replace(record, failure=reason)
        )
        await self._announcer.experiment_reported(record)

    async def rendered(self, experiment: str, form: Format) -> bytes:
        """The report over what has ended by now.

        Raises NOT_FOUND for an experiment of which no run has ended, PRECONDITION for one that came to
        nothing, NOT_YET for a format that is not made yet.
        """
        record = await self.records.get(experiment)
        if record.failure and not record.ended:
            raise FiretrialError(
                Reason.PRECONDITION, f"experiment {experiment!r} has no report: {record.failure}"
            )
        ref = record.formats.get(form.value) if record.complete else None
        if ref and (stored := await self._archive.stored(ref)):
            return stored
        (data,) = (await self._render(record, [form])).values()
        return data

    async def _keep(self, item: AnalysedRun, plan: Plan) -> None:
        known = await self.records.find(item.run.experiment)
        if known is None or not known.holds(item):
            await self._archive.put_analysis(item)
            self._metrics.analysed(item)
        if item.run.experiment:
            await self._change(item.run.experiment, lambda record: record.with_run(item, plan))

    async def _settle(self, experiment: str) -> None:
        """Make the report where every slot has ended, and say so; again where a run came in meanwhile."""
        if not experiment:
            return
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
        return await self._change(record.experiment_id, lambda known: known.with_report(inputs, refs))

    async def _render(self, record: ReportRecord, forms: Sequence[Format]) -> dict[Format, bytes]:
        analysed = await self._archive.analyses(record.run_ids)
        tasks = sorted({item.run.task for item in analysed})
        experiment = Experiment(
            record.experiment_id,
            tuple([await self._archive.task(task) for task in tasks]),
            record.plan.expected_runs,
            record.plan.agents,
            record.plan.repeats,
            record.plan.model,
        )

        def work() -> dict[Format, bytes]:
            report = build(experiment, analysed)
            return {form: render(report, form) for form in forms}

        with self._metrics.rendering.time():
            return await asyncio.to_thread(work)

    async def _change(self, experiment: str, change: Callable[[ReportRecord], ReportRecord]) -> ReportRecord:
        now = self._clock.now()

        def changed(record: ReportRecord) -> ReportRecord | None:
            new = change(record)
            return None if new == record else replace(new, changed_at=now)

        fresh = change(ReportRecord(experiment, now, NO_PLAN))
        if await self.records.find(experiment) is None and await self.records.create(experiment, fresh):
            return fresh
        return await self.records.change(experiment, changed)
