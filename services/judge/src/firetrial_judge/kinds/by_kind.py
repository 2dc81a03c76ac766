"""Which way a finished run goes, by the kind of its task."""

from __future__ import annotations

from dataclasses import dataclass

from firetrial.judge.v1 import judgement_pb2
from firetrial.parser.v1 import task_pb2
from firetrial.plan.v1 import plan_pb2
from firetrial.runner.v1 import run_pb2
from firetrial_judge.archive import Archive
from firetrial_judge.judging import Judging
from firetrial_judge.kinds.follow_up import FollowUps
from firetrial_judge.kinds.sealing import Sealing
from firetrial_kit.errors import FiretrialError, Reason


@dataclass(frozen=True, slots=True)
class ByKind:
    archive: Archive
    judging: Judging
    sealing: Sealing
    follow_ups: FollowUps

    async def judge(self, run: run_pb2.Run, slip: plan_pb2.Slip) -> None:
        """Judge a run that has concluded, or begin to. Raises as the kind's own way does."""
        task = await self.archive.task(run.task_id)
        if task.kind == task_pb2.TASK_KIND_REPOSITORY:
            await self.sealing.begin(run, slip, task)
        elif task.kind == task_pb2.TASK_KIND_FOLLOW_UP:
            await self.follow_ups.judge(run, slip, task)
        else:
            await self.judging.run(run, slip)

    async def fail(self, run: run_pb2.Run, slip: plan_pb2.Slip, why: str) -> None:
        """Announce that a run will not be judged, and leave nothing of it behind."""
        await self.judging.fail(run, slip, why)
        await self.sealing.forget(run.id)

    async def again(self, run_id: str, config: plan_pb2.JudgeConfig) -> judgement_pb2.Judgement:
        """Judge a concluded run under another configuration; nothing is announced, its own judgement stays.

        Raises NOT_FOUND for a run that has not ended or does not exist, PRECONDITION for one that a sealed
        test measured, and what the kind's own way raises.
        """
        run = await self.archive.run(run_id)
        task = await self.archive.task(run.task_id)
        if task.kind == task_pb2.TASK_KIND_REPOSITORY:
            told = (
                f"run {run_id} was measured by its task's sealed test, which no judge's configuration changes"
            )
            raise FiretrialError(Reason.PRECONDITION, told)
        if task.kind == task_pb2.TASK_KIND_FOLLOW_UP:
            judgement = await self.follow_ups.judgement(run, config, task)
            return (await self.judging.shelve(run, judgement))[0]
        return await self.judging.again(run_id, config)
