"""A judge on the kit's in-memory bus, state and store, and the runs it is given."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import TypeVar

import structlog
from google.protobuf.json_format import MessageToJson
from google.protobuf.message import Message
from prometheus_client import CollectorRegistry

from firetrial.artifact.v1 import artifact_pb2
from firetrial.parser.v1 import task_pb2
from firetrial.plan.v1 import plan_pb2
from firetrial.runner.v1 import events_pb2, run_pb2
from firetrial_judge.archive import Archive
from firetrial_judge.claims import Claim, Extraction, extract
from firetrial_judge.handlers import Handlers
from firetrial_judge.judgement import Judge, JudgeConfig, Spent
from firetrial_judge.judges import Judges
from firetrial_judge.judging import Judging, Standing
from firetrial_judge.kinds.by_kind import ByKind
from firetrial_judge.kinds.follow_up import Checker, FollowUps
from firetrial_judge.kinds.sealing import SealedRun, Sealing
from firetrial_judge.metrics import JudgeMetrics
from firetrial_judge.model_judge import clients
from firetrial_judge.records import JudgedRun, JudgementRecord
from firetrial_judge.rubric.grader import Grader
from firetrial_judge.servicer import JudgeServicer
from firetrial_judge.spending import Purses
from firetrial_judge.verdict import Ruling, Span, Verdict
from firetrial_kit import events
from firetrial_kit.bus import Consumer
from firetrial_kit.objects import GRANTS
from firetrial_kit.records import Records
from firetrial_kit.spending import Account
from firetrial_kit.testing import InMemoryBus, InMemoryObjects, InMemoryState, ManualClock

P = TypeVar("P", bound=Message)
TRUTH = "Accuracy falls as label noise increases. Larger k makes the classifier more robust."
CONCLUSION = "Accuracy falls as label noise increases. Training takes two hours on a laptop."


@dataclass
class WordJudge:
    """A judge simple enough to predict: a claim is entailed where its own words stand in the reference."""

    config: JudgeConfig = field(default_factory=lambda: JudgeConfig("words", "", "1"))
    quality: str = "for tests"
    extractions: list[str] = field(default_factory=list)
    rulings: list[str] = field(default_factory=list)
    error: Exception | None = None
    mute: bool = False

    async def claims(self, text: str) -> tuple[Extraction, Spent]:
        self.extractions.append(text)
        return extract(text), Spent(1, 10, 1)

    async def rule(self, claims: Sequence[Claim], reference: str) -> tuple[Sequence[Ruling], Spent]:
        self.rulings.append(reference)
        if self.error:
            raise self.error
        return [self._ruling(claim, reference) for claim in claims if not self.mute], Spent(1, 20, 2)

    def _ruling(self, claim: Claim, reference: str) -> Ruling:
        at = reference.find(claim.text)
        if at < 0:
            return Ruling(claim.id, Verdict.NEUTRAL, "not there")
        return Ruling(claim.id, Verdict.ENTAILED, "there", Span(at, at + len(claim.text)))


class World:
    """Everything that a judge needs, with one task that has a ground truth."""

    def __init__(self) -> None:
        self.bus = InMemoryBus()
        self.state = InMemoryState()
        self.clock = ManualClock()
        self.judge = WordJudge()
        self.everything = InMemoryObjects()
        self.objects = InMemoryObjects(GRANTS["judge"], sharing=self.everything)
        self.start()

    def start(
        self,
        offline: Judge | None = None,
        model: Callable[[str], Judge] | None = None,
        at_once: int = 1,
        standing: Standing | None = None,
        checker: Checker | None = None,
    ) -> None:
        """A new process over the same bus, state and store."""
        self.archive = Archive(self.objects)
        self.judgements = Records(self.state, "judgement", JudgementRecord)
        self.runs = Records(self.state, "judged_run", JudgedRun)
        judging = Judging(
            judges=Judges(offline or self.judge, model),
            archive=self.archive,
            judgements=self.judgements,
            runs=self.runs,
            bus=self.bus,
            clock=self.clock,
            metrics=JudgeMetrics(CollectorRegistry()),
            purses=Purses(Records(self.state, "budget", Account), self.clock),
            standing=standing,
        )
        self.sealing = Sealing(
            self.archive,
            self.objects,
            judging,
            Records(self.state, "sealed", SealedRun),
            self.bus,
            self.clock,
        )
        grader = Grader(self.objects, clients(None, AsyncExitStack()), self.clock)
        self.follow_ups = FollowUps(self.archive, self.objects, judging, grader, self.clock, checker, False)
        kinds = ByKind(self.archive, judging, self.sealing, self.follow_ups)
        self.servicer = JudgeServicer(judging, self.archive, self.judgements, self.runs, kinds)
        self.consumers = Handlers(kinds, structlog.get_logger()).consumers(at_once)
        self.consumer: Consumer = self.consumers[0]

    async def task(self, task_id: str = "noise-1", truth: str | None = TRUTH) -> None:
        """Store a task, with its ground truth unless that is None."""
        task = task_pb2.Task(id=task_id, question="How does noise act?", has_truth=truth is not None)
        if truth is not None:
            secret = task_pb2.GroundTruth(task_id=task_id, text=truth)
            ref = await self.put("truth", f"tasks/{task_id}/truth.json", MessageToJson(secret).encode())
            task.truth.CopyFrom(ref)
        data = MessageToJson(task, preserving_proto_field_name=True).encode()
        await self.put("runs", f"tasks/{task_id}/task.json", data)

    async def run(
        self, run_id: str = "r-1", conclusion: str | bytes = CONCLUSION, task_id: str = "noise-1"
    ) -> run_pb2.Run:
        """A run that has concluded."""
        data = conclusion.encode() if isinstance(conclusion, str) else conclusion
        ref = await self.put("runs", f"runs/{run_id}/conclusion.txt", data)
        run = run_pb2.Run(
            id=run_id,
            experiment_id="e-1",
            task_id=task_id,
            attempt=1,
            state=run_pb2.RUN_STATE_CONCLUDED,
            conclusion=ref,
        )
        result = MessageToJson(run, preserving_proto_field_name=True).encode()
        await self.put("runs", f"runs/{run_id}/result.json", result)
        return run

    async def finish(self, run: run_pb2.Run, judge: plan_pb2.JudgeConfig | None = None) -> None:
        """The runner's word that a run is over."""
        slip = plan_pb2.Slip(experiment_id="e-1", expected_runs=3, plan=plan_pb2.Plan(judge=judge))
        event = events_pb2.RunFinished(run=run, slip=slip)
        await self.bus.publish(events.fact("runner", run.id, event, clock=self.clock))

    async def deliver(self) -> list[str]:
        """Let the judge handle what is due."""
        return await self.bus.deliver(self.consumer)

    def told(self, name: str, type_: type[P]) -> list[P]:
        """The judge's facts of one name."""
        prefix = events.subject("judge", name, "x").removesuffix("x")
        return [type_.FromString(m.data) for m in self.bus.published if m.subject.startswith(prefix)]

    async def put(self, bucket: str, key: str, data: bytes) -> artifact_pb2.ArtifactRef:
        ref = await self.everything.put(bucket, key, data, "text/plain")
        return artifact_pb2.ArtifactRef(
            uri=ref.uri, sha256=ref.sha256, size=ref.size, media_type=ref.media_type
        )
