"""What choosing does with facts: batches are screened, and the trees of papers that were read are queued."""

from __future__ import annotations

import structlog

from firetrial.parser.v1 import events_pb2
from firetrial_kit import events
from firetrial_kit.bus import Consumer, Received
from firetrial_kit.errors import FiretrialError
from firetrial_parser.announcing import SERVICE
from firetrial_parser.handlers import readable
from firetrial_parser.selection.queueing import Queueing
from firetrial_parser.selection.working import Worker


class SelectionHandlers:
    """Two consumers: `screening_submitted`, and `paper_parsed` for the queue."""

    def __init__(
        self, worker: Worker, queueing: Queueing, log: structlog.typing.FilteringBoundLogger
    ) -> None:
        self._worker = worker
        self._queueing = queueing
        self._log = log

    def consumers(self) -> tuple[Consumer, ...]:
        """The consumers to run, one batch at a time: a batch asks about many papers at once itself."""
        return (
            Consumer(
                name=f"{SERVICE}-screening_submitted",
                stream=events.EVENTS,
                subjects=(events.subject(SERVICE, "screening_submitted"),),
                handle=self.screening_submitted,
                fail=self.screening_stopped,
            ),
            Consumer(
                name=f"{SERVICE}-review-paper_parsed",
                stream=events.EVENTS,
                subjects=(events.subject(SERVICE, "paper_parsed"),),
                handle=self.paper_parsed,
                fail=self.paper_not_queued,
            ),
        )

    async def screening_submitted(self, message: Received) -> None:
        """Screen what is left of the batch, unless that was done, and announce its end."""
        event = message.parse(events_pb2.ScreeningSubmitted)
        await self._worker.run(event.screening_id, event.attempt)

    async def screening_stopped(self, message: Received, error: FiretrialError) -> None:
        """Announce that the batch ended early."""
        event = readable(message, events_pb2.ScreeningSubmitted, self._log)
        if event is not None:
            await self._worker.stop(event.screening_id, error.message)

    async def paper_parsed(self, message: Received) -> None:
        """Queue the paper's tree, unless that was done."""
        await self._queueing.tree(message.parse(events_pb2.PaperParsed).paper_id)

    async def paper_not_queued(self, message: Received, error: FiretrialError) -> None:
        """A tree that cannot be queued is told in the log alone: its paper goes its way without review."""
        self._log.error("not queued", subject=message.subject, error=error.message)
