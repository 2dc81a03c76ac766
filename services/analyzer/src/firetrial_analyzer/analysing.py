"""From a run that has ended to what is known of it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, replace

from firetrial_analyzer.analysis import AnalysedRun, Judge, analyse, analyse_judged
from firetrial_analyzer.archive import Archive
from firetrial_analyzer.attributing.attributor import Attributor
from firetrial_analyzer.attributing.request import Case
from firetrial_analyzer.attributing.spending import Accounts
from firetrial_analyzer.attribution import Attribution, attribute, attribute_failure, without_model
from firetrial_analyzer.claims import Judgement
from firetrial_analyzer.integrity.checking import Check
from firetrial_analyzer.integrity.contact import Host
from firetrial_analyzer.integrity.findings import Finding, Integrity
from firetrial_analyzer.kinds import follow_up
from firetrial_analyzer.kinds.follow_up import HandedIn
from firetrial_analyzer.kinds.repository import MEASURE, Sealed, Spent
from firetrial_analyzer.kinds.repository_runs import RepositoryRuns
from firetrial_analyzer.outcomes import Outcome, RunOutcome
from firetrial_analyzer.taxonomy.catalogue import LATEST
from firetrial_analyzer.taxonomy.evidence import Evidence, Signal, asked_of, gather
from firetrial_analyzer.taxonomy.settle import settle
from firetrial_analyzer.trajectory import Trajectory
from firetrial_kit.errors import FiretrialError
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
    artifacts: ObjectRef | None = None
    hosts: tuple[Host, ...] = ()


@dataclass(frozen=True, slots=True)
class Material:
    """What an analysis looks at: the texts are empty where there is none.

    `check` has seen every step, also those that are not kept; there is none without a conclusion.
    `handed_in` is what a follow-up run handed in, whose paper is then the conclusion.
    """

    instruction: str
    conclusion: str
    trajectory: Trajectory
    check: Check | None = None
    handed_in: HandedIn | None = None

    def evidence(self) -> Evidence:
        return gather(
            self.trajectory.steps, self.conclusion, asked_of(self.instruction), whole=self.trajectory.whole
        )


class Analysing:
    """Loads what a run left and analyses it; beside what a model was paid for, nothing is stored here.

    An `attributor` is asked for what the signals leave open; `accounts` cap its cost. `repositories` looks
    into the steps of repository runs.
    """

    def __init__(
        self,
        archive: Archive,
        attributor: Attributor | None = None,
        accounts: Accounts | None = None,
        *,
        repositories: RepositoryRuns | None = None,
    ) -> None:
        self._archive = archive
        self._repositories = repositories
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
        attribution, integrity = await self._looked_into(run, left, judgement, no_model)
        integrity = _with_tampering(integrity, judgement.sealed)
        named = _named(attribution, id_, no_model)
        found = analyse_judged(run, judgement_id, judge, judgement, named, integrity=integrity)
        return await self._improved(found, judgement.sealed)

    async def unjudged(self, run: RunOutcome, left: Left, *, no_model: str = "") -> AnalysedRun:
        """A failure of the agent is attributed; one that was not its own says nothing about it.

        Raises as `judged` does.
        """
        if run.outcome is not Outcome.AGENT_FAILED:
            return analyse(run)
        id_ = self._id(run, left, "")
        if (kept := await self._kept(run, id_)) is not None:
            return kept
        attribution, integrity = await self._looked_into(run, left, None, no_model)
        return await self._improved(analyse(run, _named(attribution, id_, no_model), integrity), None)

    async def _improved(self, found: AnalysedRun, sealed: Sealed | None) -> AnalysedRun:
        """With what a repository run came to; as it is for a run of another kind."""
        known = await self._repositories.known(found.run.task) if self._repositories else None
        if known is None or self._repositories is None:
            return found
        run = replace(found.run, measure=MEASURE)
        spent = Spent(run.usage.tokens, run.usage.wall_seconds)
        improvement = await self._repositories.improvement(known, run.run_id, sealed, spent)
        return replace(found, run=run, improvement=improvement)

    async def integrity(self, run: RunOutcome, left: Left) -> Integrity | None:
        """What can be said of its integrity without a model; None where it concluded nothing.

        Raises what the store raises.
        """
        async with self._room(left):
            material = await self.material(run, left)
            settled = await asyncio.to_thread(lambda: settle(material.evidence()))
            return await self._integrity(material, left, settled.facts)

    async def material(self, run: RunOutcome, left: Left) -> Material:
        """What the run left, read."""
        told = await self._archive.briefing(run.task)
        conclusion = await self._archive.conclusion(left.conclusion) if left.conclusion else ""
        handed_in = await self._handed_in(left.artifacts) if told.follow_up and left.artifacts else None
        conclusion = (handed_in.paper if handed_in else "") or conclusion
        if not conclusion.strip():
            trajectory = await self._archive.trajectory(run.run_id)
            return Material(told.instruction, "", trajectory, handed_in=handed_in)
        check = Check(conclusion, told.instruction, paper=handed_in is not None)
        trajectory = await self._archive.trajectory(run.run_id, check.step)
        return Material(told.instruction, conclusion, trajectory, check, handed_in)

    async def _handed_in(self, artifacts: ObjectRef) -> HandedIn:
        try:
            async with self._archive.artifacts(artifacts) as archive:
                archive.seek(0)
                return await asyncio.to_thread(follow_up.read, archive)
        except FiretrialError as error:
            if error.retryable:
                raise
            return HandedIn(left_out=[f"the submission could not be read: {error.message}"])

    async def _looked_into(
        self, run: RunOutcome, left: Left, judgement: Judgement | None, no_model: str
    ) -> tuple[Attribution, Integrity | None]:
        async with self._room(left):
            material = await self.material(run, left)
            evidence = await asyncio.to_thread(material.evidence)
            settled = await asyncio.to_thread(settle, evidence)
            told = material.trajectory.left_out
            integrity = await self._integrity(material, left, settled.facts)
            known = (
                attribute(judgement, settled, told)
                if judgement
                else attribute_failure(run.run_id, settled, told)
            )
            if no_model or self._attributor is None:
                return known, integrity
            case = Case(material.instruction, material.conclusion, evidence, judgement, known)
            meter = self._accounts.meter(run.experiment) if self._accounts else None
            return await self._attributor.attribute(case, meter), integrity

    async def _integrity(self, material: Material, left: Left, facts: Sequence[Signal]) -> Integrity | None:
        """Of a run with a conclusion, once its steps were seen; the files that it left come last."""
        check = material.check
        if check is None:
            return None
        await asyncio.to_thread(check.end_of_steps)
        check.not_read(material.trajectory.lost)
        if material.handed_in is not None:
            check.code(material.handed_in.code)
            check.not_read(material.handed_in.left_out)
        elif left.artifacts:
            try:
                async with self._archive.artifacts(left.artifacts) as archive:
                    await asyncio.to_thread(check.tar, archive)
            except FiretrialError as error:
                if error.retryable:
                    raise
                check.not_read([f"the files that the run left could not be read: {error.message}"])
        return await asyncio.to_thread(check.result, facts, left.hosts)

    async def _kept(self, run: RunOutcome, id_: str) -> AnalysedRun | None:
        """The analysis as it was made before, of the same by the same means."""
        kept = await self._archive.find_analysis(run.run_id)
        if kept is None or kept.attribution is None or kept.attribution.id != id_:
            return None
        return replace(kept, run=replace(run, measure=kept.run.measure))

    def _id(self, run: RunOutcome, left: Left, judgement_id: str) -> str:
        conclusion = left.conclusion.sha256 if left.conclusion else ""
        how = self._attributor.identity if self._attributor else ""
        return digest(
            run.run_id, left.trajectory_chunks, conclusion, judgement_id, LATEST, _RULES, how, length=32
        )

    def _room(self, left: Left) -> AbstractAsyncContextManager[object]:
        return self._large if left.trajectory_chunks > _LARGE else nullcontext()


def _with_tampering(found: Integrity | None, sealed: Sealed | None) -> Integrity | None:
    """With what was tampered with in the run's steps and in its sealed test."""
    if sealed is None or not sealed.findings:
        return found
    known = found or Integrity((), (), complete=True)
    told = tuple(Finding("tampering", text) for text in sealed.findings)
    return replace(known, findings=(*known.findings, *told))


def _named(attribution: Attribution, id_: str, no_model: str) -> Attribution:
    if no_model:
        return without_model(attribution, no_model)
    return replace(attribution, id=id_)
