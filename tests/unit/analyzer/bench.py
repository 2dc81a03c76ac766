"""The analyzer wired to the fakes, and the messages that other services send it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

import structlog
from google.protobuf.json_format import MessageToJson
from google.protobuf.message import Message
from prometheus_client import CollectorRegistry

from firetrial.artifact.v1 import artifact_pb2
from firetrial.judge.v1 import events_pb2 as judge_events
from firetrial.judge.v1 import judgement_pb2
from firetrial.parser.v1 import task_pb2
from firetrial.plan.v1 import plan_pb2
from firetrial.runner.v1 import events_pb2 as runner_events
from firetrial.runner.v1 import run_pb2
from firetrial_analyzer.announce import Announcer
from firetrial_analyzer.archive import Archive
from firetrial_analyzer.assembly import servicer
from firetrial_analyzer.handlers import Handlers
from firetrial_analyzer.ledger import Ledger
from firetrial_analyzer.metrics import AnalyzerMetrics
from firetrial_analyzer.record import ReportRecord
from firetrial_analyzer.reports import Reports
from firetrial_kit import events
from firetrial_kit.bus import Consumer, Outgoing
from firetrial_kit.objects import GRANTS
from firetrial_kit.records import Records
from firetrial_kit.testing import InMemoryBus, InMemoryObjects, InMemoryState, ManualClock

EXPERIMENT = "e-1"
TASK = "knn-3f2a"
AGENT = "careful@41d0"


@dataclass
class Bench:
    """`everything` may write where the analyzer may not: it is the other services' store."""

    everything: InMemoryObjects = field(default_factory=InMemoryObjects)
    bus: InMemoryBus = field(default_factory=InMemoryBus)
    state: InMemoryState = field(default_factory=InMemoryState)
    clock: ManualClock = field(default_factory=ManualClock)

    def __post_init__(self) -> None:
        self.objects = InMemoryObjects(GRANTS["analyzer"], sharing=self.everything)
        self.start()

    def start(self) -> None:
        """A new process over the same bus, state and store."""
        self.registry = CollectorRegistry()
        self.archive = Archive(self.objects)
        self.records = Records(self.state, "report", ReportRecord)
        self.ledger = Ledger(self.records, self.objects, self.clock)
        self.reports = Reports(
            ledger=self.ledger,
            archive=self.archive,
            announcer=Announcer(self.bus, self.clock),
            metrics=AnalyzerMetrics(self.registry),
        )
        self.handlers = Handlers(self.reports, self.archive, structlog.get_logger())
        self.consumers = {one.name: one for one in self.handlers.consumers(4)}
        self.servicer = servicer(
            self.reports, self.ledger, self.archive,
            bus=self.bus, state=self.state, objects=self.objects, clock=self.clock,
        )  # fmt: skip

    def consumer(self, fact: str) -> Consumer:
        return self.consumers[f"analyzer-{fact}"]

    async def tell(self, service: str, key: str, payload: Message) -> Outgoing:
        """Another service publishes; returns what it sent."""
        message = events.fact(service, key, payload, clock=self.clock)
        await self.bus.publish(message)
        return message

    async def deliver(self, fact: str) -> list[str]:
        return await self.bus.deliver(self.consumer(fact))

    def facts(self, name: str) -> list[Outgoing]:
        """What the analyzer has told under `name`."""
        prefix = f"ft.evt.analyzer.v1.{name}."
        return [message for message in self.bus.published if message.subject.startswith(prefix)]

    async def finished(
        self,
        run: run_pb2.Run,
        outcome: run_pb2.Outcome.ValueType = run_pb2.OUTCOME_AGENT_FAILED,
        expected: int = 1,
    ) -> Outgoing:
        run.outcome = outcome
        event = runner_events.RunFinished(run=run, slip=slip(expected))
        return await self.tell("runner", run.id, event)

    async def judged(
        self,
        run: run_pb2.Run,
        expected: int = 1,
        f1: float = 0.5,
        name: str = "j-1",
        sealed: judgement_pb2.SealedResult | None = None,
    ) -> Outgoing:
        """A judgement in the store, and the word that it is there."""
        scores = judgement_pb2.Scores(precision=f1, recall=f1, f1=f1)
        ref = await self.put_judgement(name, run, scores, sealed)
        event = judge_events.RunJudged(
            run=run, slip=slip(expected), judgement_id=name, judgement=ref, scores=scores
        )
        return await self.tell("judge", f"{run.id}.{name}", event)

    async def put_judgement(
        self,
        name: str,
        run: run_pb2.Run,
        scores: judgement_pb2.Scores,
        sealed: judgement_pb2.SealedResult | None = None,
    ) -> artifact_pb2.ArtifactRef:
        judgement = judgement_pb2.Judgement(
            id=name,
            run_id=run.id,
            config=plan_pb2.JudgeConfig(backend=plan_pb2.JudgeConfig.BACKEND_OFFLINE),
            config_hash="abc",
            agent_claims=[
                claim("a1", "Accuracy falls with noise.", judgement_pb2.VERDICT_ENTAILED),
                claim("a2", "Accuracy always falls with noise.", judgement_pb2.VERDICT_NEUTRAL),
            ],
            truth_claims=[
                claim("t1", "Accuracy falls with noise.", judgement_pb2.VERDICT_ENTAILED),
                claim("t2", "The loss shrinks as k grows.", judgement_pb2.VERDICT_NEUTRAL),
            ],
            scores=scores,
            quality="right on 77 % of 96 pairs",
            sealed=sealed,
        )
        data = MessageToJson(judgement, preserving_proto_field_name=True).encode()
        ref = await self.everything.put("results", f"judgements/{name}.json", data, "application/json")
        return artifact_pb2.ArtifactRef(uri=ref.uri, sha256=ref.sha256, size=ref.size)

    async def put_task(self, question: str) -> None:
        data = MessageToJson(task_pb2.Task(id=TASK, question=question), preserving_proto_field_name=True)
        await self.everything.put("runs", f"tasks/{TASK}/task.json", data.encode(), "application/json")


def claim(id_: str, text: str, verdict: judgement_pb2.Verdict.ValueType) -> judgement_pb2.ClaimVerdict:
    return judgement_pb2.ClaimVerdict(id=id_, text=text, verdict=verdict)


def slip(expected: int) -> plan_pb2.Slip:
    plan = plan_pb2.Plan(agents=[AGENT], repeats=expected)
    return plan_pb2.Slip(experiment_id=EXPERIMENT, expected_runs=expected, plan=plan)


def run(repeat: int = 1, attempt: int = 1, *, superseded: bool = False) -> run_pb2.Run:
    digest = hashlib.sha256(f"{repeat}.{attempt}".encode()).hexdigest()
    made = run_pb2.Run(
        id=f"r-{digest[:12]}",
        experiment_id=EXPERIMENT,
        task_id=TASK,
        agent_id=AGENT,
        repeat=repeat,
        attempt=attempt,
        superseded=superseded,
    )
    made.usage.wall_time.FromMilliseconds(2500)
    made.exit.termination = run_pb2.TERMINATION_EXITED
    made.exit.code = 0
    return made
