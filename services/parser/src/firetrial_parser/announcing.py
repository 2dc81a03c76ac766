"""The parser's facts, each built and published in one place."""

from __future__ import annotations

from dataclasses import replace

from google.protobuf.message import Message

from firetrial.parser.v1 import events_pb2
from firetrial.plan.v1 import plan_pb2
from firetrial_kit import events
from firetrial_kit.bus import Bus
from firetrial_kit.clock import Clock
from firetrial_kit.references import ref_to_wire
from firetrial_parser.records import PaperRecord, TaskRecord

SERVICE = "parser"


class Announcer:
    """Publishes facts. Telling one twice tells it once: message ids are functions of what happened."""

    def __init__(self, bus: Bus, clock: Clock) -> None:
        self._bus = bus
        self._clock = clock

    async def paper_submitted(self, record: PaperRecord, plan: plan_pb2.Plan | None, experiment: str) -> None:
        """The paper is stored and waits to be read."""
        fact = events_pb2.PaperSubmitted(
            paper_id=record.id,
            source=ref_to_wire(record.source),
            filename=record.filename,
            plan=plan,
            experiment_id=experiment,
        )
        await self._tell(record.id, fact, experiment, record.attempt)

    async def paper_parsed(self, record: PaperRecord, event: events_pb2.PaperSubmitted) -> None:
        """Document and tree are stored; the plan goes on as it came."""
        if record.document is None or record.tree is None:
            raise ValueError(f"paper {record.id} was announced before it was read")
        fact = events_pb2.PaperParsed(
            paper_id=record.id,
            document=ref_to_wire(record.document),
            tree=ref_to_wire(record.tree),
            plan=event.plan if event.HasField("plan") else None,
            experiment_id=event.experiment_id,
        )
        await self._tell(record.id, fact, event.experiment_id, record.attempt)

    async def paper_failed(self, paper_id: str, reason: str, experiment: str, attempt: int) -> None:
        """The paper gives no task, for `reason`."""
        fact = events_pb2.PaperParseFailed(paper_id=paper_id, reason=reason, experiment_id=experiment)
        await self._tell(paper_id, fact, experiment, attempt)

    async def task_created(self, record: TaskRecord, slip: plan_pb2.Slip | None) -> None:
        """The task is stored; with a slip, its runs are wanted."""
        fact = events_pb2.TaskCreated(task_id=record.id, task=ref_to_wire(record.ref), slip=slip)
        await self._tell(record.id, fact, slip.experiment_id if slip else "")

    async def _tell(self, key: str, payload: Message, experiment: str, attempt: int = 1) -> None:
        fact = events.fact(SERVICE, key, payload, clock=self._clock, attempt=attempt)
        # The same paper with another plan is another fact.
        message_id = f"{fact.message_id}:{experiment}"
        headers = {**fact.headers, "ce-id": message_id}
        await self._bus.publish(replace(fact, message_id=message_id, headers=headers))
