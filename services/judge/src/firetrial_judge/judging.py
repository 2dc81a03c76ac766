"""Judging a run or two texts, and keeping what came of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

from firetrial.judge.v1 import events_pb2, judgement_pb2
from firetrial.plan.v1 import plan_pb2
from firetrial.runner.v1 import run_pb2
from firetrial_judge import wire
from firetrial_judge.archive import Archive
from firetrial_judge.claims import Extraction
from firetrial_judge.judge import Convention, JudgeConfig
from firetrial_judge.judgement import Judgement, judge_texts, judgement_id, text_hash
from firetrial_judge.judges import Judges
from firetrial_judge.metrics import JudgeMetrics
from firetrial_judge.panel import Panel
from firetrial_judge.records import JudgedRun, JudgementRecord
from firetrial_judge.spending import Purses
from firetrial_judge.verdict import Verdict
from firetrial_kit import events
from firetrial_kit.asking import Spent
from firetrial_kit.bus import Bus
from firetrial_kit.clock import Clock
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.ids import digest
from firetrial_kit.objects import ObjectRef
from firetrial_kit.once import Turns
from firetrial_kit.records import Records
from firetrial_kit.references import ref_to_wire

SERVICE = "judge"
# The calibration that speaks for a judge, and how it drifted from what was calibrated last; empty for none.
Standing = Callable[[JudgeConfig], Awaitable[tuple[str, str]]]


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
        purses: Purses,
        standing: Standing | None = None,
    ) -> None:
        self._judges = judges
        self._archive = archive
        self._judgements = judgements
        self._runs = runs
        self._bus = bus
        self._clock = clock
        self._metrics = metrics
        self._purses = purses
        self._standing = standing
        self._turns = Turns()

    async def run(self, run: run_pb2.Run, slip: plan_pb2.Slip) -> None:
        """Judge a run's conclusion against its task's ground truth: put, record, announce.

        Done before, it is only announced again. Raises PRECONDITION where there is nothing to judge, no
        judge to do it or no money left, and what the store and the model raise.
        """
        kept = await self._kept(run, slip.plan.judge)
        await self._set(JudgedRun(run.id, judgement_id=kept[0].id))
        await self._announce(run, slip, *kept)

    async def again(self, run_id: str, config: plan_pb2.JudgeConfig) -> judgement_pb2.Judgement:
        """Judge a concluded run under another configuration; nothing is announced, its own judgement stays.

        Raises as `run` does, and NOT_FOUND for a run that has not ended or does not exist.
        """
        return (await self._kept(await self._archive.run(run_id), config))[0]

    async def keep(self, run: run_pb2.Run, slip: plan_pb2.Slip, judgement: judgement_pb2.Judgement) -> None:
        """Keep a judgement of a run that another kind of judging made, and announce it as the run's own."""
        kept = await self.shelve(run, judgement)
        await self._set(JudgedRun(run.id, judgement_id=judgement.id))
        await self._announce(run, slip, *kept)

    async def shelve(
        self, run: run_pb2.Run, judgement: judgement_pb2.Judgement
    ) -> tuple[judgement_pb2.Judgement, ObjectRef]:
        """Keep a judgement that is not the run's own; gives it and where it lies.

        One that was kept under its id before stays, and is given: others know it by its hash.
        """
        async with self._turns.of(judgement.id):
            kept = await self._archive.find(judgement.id)
            if kept is None:
                kept = judgement, await self._archive.put(judgement)
        await self._record(run, *kept)
        return kept

    async def fail(self, run: run_pb2.Run, slip: plan_pb2.Slip, reason: str) -> None:
        """Record and announce that a run will not be judged."""
        await self._set(JudgedRun(run.id, reason=reason))
        failed = events_pb2.RunJudgeFailed(run=run, slip=slip, reason=reason)
        await self._bus.publish(events.fact(SERVICE, run.id, failed, clock=self._clock, attempt=run.attempt))

    async def texts(
        self, conclusion: str, truth: str, config: plan_pb2.JudgeConfig
    ) -> judgement_pb2.Judgement:
        """Judge two texts; nothing is kept but what was paid for."""
        panel = self._seat(config, "")
        judgement = await self._timed(panel, "", conclusion, truth, None)
        return await self._wired(panel, judgement, run_pb2.Run(), conclusion, truth)

    async def _kept(
        self, run: run_pb2.Run, config: plan_pb2.JudgeConfig
    ) -> tuple[judgement_pb2.Judgement, ObjectRef]:
        """The run's judgement under a configuration, made before or made now, and where it lies."""
        panel = self._seat(config, run.experiment_id)
        if not run.HasField("conclusion"):
            raise FiretrialError(Reason.PRECONDITION, f"run {run.id} left no conclusion")
        conclusion = await self._archive.conclusion(run.conclusion)
        truth = await self._archive.ground_truth(run.task_id)
        id_ = judgement_id(run.id, conclusion, truth, panel.config)
        async with self._turns.of(id_):
            kept = await self._archive.find(id_)
            if kept is None:
                wired = await self._judged(panel, run, conclusion, truth)
                kept = wired, await self._archive.put(wired)
        await self._record(run, *kept)
        return kept

    async def _record(self, run: run_pb2.Run, judgement: judgement_pb2.Judgement, ref: ObjectRef) -> None:
        """Note where a judgement lies; also where another process put its own there at the same time."""
        record = JudgementRecord(judgement.id, run.id, ref, run.experiment_id)
        if not await self._judgements.create(judgement.id, record):
            await self._judgements.change(judgement.id, lambda known: replace(known, ref=ref))

    def _seat(self, config: plan_pb2.JudgeConfig, experiment_id: str) -> Panel:
        spec = wire.spec_to_domain(config)
        cap = spec.max_cost_usd
        return self._judges.seat(spec, None if cap is None else self._purses.of(experiment_id, cap))

    async def _judged(
        self, panel: Panel, run: run_pb2.Run, conclusion: str, truth: str
    ) -> judgement_pb2.Judgement:
        true, cost = await self._true_claims(panel, truth)
        if not true.claims and panel.config.convention is Convention.UNDEFINED:
            raise FiretrialError(
                Reason.PRECONDITION, f"the ground truth of task {run.task_id} holds no finding"
            )
        judgement = await self._timed(panel, run.id, conclusion, truth, true)
        _check_usable(judgement)
        judgement = replace(judgement, spent=judgement.spent + cost)
        return await self._wired(panel, judgement, run, conclusion, truth)

    async def _true_claims(self, panel: Panel, truth: str) -> tuple[Extraction, Spent]:
        """The ground truth's claims: paid for once, then read, however many runs want them at once."""
        key = text_hash(truth), panel.config.hash
        async with self._turns.of(digest(*key)):
            kept = await self._archive.claims(*key)
            if kept is not None:
                return kept, Spent()
            extraction, cost = await panel.claims(truth)
            await self._archive.keep_claims(*key, extraction)
            return extraction, cost

    async def _timed(
        self, panel: Panel, run_id: str, conclusion: str, truth: str, true: Extraction | None
    ) -> Judgement:
        with self._metrics.seconds.labels(panel.config.backend).time():
            judgement = await judge_texts(panel, run_id=run_id, conclusion=conclusion, truth=truth, true=true)
        self._metrics.count(judgement)
        return judgement

    async def _wired(
        self, panel: Panel, judgement: Judgement, run: run_pb2.Run, conclusion: str, truth: str
    ) -> judgement_pb2.Judgement:
        wired = wire.judgement_to_wire(
            judgement,
            run_id=run.id,
            task_id=run.task_id,
            conclusion=conclusion,
            truth=truth,
            quality=panel.quality,
            at=self._clock.now(),
        )
        if self._standing:
            wired.calibration_id, drift = await self._standing(panel.config)
            if drift:
                wired.flags.append("judge_drift")
                wired.notes.append(drift)
        return wired

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
            judgement=ref_to_wire(ref),
            scores=judgement.scores,
        )
        await self._bus.publish(events.fact(SERVICE, run.id, judged, clock=self._clock, attempt=run.attempt))


def _check_usable(judgement: Judgement) -> None:
    """A side of which nothing could be scored measures nothing: the judge's failure, not the agent's."""
    for rulings in (judgement.agent_rulings, judgement.truth_rulings):
        if rulings and all(ruling.verdict is Verdict.UNSCORED for ruling in rulings):
            raise FiretrialError(Reason.PRECONDITION, "the judge gave no usable verdict on any claim")
