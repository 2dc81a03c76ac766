"""Judging a run or two texts, and keeping what came of it."""

from __future__ import annotations

from dataclasses import replace

from firetrial.judge.v1 import events_pb2, judgement_pb2
from firetrial.plan.v1 import plan_pb2
from firetrial.runner.v1 import run_pb2
from firetrial_judge import wire
from firetrial_judge.archive import Archive
from firetrial_judge.claims import Extraction
from firetrial_judge.judgement import Judge, Judgement, Spent, judge_texts, judgement_id, text_hash
from firetrial_judge.judges import Judges
from firetrial_judge.metrics import JudgeMetrics
from firetrial_judge.records import JudgedRun, JudgementRecord
from firetrial_judge.verdict import Verdict
from firetrial_kit import events
from firetrial_kit.bus import Bus
from firetrial_kit.clock import Clock
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.objects import ObjectRef
from firetrial_kit.records import Records

SERVICE = "judge"


class Judging:
    """The judge's work, whoever asks for it."""

    def __init__(
        self,
        *,
        judges: Judges,
        archive: Archive,
        judgements: Records[JudgementRecord],
        runs: Records[JudgedRun],
        bus: Bus,
        clock: Clock,
        metrics: JudgeMetrics,
    ) -> None:
        self._judges = judges
        self._archive = archive
        self._judgements = judgements
        self._runs = runs
        self._bus = bus
        self._clock = clock
        self._metrics = metrics

    async def run(self, run: run_pb2.Run, slip: plan_pb2.Slip) -> None:
        """Judge a run's conclusion against its task's ground truth: put, record, announce.

        Done before, it is only announced again. Raises PRECONDITION where there is nothing to judge or no
        judge to do it, and what the store and the model raise.
        """
        judge = self._judges.pick(*wire.config_to_domain(slip.plan.judge))
        if not run.HasField("conclusion"):
            raise FiretrialError(Reason.PRECONDITION, f"run {run.id} left no conclusion")
        conclusion = await self._archive.conclusion(run.conclusion)
        truth = await self._archive.ground_truth(run.task_id)
        id_ = judgement_id(run.id, conclusion, truth, judge.config)
        kept = await self._archive.find(id_)
        if kept is None:
            wired = await self._judged(judge, run, conclusion, truth)
            kept = wired, await self._archive.put(wired)
        await self._record(run.id, *kept)
        await self._announce(run, slip, *kept)

    async def fail(self, run: run_pb2.Run, slip: plan_pb2.Slip, reason: str) -> None:
        """Record and announce that a run will not be judged."""
        await self._set(JudgedRun(run.id, reason=reason))
        failed = events_pb2.RunJudgeFailed(run=run, slip=slip, reason=reason)
        await self._bus.publish(
            events.fact(SERVICE, "run_judge_failed", run.id, failed, clock=self._clock, attempt=run.attempt)
        )

    async def texts(
        self, conclusion: str, truth: str, config: plan_pb2.JudgeConfig
    ) -> judgement_pb2.Judgement:
        """Judge two texts; nothing is kept."""
        judge = self._judges.pick(*wire.config_to_domain(config))
        judgement = await self._timed(judge, "", conclusion, truth, None)
        return self._wired(judge, judgement, run_pb2.Run(), conclusion, truth)

    async def _judged(
        self, judge: Judge, run: run_pb2.Run, conclusion: str, truth: str
    ) -> judgement_pb2.Judgement:
        true, cost = await self._true_claims(judge, truth)
        if not true.claims:
            raise FiretrialError(
                Reason.PRECONDITION, f"the ground truth of task {run.task_id} holds no finding"
            )
        judgement = await self._timed(judge, run.id, conclusion, truth, true)
        _check_usable(judgement)
        judgement = replace(judgement, spent=judgement.spent + cost)
        return self._wired(judge, judgement, run, conclusion, truth)

    async def _true_claims(self, judge: Judge, truth: str) -> tuple[Extraction, Spent]:
        """The ground truth's claims: paid for once, then read."""
        key = text_hash(truth), judge.config.hash
        kept = await self._archive.claims(*key)
        if kept is not None:
            return kept, Spent()
        extraction, cost = await judge.claims(truth)
        await self._archive.keep_claims(*key, extraction)
        return extraction, cost

    async def _timed(
        self, judge: Judge, run_id: str, conclusion: str, truth: str, true: Extraction | None
    ) -> Judgement:
        with self._metrics.seconds.labels(judge.config.backend).time():
            judgement = await judge_texts(judge, run_id=run_id, conclusion=conclusion, truth=truth, true=true)
        self._metrics.count(judgement)
        return judgement

    def _wired(
        self, judge: Judge, judgement: Judgement, run: run_pb2.Run, conclusion: str, truth: str
    ) -> judgement_pb2.Judgement:
        return wire.judgement_to_wire(
            judgement,
            run_id=run.id,
            task_id=run.task_id,
            conclusion=conclusion,
            truth=truth,
            quality=judge.quality,
            at=self._clock.now(),
        )

    async def _record(self, run_id: str, judgement: judgement_pb2.Judgement, ref: ObjectRef) -> None:
        await self._judgements.create(judgement.id, JudgementRecord(judgement.id, run_id, ref))
        await self._set(JudgedRun(run_id, judgement_id=judgement.id))

    async def _set(self, record: JudgedRun) -> None:
        if not await self._runs.create(record.run_id, record):
            await self._runs.change(record.run_id, lambda _: record)

    async def _announce(
        self, run: run_pb2.Run, slip: plan_pb2.Slip, judgement: judgement_pb2.Judgement, ref: ObjectRef
    ) -> None:
        judged = events_pb2.RunJudged(
            run=run,
            slip=slip,
            judgement_id=judgement.id,
            judgement=wire.ref_to_wire(ref),
            scores=judgement.scores,
        )
        await self._bus.publish(
            events.fact(SERVICE, "run_judged", run.id, judged, clock=self._clock, attempt=run.attempt)
        )


def _check_usable(judgement: Judgement) -> None:
    """A side of which nothing could be scored measures nothing: the judge's failure, not the agent's."""
    for rulings in (judgement.agent_rulings, judgement.truth_rulings):
        if rulings and all(ruling.verdict is Verdict.UNSCORED for ruling in rulings):
            raise FiretrialError(Reason.PRECONDITION, "the judge gave no usable verdict on any claim")
