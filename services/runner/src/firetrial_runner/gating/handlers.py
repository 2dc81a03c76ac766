"""What the runner does when it is told of proposals: it remembers."""

from __future__ import annotations

from collections.abc import Callable

from firetrial.parser.v1 import events_pb2
from firetrial_kit.bus import Consumer, Fail, Received
from firetrial_kit.errors import Fault, check
from firetrial_kit.events import EVENTS, subject
from firetrial_runner.experiment import is_id
from firetrial_runner.gating.gate import Proposal
from firetrial_runner.gating.gate_wire import opinions_to_domain
from firetrial_runner.records import Books


class GateHandlers:
    """Three consumers; `dropped` says of a message that it could not be used."""

    def __init__(self, books: Books, dropped: Fail) -> None:
        self._books = books
        self._dropped = dropped

    def consumers(self) -> list[Consumer]:
        """The durable consumers."""
        facts = {
            "proposal_submitted": self.submitted,
            "proposal_assessed": self.assessed,
            "proposal_assess_failed": self.not_assessed,
        }
        return [
            Consumer(f"runner-{fact}", EVENTS, (subject("parser", fact),), handle, self._dropped)
            for fact, handle in facts.items()
        ]

    async def submitted(self, message: Received) -> None:
        event = message.parse(events_pb2.ProposalSubmitted)
        await self._change(event.proposal_id, lambda known: known.submitted(event.attempt))

    async def assessed(self, message: Received) -> None:
        event = message.parse(events_pb2.ProposalAssessed)
        opinions = opinions_to_domain(event)
        await self._change(event.proposal_id, lambda known: known.assessed(opinions))

    async def not_assessed(self, message: Received) -> None:
        event = message.parse(events_pb2.ProposalAssessFailed)
        await self._change(event.proposal_id, lambda known: known.not_assessed(event.attempt, event.reason))

    async def _change(self, id_: str, change: Callable[[Proposal], Proposal | None]) -> None:
        cure = "must be letters, digits, _ and -, at most 128"
        check("the proposal", [] if is_id(id_) else [Fault("proposal_id", id_, cure)])
        await self._books.proposals.create(id_, Proposal(id_))
        await self._books.proposals.change(id_, change)
