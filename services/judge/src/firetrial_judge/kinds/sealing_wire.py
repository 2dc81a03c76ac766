"""What the judge does when a sealed test is over."""

from __future__ import annotations

import structlog

from firetrial.runner.v1 import events_pb2
from firetrial_judge.judging import SERVICE
from firetrial_judge.kinds.sealing import Sealing
from firetrial_judge.wire import is_id
from firetrial_kit import events
from firetrial_kit.bus import Consumer, Received
from firetrial_kit.errors import Fault, FiretrialError, check


class TrialHandlers:
    """One consumer: `test_finished` of the runner."""

    def __init__(self, sealing: Sealing, log: structlog.typing.FilteringBoundLogger) -> None:
        self._sealing, self._log = sealing, log

    def consumer(self, at_once: int) -> Consumer:
        """The durable consumer."""
        return Consumer(
            name=f"{SERVICE}-test_finished",
            stream=events.EVENTS,
            subjects=(events.subject("runner", "test_finished"),),
            handle=self.test_finished,
            fail=self.not_judged,
            concurrency=at_once,
        )

    async def test_finished(self, message: Received) -> None:
        """Judge the run by its test."""
        event = message.parse(events_pb2.TestFinished)
        cure = "must be letters, digits, _ and -, at most 128"
        check("the test", [] if is_id(event.run_id) else [Fault("run_id", event.run_id, cure)])
        await self._sealing.tested(event)

    async def not_judged(self, message: Received, error: FiretrialError) -> None:
        """Announce that the run will not be judged; a message that names no run is only logged."""
        event = message.parsed(events_pb2.TestFinished)
        if event is None or not is_id(event.run_id):
            self._log.error("dropped", subject=message.subject, error=error.message)
            return
        await self._sealing.give_up(event.run_id, error.message)
