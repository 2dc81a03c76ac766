"""What the runner tells the others: its facts, and the work that it gives to the pools."""

from __future__ import annotations

from dataclasses import replace

from firetrial.runner.v1 import events_pb2, run_pb2
from firetrial_kit import events, trace
from firetrial_kit.bus import Bus
from firetrial_kit.clock import Clock
from firetrial_runner.records import RunRecord
from firetrial_runner.run import MAX_REASON, Outcome, RunState
from firetrial_runner.wire import run_to_wire, slip_to_wire

SERVICE = "runner"


class Announcer:
    """Publishes. A message's id is a function of what it says, so that saying it twice is saying it once."""

    def __init__(self, bus: Bus, clock: Clock) -> None:
        self._bus = bus
        self._clock = clock

    async def requested(self, record: RunRecord) -> None:
        """A run is wanted: the fact, and the work for its pool. Nothing for a run that is under way."""
        run = record.run
        if run.state is not RunState.QUEUED:
            return
        payload = events_pb2.RunRequested(run=run_to_wire(run), slip=slip_to_wire(record.slip))
        attempt, clock = run.attempt, self._clock
        await self._fact(record, payload)
        with trace.resumed(record.traceparent):
            work = events.work(SERVICE, run.pool, run.id, payload, clock=clock, attempt=attempt)
        await self._bus.publish(work)

    async def again(self, record: RunRecord) -> None:
        """The same work anew, for one whose message has come so often that it would count as failed."""
        run, now = record.run, self._clock.now()
        payload = events_pb2.RunRequested(run=run_to_wire(run), slip=slip_to_wire(record.slip))
        work = events.work(SERVICE, run.pool, run.id, payload, clock=self._clock, attempt=run.attempt)
        await self._bus.publish(replace(work, message_id=f"{work.message_id}:{now.isoformat()}"))

    async def started(self, record: RunRecord) -> None:
        payload = events_pb2.RunStarted(run=run_to_wire(record.run), slip=slip_to_wire(record.slip))
        await self._fact(record, payload)

    async def finished(self, record: RunRecord) -> None:
        """The agent's part is over. Nothing once the judge has spoken: that came after this."""
        run = record.run
        if run.is_over and run.outcome not in {Outcome.SCORED, Outcome.JUDGE_FAILED}:
            payload = events_pb2.RunFinished(run=run_to_wire(run), slip=slip_to_wire(record.slip))
            await self._fact(record, payload)

    async def refused(self, event: events_pb2.RunRequested, reason: str) -> None:
        """A run that was asked for from outside, and is none: it goes back as it came, with the reason."""
        run = run_pb2.Run()
        run.CopyFrom(event.run)
        run.state, run.outcome = run_pb2.RUN_STATE_ENDED, run_pb2.OUTCOME_INFRA_FAILED
        run.reason = reason[:MAX_REASON]
        payload = events_pb2.RunFinished(run=run, slip=event.slip)
        fact = events.fact(SERVICE, run.id, payload, clock=self._clock, attempt=run.attempt)
        await self._bus.publish(fact)

    async def experiment_failed(self, experiment_id: str, reason: str) -> None:
        payload = events_pb2.ExperimentFailed(experiment_id=experiment_id, reason=reason)
        fact = events.fact(SERVICE, experiment_id, payload, clock=self._clock)
        await self._bus.publish(fact)

    async def _fact(
        self,
        record: RunRecord,
        payload: events_pb2.RunRequested | events_pb2.RunStarted | events_pb2.RunFinished,
    ) -> None:
        run = record.run
        with trace.resumed(record.traceparent):
            fact = events.fact(SERVICE, run.id, payload, clock=self._clock, attempt=run.attempt)
        await self._bus.publish(fact)
