"""The facts of screening and review, each built and published in one place."""

from __future__ import annotations

from google.protobuf.message import Message

from firetrial.parser.v1 import events_pb2
from firetrial_kit import events
from firetrial_kit.bus import Bus
from firetrial_kit.clock import Clock
from firetrial_kit.references import ref_to_wire
from firetrial_parser.announcing import SERVICE
from firetrial_parser.selection.review import Kind, ReviewRecord, State
from firetrial_parser.selection.screening import ScreeningRecord


class SelectionAnnouncer:
    """Publishes facts. Telling one twice tells it once: message ids are functions of what happened."""

    def __init__(self, bus: Bus, clock: Clock) -> None:
        self._bus = bus
        self._clock = clock

    async def screening_submitted(self, record: ScreeningRecord) -> None:
        """The batch is stored and waits to be screened, or to go on."""
        fact = events_pb2.ScreeningSubmitted(
            screening_id=record.id, items=ref_to_wire(record.items_ref), attempt=record.attempt
        )
        await self._tell(record.id, fact, record.attempt)

    async def screening_ended(self, record: ScreeningRecord) -> None:
        """Every item has an outcome, or the batch ended early for a reason."""
        fact = events_pb2.ScreeningEnded(screening_id=record.id, reason=record.reason)
        await self._tell(record.id, fact, record.attempt)

    async def paper_screened(self, record: ReviewRecord, item_id: str) -> None:
        """People are to decide on a screened paper."""
        fact = events_pb2.PaperScreened(
            review_id=record.id, screening_id=record.screening_id, item_id=item_id, paper_id=record.paper_id
        )
        await self._tell(record.id, fact, 1)

    async def paper_reviewed(self, record: ReviewRecord) -> None:
        """People have decided; a reopened review is told again when it is decided anew."""
        fact = events_pb2.PaperReviewed(
            review_id=record.id,
            accepted=record.state is State.ACCEPTED,
            paper_id=record.paper_id,
            tree=ref_to_wire(record.at(0).tree) if record.kind is Kind.TREE else None,
            version=record.version,
        )
        await self._tell(record.id, fact, len(record.rounds) + 1)

    async def _tell(self, key: str, payload: Message, attempt: int) -> None:
        await self._bus.publish(events.fact(SERVICE, key, payload, clock=self._clock, attempt=attempt))
