"""What the runner does when it is told something; one function for each fact."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

import structlog
from google.protobuf.message import Message

from firetrial.judge.v1 import events_pb2 as judge_events
from firetrial.parser.v1 import events_pb2 as parser_events
from firetrial.runner.v1 import events_pb2
from firetrial_kit import trace
from firetrial_kit.bus import Consumer, Received
from firetrial_kit.errors import Fault, FiretrialError, Reason, check
from firetrial_kit.events import EVENTS, WORK, subject
from firetrial_runner import pools
from firetrial_runner import run as runs
from firetrial_runner.announce import Announcer
from firetrial_runner.dispatch import Dispatch, WaitsError
from firetrial_runner.experiment import is_id
from firetrial_runner.experiments import Experiments
from firetrial_runner.gating.handlers import GateHandlers
from firetrial_runner.records import Books, RunRecord
from firetrial_runner.run import RunState
from firetrial_runner.wire import run_to_domain, slip_to_domain

P = TypeVar("P", bound=Message)
_COMES = 4
"""Deliveries of one message for a run that waits."""


class Handlers:
    def __init__(
        self,
        *,
        books: Books,
        dispatch: Dispatch,
        experiments: Experiments,
        announce: Announcer,
        log: structlog.typing.FilteringBoundLogger,
    ) -> None:
        self._books = books
        self._dispatch = dispatch
        self._experiments = experiments
        self._announce = announce
        self._log = log

    def consumers(self, pool: str, slots: int) -> list[Consumer]:
        """The durable consumers; `slots` runs of the pool are in hand at the same time. 0: none is taken."""
        created = subject("parser", "task_created")
        sealed = subject("judge", "test_requested")
        judged, unjudged = subject("judge", "run_judged"), subject("judge", "run_judge_failed")
        name, work = pools.of_runs(pool)
        takes = Consumer(name, WORK, (work,), self.work, self.work_failed, concurrency=slots)
        return [
            *([takes] if slots else []),
            Consumer("runner-task_created", EVENTS, (created,), self.task_created, self.task_refused),
            Consumer("runner-test_requested", EVENTS, (sealed,), self.test_requested, self.dropped),
            Consumer("runner-run_judged", EVENTS, (judged,), self.run_judged, self.dropped, concurrency=8),
            Consumer(
                "runner-run_judge_failed",
                EVENTS,
                (unjudged,),
                self.run_judge_failed,
                self.dropped,
                concurrency=8,
            ),
            *GateHandlers(self._books, self.dropped).consumers(),
        ]

    async def work(self, message: Received) -> None:
        """Run what is asked for."""
        event = message.parse(events_pb2.RunRequested)
        check("the run", [] if is_id(event.run.id) else [_bad_id("run.id", event.run.id)])
        record = await self._books.runs.find(event.run.id)
        if record is None:
            record = await self._from_outside(event, message.subject.rpartition(".")[2])
        try:
            await self._dispatch.take(record)
        except WaitsError:
            # Waiting is no failure, however often the message comes.
            if message.delivered < _COMES:
                raise
            await self._announce.again(record)

    async def work_failed(self, message: Received, error: FiretrialError) -> None:
        """The run ends as INFRA_FAILED, for want of anything better."""
        event = self._parsed(message, events_pb2.RunRequested)
        if event is None or not is_id(event.run.id):
            await self.dropped(message, error)
        elif await self._books.runs.find(event.run.id) is None:
            await self._announce.refused(event, error.message)
        else:
            await self._dispatch.give_up(event.run.id, error.message)

    async def task_created(self, message: Received) -> None:
        """A task for an experiment, or one that is only to be kept."""
        event = message.parse(parser_events.TaskCreated)
        if event.slip.experiment_id:
            check("the slip", _id_faults(event))
            await self._experiments.extend(event.task_id, event.slip)

    async def task_refused(self, message: Received, error: FiretrialError) -> None:
        """The experiment fails, and says why."""
        event = self._parsed(message, parser_events.TaskCreated)
        if event is None or not is_id(event.slip.experiment_id):
            await self.dropped(message, error)
            return
        await self._experiments.fail(event.slip, error.message)

    async def test_requested(self, message: Received) -> None:
        """A run waits for its sealed test: `unattended` says so where nobody makes it."""
        event = message.parse(judge_events.SealedTestRequested)
        sealed = runs.Sealed(event.pool, event.attempt)
        await self._books.change_run(event.run_id, lambda run: runs.tested(run, sealed))

    async def run_judged(self, message: Received) -> None:
        event = message.parse(judge_events.RunJudged)
        await self._books.change_run(event.run.id, runs.judged)

    async def run_judge_failed(self, message: Received) -> None:
        event = message.parse(judge_events.RunJudgeFailed)
        now = self._dispatch.clock.now()
        await self._books.change_run(event.run.id, lambda run: runs.not_judged(run, now, event.reason))

    async def dropped(self, message: Received, error: FiretrialError) -> None:
        """Nothing in the message could be told to have failed."""
        self._log.error("message dropped", subject=message.subject, error=error.message)

    async def _from_outside(self, event: events_pb2.RunRequested, pool: str) -> RunRecord:
        """A run that no experiment of ours asked for: an outside scheduler's. Raises INVALID."""
        attempts = event.slip.plan.max_attempts or 1
        run = run_to_domain(event.run, max_attempts=attempts)
        run = replace(run, pool=pool, state=RunState.QUEUED, outcome=None, superseded=False)
        await self._books.runs.create(run.id, RunRecord(run, slip_to_domain(event.slip), trace.current()))
        return await self._books.runs.get(run.id)

    def _parsed(self, message: Received, type_: type[P]) -> P | None:
        try:
            return message.parse(type_)
        except FiretrialError as error:
            if error.reason is not Reason.INVALID:
                raise
            return None


def _id_faults(event: parser_events.TaskCreated) -> list[Fault]:
    ids = {"task_id": event.task_id, "slip.experiment_id": event.slip.experiment_id}
    return [_bad_id(name, value) for name, value in ids.items() if not is_id(value)]


def _bad_id(field: str, value: str) -> Fault:
    return Fault(field, value, "must be letters, digits, _ and -, at most 128")
