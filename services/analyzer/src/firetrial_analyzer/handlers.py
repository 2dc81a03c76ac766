"""What the analyzer does when it is told something; one function for each fact."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import structlog

from firetrial.judge.v1 import events_pb2 as judge_events
from firetrial.parser.v1 import events_pb2 as parser_events
from firetrial.runner.v1 import events_pb2 as runner_events
from firetrial_analyzer.analysing import Analysing, Left
from firetrial_analyzer.analysis import unanalysed
from firetrial_analyzer.archive import Archive
from firetrial_analyzer.left_wire import left_to_domain
from firetrial_analyzer.outcomes import Outcome, RunOutcome
from firetrial_analyzer.record import Plan
from firetrial_analyzer.reports import Reports
from firetrial_analyzer.wire import id_to_domain, outcome_of, plan_to_domain, run_to_domain
from firetrial_kit.asking import ModelError
from firetrial_kit.bus import Consumer, Fail, Handle, Received
from firetrial_kit.errors import FiretrialError
from firetrial_kit.events import EVENTS, subject

# The run that a message is about and its plan; no run where a judge has still to speak.
Read = Callable[[Received], tuple[RunOutcome | None, Plan]]


# Does what a message asks for; the text says why no model is to be asked.
Analyse = Callable[[Received, str], Awaitable[None]]


class Handlers:
    def __init__(
        self,
        reports: Reports,
        archive: Archive,
        log: structlog.typing.FilteringBoundLogger,
        analysing: Analysing | None = None,
    ) -> None:
        self._reports = reports
        self._analysing = analysing or Analysing(archive)
        self._archive = archive
        self._log = log

    def consumers(self, concurrency: int) -> list[Consumer]:
        """The durable consumers; `concurrency` messages of each are handled at the same time."""
        facts: list[tuple[str, str, Handle, Fail]] = [
            ("runner", "run_finished", self.run_finished, self._failing(_finished, self._finish)),
            ("judge", "run_judged", self.run_judged, self._failing(_judged, self._judge)),
            (
                "judge",
                "run_judge_failed",
                self.run_judge_failed,
                self._failing(_judge_failed, self._no_judge),
            ),
            ("parser", "paper_parse_failed", self.paper_parse_failed, self._dropped),
            ("runner", "experiment_failed", self.experiment_failed, self._dropped),
        ]
        return [
            Consumer(
                f"analyzer-{name}", EVENTS, (subject(service, name),), handle, fail, concurrency=concurrency
            )
            for service, name, handle, fail in facts
        ]

    async def run_finished(self, message: Received) -> None:
        """Ends a slot only where no judge will speak."""
        await self._finish(message)

    async def run_judged(self, message: Received) -> None:
        await self._judge(message)

    async def run_judge_failed(self, message: Received) -> None:
        await self._no_judge(message)

    async def _finish(self, message: Received, no_model: str = "") -> None:
        run, plan = _finished(message)
        if run is None or await self._reports.again(run, "", plan):
            return
        left = left_to_domain(message.parse(runner_events.RunFinished).run)
        with self._reports.timed():
            item = await self._analysing.unjudged(run, left, no_model=no_model)
        await self._reports.add(item, plan)

    async def _judge(self, message: Received, no_model: str = "") -> None:
        event = message.parse(judge_events.RunJudged)
        run, plan = _judged(message)
        if await self._reports.again(run, event.judgement_id, plan):
            return
        ref = event.judgement
        judge, judgement = await self._archive.judgement(run.run_id, ref.uri, ref.sha256)
        with self._reports.timed():
            item = await self._analysing.judged(
                run, left_to_domain(event.run), event.judgement_id, judge, judgement, no_model=no_model
            )
        await self._reports.add(item, plan)

    async def _no_judge(self, message: Received, no_model: str = "") -> None:
        run, plan = _judge_failed(message)
        if await self._reports.again(run, "", plan):
            return
        with self._reports.timed():
            item = await self._analysing.unjudged(run, Left(), no_model=no_model)
        await self._reports.add(item, plan)

    async def paper_parse_failed(self, message: Received) -> None:
        """Nothing to report on where the paper was only to be parsed."""
        event = message.parse(parser_events.PaperParseFailed)
        if event.experiment_id:
            experiment = id_to_domain("experiment_id", event.experiment_id)
            await self._reports.give_up(experiment, f"the paper could not be parsed: {event.reason}")

    async def experiment_failed(self, message: Received) -> None:
        event = message.parse(runner_events.ExperimentFailed)
        await self._reports.give_up(id_to_domain("experiment_id", event.experiment_id), event.reason)

    def _failing(self, read: Read, analyse: Analyse) -> Fail:
        async def fail(message: Received, error: FiretrialError) -> None:
            """The run is analysed without the model, where it was the model that failed.

            Else it enters the report without an analysis: its outcome and scores are in the message.
            """
            try:
                if isinstance(error, ModelError):
                    await analyse(message, error.message)
                    return
                run, plan = read(message)
            except FiretrialError as unreadable:
                await self._dropped(message, unreadable)
                return
            if run is not None:
                await self._reports.add_unanalysed(unanalysed(run, error.message), plan, error.message)

        return fail

    async def _dropped(self, message: Received, error: FiretrialError) -> None:
        """Nothing in the message could be told to have failed."""
        self._log.error("message dropped", subject=message.subject, error=error.message)


def _finished(message: Received) -> tuple[RunOutcome | None, Plan]:
    event = message.parse(runner_events.RunFinished)
    outcome = outcome_of(event.run)
    return run_to_domain(event.run, outcome) if outcome else None, plan_to_domain(event.slip)


def _judged(message: Received) -> tuple[RunOutcome, Plan]:
    event = message.parse(judge_events.RunJudged)
    run = run_to_domain(event.run, Outcome.SCORED, scores=event.scores)
    return run, plan_to_domain(event.slip)


def _judge_failed(message: Received) -> tuple[RunOutcome, Plan]:
    event = message.parse(judge_events.RunJudgeFailed)
    run = run_to_domain(event.run, Outcome.JUDGE_FAILED, reason=event.reason)
    return run, plan_to_domain(event.slip)
