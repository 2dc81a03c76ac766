"""What the analyzer keeps about an experiment: which slots have ended, and the report over them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from firetrial_analyzer.analysis import AnalysedRun
from firetrial_analyzer.outcomes import Slot
from firetrial_kit.ids import digest
from firetrial_kit.objects import ObjectRef


@dataclass(frozen=True, slots=True)
class Plan:
    """What the routing slip says of the experiment."""

    expected_runs: int
    agents: tuple[str, ...]
    repeats: int
    model: str

    def slots(self, tasks: set[str]) -> tuple[Slot, ...]:
        """The planned slots of the tasks that are known by now."""
        return tuple(
            Slot(task, agent, repeat)
            for task in sorted(tasks)
            for agent in self.agents
            for repeat in range(1, self.repeats + 1)
        )


NO_PLAN = Plan(0, (), 0, "")


@dataclass(frozen=True, slots=True)
class Ended:
    """The attempt that a slot ended with, and the judgement that it was analysed with."""

    run_id: str
    attempt: int
    judgement_id: str


@dataclass(frozen=True, slots=True)
class ReportRecord:
    """State of an experiment's report; the slots of `ended` are hashed to keep the record small.

    `rendered` names the runs that the stored formats cover, and `renderings` counts how often that changed.
    """

    experiment_id: str
    changed_at: datetime
    plan: Plan = NO_PLAN
    ended: Mapping[str, Ended] = field(default_factory=dict)
    earlier: tuple[str, ...] = ()
    rendered: str = ""
    renderings: int = 0
    formats: Mapping[str, ObjectRef] = field(default_factory=dict)
    failure: str = ""

    @property
    def all_ended(self) -> bool:
        return 0 < self.plan.expected_runs <= len(self.ended)

    @property
    def complete(self) -> bool:
        """Whether every slot has ended and the stored report covers them all."""
        return self.all_ended and self.rendered == self.inputs

    @property
    def inputs(self) -> str:
        """Identity of the runs that have ended by now."""
        ended = sorted((slot, end.run_id, end.judgement_id) for slot, end in self.ended.items())
        return digest(ended, self.earlier, length=16)

    @property
    def run_ids(self) -> list[str]:
        return sorted({*(end.run_id for end in self.ended.values()), *self.earlier})

    def holds(self, item: AnalysedRun) -> bool:
        """Whether `item` is in already, or a later attempt of its slot is."""
        if item.run.superseded:
            return item.run.run_id in self.earlier
        known = self.ended.get(_key(item.run.slot))
        return known is not None and (known == _end(item) or known.attempt > item.run.attempt)

    def with_run(self, item: AnalysedRun, plan: Plan) -> ReportRecord:
        """The record after `item` has ended; the same twice changes nothing."""
        planned = replace(self, plan=plan if plan.expected_runs >= self.plan.expected_runs else self.plan)
        if self.holds(item):
            return planned
        if item.run.superseded:
            return replace(planned, earlier=tuple(sorted({*self.earlier, item.run.run_id})))
        return replace(planned, ended={**self.ended, _key(item.run.slot): _end(item)})

    def with_report(self, inputs: str, formats: Mapping[str, ObjectRef]) -> ReportRecord:
        """The record once `formats` cover the runs that `inputs` names."""
        if self.rendered == inputs:
            return self
        return replace(
            self, rendered=inputs, renderings=self.renderings + 1, formats=dict(formats), failure=""
        )


def _end(item: AnalysedRun) -> Ended:
    return Ended(item.run.run_id, item.run.attempt, item.judgement_id)


def _key(slot: Slot) -> str:
    return digest(*slot, length=12)
