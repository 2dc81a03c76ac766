"""From a run that has ended to what is known of it."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass

from firetrial_analyzer.analysis import AnalysedRun, Judge, analyse, analyse_judged
from firetrial_analyzer.archive import Archive
from firetrial_analyzer.attribution import attribute, attribute_failure
from firetrial_analyzer.claims import Judgement
from firetrial_analyzer.outcomes import Outcome, RunOutcome
from firetrial_analyzer.taxonomy.evidence import Evidence, asked_of, gather
from firetrial_analyzer.taxonomy.settle import settle
from firetrial_analyzer.trajectory import Trajectory
from firetrial_kit.objects import ObjectRef

# Chunks of a trajectory, each up to 1 MiB, from which on only one such run is in memory at a time.
_LARGE = 8


@dataclass(frozen=True, slots=True)
class Left:
    """What a run left in the runs bucket: so many chunks, and a conclusion where it has one."""

    trajectory_chunks: int = 0
    conclusion: ObjectRef | None = None


@dataclass(frozen=True, slots=True)
class Material:
    """What an analysis looks at: the texts are empty where there is none."""

    instruction: str
    conclusion: str
    trajectory: Trajectory

    def evidence(self) -> Evidence:
        return gather(
            self.trajectory.steps,
            self.conclusion,
            asked_of(self.instruction),
            whole=self.trajectory.whole,
        )


class Analysing:
    """Loads what a run left and analyses it; nothing is stored here."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self._large = asyncio.Lock()

    async def judged(
        self, run: RunOutcome, left: Left, judgement_id: str, judge: Judge, judgement: Judgement
    ) -> AnalysedRun:
        """Raises INVALID for values out of range, and what the store raises."""
        async with self._room(left):
            material = await self.material(run, left)
            settled = await asyncio.to_thread(lambda: settle(material.evidence()))
            attribution = attribute(judgement, settled, material.trajectory.left_out)
        return analyse_judged(run, judgement_id, judge, judgement, attribution)

    async def unjudged(self, run: RunOutcome, left: Left) -> AnalysedRun:
        """A failure of the agent is attributed; one that was not its own says nothing about it."""
        if run.outcome is not Outcome.AGENT_FAILED:
            return analyse(run)
        async with self._room(left):
            material = await self.material(run, left)
            settled = await asyncio.to_thread(lambda: settle(material.evidence()))
        return analyse(run, attribute_failure(run.run_id, settled, material.trajectory.left_out))

    async def material(self, run: RunOutcome, left: Left) -> Material:
        return Material(
            await self._archive.instruction(run.task),
            await self._archive.conclusion(left.conclusion) if left.conclusion else "",
            await self._archive.trajectory(run.run_id),
        )

    def _room(self, left: Left) -> AbstractAsyncContextManager[object]:
        return self._large if left.trajectory_chunks > _LARGE else nullcontext()
