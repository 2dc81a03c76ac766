"""What the parser does with its own facts: a submitted paper is read, a read one becomes tasks."""

from __future__ import annotations

import structlog

from firetrial.parser.v1 import events_pb2
from firetrial_kit import events
from firetrial_kit.bus import Consumer, P, Received
from firetrial_kit.errors import FiretrialError
from firetrial_parser.announcing import SERVICE
from firetrial_parser.papers import Papers


class Handlers:
    """Two consumers: `paper_submitted` and `paper_parsed`."""

    def __init__(self, papers: Papers, log: structlog.typing.FilteringBoundLogger) -> None:
        self._papers = papers
        self._log = log

    def consumers(self, at_once: int) -> tuple[Consumer, ...]:
        """The consumers to run, reading so many papers at once."""
        return (
            Consumer(
                name=f"{SERVICE}-paper_submitted",
                stream=events.EVENTS,
                subjects=(events.subject(SERVICE, "paper_submitted"),),
                handle=self.paper_submitted,
                fail=self.paper_not_read,
                concurrency=at_once,
            ),
            Consumer(
                name=f"{SERVICE}-paper_parsed",
                stream=events.EVENTS,
                subjects=(events.subject(SERVICE, "paper_parsed"),),
                handle=self.paper_parsed,
                fail=self.paper_without_task,
                concurrency=at_once,
            ),
        )

    async def paper_submitted(self, message: Received) -> None:
        """Read the paper, unless that was done."""
        await self._papers.read(message.parse(events_pb2.PaperSubmitted))

    async def paper_parsed(self, message: Received) -> None:
        """Make the paper's tasks, unless that was done, and announce them."""
        await self._papers.make_tasks(message.parse(events_pb2.PaperParsed))

    async def paper_not_read(self, message: Received, error: FiretrialError) -> None:
        """Announce that the paper cannot be read."""
        event = readable(message, events_pb2.PaperSubmitted, self._log)
        if event is not None:
            await self._papers.fail(event.paper_id, error.message, event.experiment_id)

    async def paper_without_task(self, message: Received, error: FiretrialError) -> None:
        """Announce that the paper gives no task."""
        event = readable(message, events_pb2.PaperParsed, self._log)
        if event is not None:
            await self._papers.fail(event.paper_id, error.message, event.experiment_id)


def readable(message: Received, type_: type[P], log: structlog.typing.FilteringBoundLogger) -> P | None:
    """The event, or None (and a line in the log) for a message that nobody can be told about."""
    event = message.parsed(type_)
    if event is None:
        log.error("dropped", subject=message.subject, error=f"it is no {type_.DESCRIPTOR.full_name}")
    return event
