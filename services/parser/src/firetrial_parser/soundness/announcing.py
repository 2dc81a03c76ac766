"""The facts about proposals, each built and published in one place."""

from __future__ import annotations

from google.protobuf.message import Message

from firetrial.parser.v1 import events_pb2
from firetrial_kit import events
from firetrial_kit.bus import Bus
from firetrial_kit.clock import Clock
from firetrial_parser.announcing import SERVICE
from firetrial_parser.soundness.proposal_wire import assessment_to_wire
from firetrial_parser.soundness.record import ProposalRecord, Said

_RATIONALE = 4000  # characters that travel
_SCREENED = 20


class ProposalAnnouncer:
    """Publishes facts. Telling one twice tells it once: message ids are functions of what happened."""

    def __init__(self, bus: Bus, clock: Clock) -> None:
        self._bus = bus
        self._clock = clock

    async def submitted(self, record: ProposalRecord) -> None:
        """The proposal is stored, or is to be extracted, and waits to be assessed."""
        fact = events_pb2.ProposalSubmitted(
            proposal_id=record.id, paper_id=record.source.paper_id, attempt=record.attempt
        )
        await self._tell(record, fact)

    async def assessed(self, record: ProposalRecord, said: Said) -> None:
        """There is an opinion in each mode."""
        fact = events_pb2.ProposalAssessed(
            proposal_id=record.id,
            agent_id=record.source.agent_id,
            task_id=record.source.task_id,
            support_ratio=record.support_ratio,
        )
        for one in said.assessments:
            told = fact.assessments.add()
            told.CopyFrom(assessment_to_wire(one))
            told.rationale = told.rationale[:_RATIONALE]
            del told.screened[_SCREENED:]
        await self._tell(record, fact)

    async def failed(self, record: ProposalRecord) -> None:
        """It could not be extracted or assessed."""
        fact = events_pb2.ProposalAssessFailed(
            proposal_id=record.id, reason=record.failure, attempt=record.attempt
        )
        await self._tell(record, fact)

    async def _tell(self, record: ProposalRecord, payload: Message) -> None:
        fact = events.fact(SERVICE, record.id, payload, clock=self._clock, attempt=record.attempt)
        await self._bus.publish(fact)
