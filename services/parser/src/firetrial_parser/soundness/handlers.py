"""What the gate does with its own fact: a submitted proposal is assessed."""

from __future__ import annotations

import structlog

from firetrial.parser.v1 import events_pb2
from firetrial_kit import events
from firetrial_kit.bus import Consumer, Received
from firetrial_kit.errors import FiretrialError
from firetrial_parser.announcing import SERVICE
from firetrial_parser.handlers import readable
from firetrial_parser.soundness.proposals import Proposals

_AT_ONCE = 4


class ProposalHandlers:
    """One consumer: `proposal_submitted`."""

    def __init__(self, proposals: Proposals, log: structlog.typing.FilteringBoundLogger) -> None:
        self._proposals = proposals
        self._log = log

    def consumers(self) -> tuple[Consumer, ...]:
        """The consumer to run."""
        return (
            Consumer(
                name=f"{SERVICE}-proposal_submitted",
                stream=events.EVENTS,
                subjects=(events.subject(SERVICE, "proposal_submitted"),),
                handle=self.proposal_submitted,
                fail=self.proposal_not_assessed,
                concurrency=_AT_ONCE,
            ),
        )

    async def proposal_submitted(self, message: Received) -> None:
        """Assess the proposal, unless that was done, and announce it."""
        await self._proposals.assess(message.parse(events_pb2.ProposalSubmitted).proposal_id)

    async def proposal_not_assessed(self, message: Received, error: FiretrialError) -> None:
        """Announce that the proposal cannot be assessed."""
        event = readable(message, events_pb2.ProposalSubmitted, self._log)
        if event is not None:
            await self._proposals.fail(event.proposal_id, error.message)
