"""What the judge does when a run has finished."""

from __future__ import annotations

import structlog

from firetrial.runner.v1 import events_pb2, run_pb2
from firetrial_judge.judging import SERVICE
from firetrial_judge.kinds.by_kind import ByKind
from firetrial_judge.kinds.sealing_wire import TrialHandlers
from firetrial_judge.wire import is_id
from firetrial_kit import events
from firetrial_kit.bus import Consumer, Received
from firetrial_kit.errors import Fault, FiretrialError, check


class Handlers:
    """Two consumers: `run_finished` and `test_finished` of the runner."""

    def __init__(self, kinds: ByKind, log: structlog.typing.FilteringBoundLogger) -> None:
        self._kinds = kinds
        self._log = log

    def consumers(self, at_once: int) -> tuple[Consumer, ...]:
        """The consumers to run, each with so many messages in hand."""
        return (
            Consumer(
                name=f"{SERVICE}-run_finished",
                stream=events.EVENTS,
                subjects=(events.subject("runner", "run_finished"),),
                handle=self.run_finished,
                fail=self.run_not_judged,
                concurrency=at_once,
            ),
            TrialHandlers(self._kinds.sealing, self._log).consumer(at_once),
        )

    async def run_finished(self, message: Received) -> None:
        """Judge the run, unless its outcome is settled without a judge."""
        event = message.parse(events_pb2.RunFinished)
        if event.run.outcome != run_pb2.OUTCOME_UNSPECIFIED:
            return
        check("the run", _faults(event.run))
        await self._kinds.judge(event.run, event.slip)

    async def run_not_judged(self, message: Received, error: FiretrialError) -> None:
        """Announce that the run will not be judged; a message that names no run is only logged."""
        event = message.parsed(events_pb2.RunFinished)
        if event is None or not is_id(event.run.id):
            self._log.error("dropped", subject=message.subject, error="it names no run")
            return
        await self._kinds.fail(event.run, event.slip, error.message)


def _faults(run: run_pb2.Run) -> list[Fault]:
    return [
        Fault(f"run.{name}", value, "must be letters, digits, _ and -, at most 128")
        for name, value in (("id", run.id), ("task_id", run.task_id))
        if not is_id(value)
    ]
