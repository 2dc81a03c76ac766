"""What a plan's gate asks, what is known of proposals, and what that means for a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from firetrial_kit.errors import Fault
from firetrial_runner.run import End, Outcome, Run, RunState, failed
from firetrial_runner.sandbox.port import Termination

MAX_FAULTS = 50


@dataclass(frozen=True, slots=True)
class Gate:
    """`proposals` by (agent, task), the task "" for each that is not named; `exempt` needs none.

    A low verdict stops a run from `min_confidence` on, 1 to 5.
    """

    mode: str
    min_confidence: int = 1
    proposals: Mapping[tuple[str, str], str] = field(default_factory=dict)
    exempt: str = ""

    def proposal(self, agent: str, task: str) -> str:
        """The id of the proposal of an agent for a task; "" where none is named."""
        return self.proposals.get((agent, task)) or self.proposals.get((agent, ""), "")

    def faults(self, agents: tuple[str, ...]) -> Iterator[Fault]:
        """What is wrong with its shape."""
        if not 1 <= self.min_confidence <= 5:
            told = str(self.min_confidence)
            yield Fault("plan.gate.min_confidence", told, "must be 1 to 5, or 0 for 1")
        for agent in dict.fromkeys(agent for agent, _ in self.proposals):
            if agent not in agents:
                yield Fault("plan.gate.proposals", agent, "must be one of plan.agents")

    def unnamed(self, agents: tuple[str, ...], tasks: tuple[str, ...]) -> Iterator[Fault]:
        """A fault for each agent and task that has no proposal."""
        for agent in agents:
            for task in tasks:
                if agent != self.exempt and not self.proposal(agent, task):
                    cure = (
                        f"must name a proposal of {agent} for {task}: hand it in by `firetrial proposals "
                        f"submit FILE --agent {agent} --task {task}`, and name the id that it gets"
                    )
                    yield Fault("plan.gate.proposals", f"{len(self.proposals)} proposals", cure)


@dataclass(frozen=True, slots=True)
class Opinion:
    """What was said of a proposal in one mode."""

    high: bool
    confidence: int
    rationale: str


@dataclass(frozen=True, slots=True)
class Proposal:
    """What has been told of a proposal. `failure` is why its latest attempt was not assessed."""

    id: str
    attempt: int = 0
    opinions: Mapping[str, Opinion] = field(default_factory=dict)
    failure: str = ""

    def submitted(self, attempt: int) -> Proposal | None:
        """Waiting for a further attempt; None where that is known."""
        return replace(self, attempt=attempt, failure="") if attempt > self.attempt else None

    def not_assessed(self, attempt: int, reason: str) -> Proposal | None:
        """An attempt failed; None where a later one is known, or it was assessed."""
        if attempt < self.attempt or self.opinions:
            return None
        return replace(self, attempt=attempt, failure=reason)

    def assessed(self, opinions: Mapping[str, Opinion]) -> Proposal:
        """With what was said."""
        return replace(self, opinions=dict(opinions), failure="")


@dataclass(frozen=True, slots=True)
class Ruling:
    """What a run may do: go (neither is set), wait for something, or end with an outcome for a reason."""

    waits_for: str = ""
    outcome: Outcome | None = None
    reason: str = ""


GO = Ruling()


def rule(gate: Gate, proposal: Proposal) -> Ruling:
    """What a proposal means for the runs that rest on it.

    Low stops them: the proposal is the agent's own work. That nobody could assess it says nothing about the
    agent.
    """
    opinion = proposal.opinions.get(gate.mode)
    if opinion is None and proposal.failure:
        cure = "submit it again, then start the runs anew"
        return refused(f"its proposal {proposal.id} could not be assessed: {proposal.failure}; {cure}")
    if opinion is None:
        return Ruling(f"its proposal {proposal.id} to be assessed")
    if opinion.high or opinion.confidence < gate.min_confidence:
        return GO
    how = f"{gate.mode} mode, confidence {opinion.confidence} of 5, proposal {proposal.id}"
    return Ruling(outcome=Outcome.AGENT_FAILED, reason=f"proposal judged low: {opinion.rationale} ({how})")


def refused(reason: str) -> Ruling:
    """The ruling for what is nobody's fault but ours, or the plan's."""
    return Ruling(outcome=Outcome.INFRA_FAILED, reason=reason)


def ended(run: Run, now: datetime, ruling: Ruling) -> Run | None:
    """The run ended by a ruling, before anything was started; None where it is not queued any more."""
    if ruling.outcome is None or run.state is not RunState.QUEUED:
        return None
    return failed(run, now, ruling.outcome, ruling.reason, end=End(Termination.GATE))
