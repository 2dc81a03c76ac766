"""A parser on the kit's in-memory bus, state and store."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack
from typing import TypeVar

import structlog
from google.protobuf.message import Message
from prometheus_client import CollectorRegistry

from firetrial.parser.v1 import parser_service_pb2 as pb
from firetrial.plan.v1 import plan_pb2
from firetrial_kit.auth import open_gate
from firetrial_kit.bus import Consumer
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.figures import Figures
from firetrial_kit.metrics import KitMetrics
from firetrial_kit.objects import GRANTS
from firetrial_kit.records import Records
from firetrial_kit.service import Parts
from firetrial_kit.settings import CommonSettings
from firetrial_kit.testing import InMemoryBus, InMemoryObjects, InMemoryState, ManualClock
from firetrial_parser.announcing import Announcer
from firetrial_parser.archive import Archive
from firetrial_parser.asking import Asker
from firetrial_parser.document import Document
from firetrial_parser.entailment import Entails
from firetrial_parser.handlers import Handlers
from firetrial_parser.leaks.checking import LeakChecker
from firetrial_parser.making import Making
from firetrial_parser.metrics import ParserMetrics
from firetrial_parser.papers import Papers, Reads
from firetrial_parser.publishing import Publishing
from firetrial_parser.reading import read_document
from firetrial_parser.records import PaperRecord, RequestRecord, TaskRecord
from firetrial_parser.selection.assembly import selection
from firetrial_parser.servicer import ParserServicer
from firetrial_parser.soundness.assembly import soundness
from firetrial_parser.submitting import Submitting
from firetrial_parser.task_rpcs import Tasking
from firetrial_parser.tasks import Tasks
from firetrial_parser.trees import Trees
from unit.parser.study import TEXT

P = TypeVar("P", bound=Message)
MAX_PAPER = 100_000
MAX_DATA = 50_000


async def no_broker() -> Figures:
    """There is none to ask for its figures."""
    raise FiretrialError(Reason.UNAVAILABLE, "the bus is in memory")


async def read_here(data: bytes, filename: str) -> Document:
    """In this process, for what is not about the other one."""
    return read_document(data, filename)


class World:
    """All that a parser needs; `everything` sees the store without the parser's limits."""

    def __init__(
        self,
        judge: Entails | None = None,
        asker: Asker | None = None,
        reads: Reads = read_here,
    ) -> None:
        self.reads = reads
        self.bus = InMemoryBus()
        self.state = InMemoryState()
        self.clock = ManualClock()
        self.everything = InMemoryObjects()
        self.objects = InMemoryObjects(GRANTS["parser"], sharing=self.everything)
        self.start(judge, asker)

    def start(
        self,
        judge: Entails | None = None,
        asker: Asker | None = None,
        tree_asker: Asker | None = None,
    ) -> None:
        """A new process over the same bus, state and store; `tree_asker` is asked for trees alone."""
        archive, metrics = Archive(self.objects), ParserMetrics(CollectorRegistry())
        announcer = Announcer(self.bus, self.clock)
        tasks = Tasks(
            Records(self.state, "task", TaskRecord), archive, self.clock, metrics, LeakChecker(judge)
        )
        publishing = Publishing(tasks, announcer)
        tasking = Tasking(tasks, Making(tasks, asker), publishing)
        self.papers = Papers(
            records=Records(self.state, "paper", PaperRecord),
            archive=archive,
            making=tasking.making,
            publishing=publishing,
            announcer=announcer,
            clock=self.clock,
            metrics=metrics,
            trees=Trees(tree_asker, judge=judge),
            reads=self.reads,
        )
        requests = Records(self.state, "request", RequestRecord)
        submitting = Submitting(
            self.papers, tasks, announcer, requests, max_paper=MAX_PAPER, max_data=MAX_DATA
        )
        self.chosen = selection(self._parts(), archive, self.papers, asker)
        self.gate = soundness(self._parts(), self.papers, asker, judge)
        self.servicer = ParserServicer(submitting, self.papers, tasking, self.chosen, self.gate.proposals)
        self.screening, self.queued = self.chosen.consumers
        self.submitted, self.parsed = Handlers(self.papers, structlog.get_logger()).consumers(1)

    def _parts(self) -> Parts:
        log = structlog.get_logger()
        return Parts(
            service="parser",
            environ={},
            settings=CommonSettings(objects_url="file:///nowhere"),
            bus=self.bus,
            state=self.state,
            objects=self.objects,
            clock=self.clock,
            metrics=KitMetrics(CollectorRegistry()),
            gate=open_gate(None, self.clock, log),
            broker=no_broker,
            log=log,
            instance="world",
            stack=AsyncExitStack(),
        )

    async def submit(
        self, data: bytes = TEXT.encode(), filename: str = "study.md", **header: object
    ) -> pb.SubmitPaperResponse:
        """Upload a paper through the servicer."""
        first = pb.PaperHeader(filename=filename, size=len(data), **header)  # type: ignore[arg-type]
        return await self.servicer.SubmitPaper(paper_parts(first, [data]), None)

    async def submit_task(self, header: pb.TaskHeader, data: bytes = b"") -> pb.SubmitTaskResponse:
        """Upload a task through the servicer."""

        async def parts() -> AsyncIterator[pb.SubmitTaskRequest]:
            yield pb.SubmitTaskRequest(header=header)
            if data:
                yield pb.SubmitTaskRequest(chunk=data)

        return await self.servicer.SubmitTask(parts(), None)

    async def run(self) -> list[str]:
        """Deliver everything to both consumers until nothing is due; how each message was settled."""
        settled = await self.bus.deliver(self.submitted)
        return settled + await self.bus.deliver(self.parsed)

    async def again(self, consumer: Consumer, fact: str) -> list[str]:
        """Deliver the last message of a fact once more, as after a lost ack."""
        message = [m for m in self.bus.published if f".{fact}." in m.subject][-1]
        self.bus.redeliver(consumer, message)
        return await self.bus.deliver(consumer)

    def told(self, fact: str, type_: type[P]) -> list[P]:
        """All payloads of a fact."""
        return [type_.FromString(m.data) for m in self.bus.published if f".{fact}." in m.subject]


async def paper_parts(
    header: pb.PaperHeader, chunks: Iterable[bytes]
) -> AsyncIterator[pb.SubmitPaperRequest]:
    """The messages of one upload."""
    yield pb.SubmitPaperRequest(header=header)
    for chunk in chunks:
        yield pb.SubmitPaperRequest(chunk=chunk)


def plan(**fields: object) -> plan_pb2.Plan:
    """A plan of two agents, two runs each."""
    return plan_pb2.Plan(**{"agents": ["careful@1a2b", "hasty@3c4d"], "repeats": 2, **fields})  # type: ignore[arg-type]
