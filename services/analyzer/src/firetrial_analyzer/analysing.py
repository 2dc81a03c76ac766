"""From a run that has ended to what is known of it."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, replace

from firetrial_analyzer.analysis import AnalysedRun, Judge, analyse, analyse_judged
from firetrial_analyzer.archive import Archive
from firetrial_analyzer.attributing.attributor import Attributor
from firetrial_analyzer.attributing.request import Case
from firetrial_analyzer.attributing.spending import Accounts
from firetrial_analyzer.attribution import Attribution, attribute, attribute_failure
from firetrial_analyzer.claims import Judgement
from firetrial_analyzer.outcomes import Outcome, RunOutcome
from firetrial_analyzer.taxonomy.catalogue import LATEST
from firetrial_analyzer.taxonomy.evidence import Evidence, asked_of, gather
from firetrial_analyzer.taxonomy.settle import settle
from firetrial_analyzer.trajectory import Trajectory
from firetrial_kit.ids import digest
from firetrial_kit.objects import ObjectRef

# Rises with each change of the rules that can change an attribution.
_RULES = 1
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
            self.trajectory.steps, self.conclusion, asked_of(self.instruction), whole=self.trajectory.whole
        )


class Analysing:
    """Loads what a run left and analyses it; beside what a model was paid for, nothing is stored here.

    An `attributor` is asked for what the signals leave open; `accounts` cap its cost.
    """

    def __init__(
        self, archive: Archive, attributor: Attributor | None = None, accounts: Accounts | None = None
    ) -> None:
        self._archive = archive
        self._attributor = attributor
        self._accounts = accounts
        self._large = asyncio.Lock()

    async def judged(
        self,
        run: RunOutcome,
        left: Left,
        judgement_id: str,
        judge: Judge,
        judgement: Judgement,
        *,
        no_model: str = "",
    ) -> AnalysedRun:
        """Of a judged run; `no_model` says why the model is not asked, where it is not to be.

        Raises INVALID for values out of range, UpstreamUnavailable, and what the store raises.
        """
        id_ = self._id(run, left, judgement_id)
        if (kept := await self._kept(run, id_)) is not None:
            return kept
        attribution = await self._attribution(run, left, judgement, no_model)
        return analyse_judged(run, judgement_id, judge, judgement, _named(attribution, id_, no_model))

    async def unjudged(self, run: RunOutcome, left: Left, *, no_model: str = "") -> AnalysedRun:
        """A failure of the agent is attributed; one that was not its own says nothing about it.

        Raises as `judged` does.
        """
        if run.outcome is not Outcome.AGENT_FAILED:
            return analyse(run)
        id_ = self._id(run, left, "")
        if (kept := await self._kept(run, id_)) is not None:
            return kept
        return analyse(run, _named(await self._attribution(run, left, None, no_model), id_, no_model))

    async def material(self, run: RunOutcome, left: Left) -> Material:
        """What the run left, read."""
        return Material(
            await self._archive.instruction(run.task),
            await self._archive.conclusion(left.conclusion) if left.conclusion else "",
            await self._archive.trajectory(run.run_id),
        )

    async def _attribution(
        self, run: RunOutcome, left: Left, judgement: Judgement | None, no_model: str
    ) -> Attribution:
        async with self._room(left):
            material = await self.material(run, left)
            evidence = await asyncio.to_thread(material.evidence)
            settled = await asyncio.to_thread(settle, evidence)
            told = material.trajectory.left_out
            known = (
                attribute(judgement, settled, told)
                if judgement
                else attribute_failure(run.run_id, settled, told)
            )
            if no_model or self._attributor is None:
                return known
            case = Case(material.instruction, material.conclusion, evidence, judgement, known)
            meter = self._accounts.meter(run.experiment) if self._accounts else None
            return await self._attributor.attribute(case, meter)

    async def _kept(self, run: RunOutcome, id_: str) -> AnalysedRun | None:
        """The analysis as it was made before, of the same by the same means."""
        kept = await self._archive.find_analysis(run.run_id)
        if kept is None or kept.attribution is None or kept.attribution.id != id_:
            return None
        return replace(kept, run=run)

    def _id(self, run: RunOutcome, left: Left, judgement_id: str) -> str:
        conclusion = left.conclusion.sha256 if left.conclusion else ""
        how = self._attributor.identity if self._attributor else ""
        return digest(
            run.run_id, left.trajectory_chunks, conclusion, judgement_id, LATEST, _RULES, how, length=32
        )

    def _room(self, left: Left) -> AbstractAsyncContextManager[object]:
        return self._large if left.trajectory_chunks > _LARGE else nullcontext()


def _named(attribution: Attribution, id_: str, no_model: str) -> Attribution:
    if no_model:
        return replace(attribution, notes=(*attribution.notes, f"no model has attributed: {no_model}"))
    return replace(attribution, id=id_)
