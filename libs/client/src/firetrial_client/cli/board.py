"""What is known of an experiment while it goes on."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from firetrial.runner.v1.run_pb2 import RUN_STATE_ENDED, Outcome, Run, RunState
from firetrial_client.cli.output import word
from firetrial_client.cli.text import safe

# In the order of a run's life.
ORDER = (
    "expected",
    "queued",
    "running",
    "concluded",
    "scored",
    "agent_failed",
    "infra_failed",
    "judge_failed",
    "cancelled",
)
ENDED = frozenset(ORDER[4:])


def state_of(run: Run) -> str:
    """One word of `ORDER` for a run: its outcome once it has ended, else its state."""
    if run.state == RUN_STATE_ENDED:
        return word(Outcome, run.outcome)
    return word(RunState, run.state)


@dataclass(slots=True)
class Board:
    """The latest attempt of each slot. `expected` is the number of slots, 0 while unknown."""

    experiment: str
    agents: list[str] = field(default_factory=list)
    expected: int = 0
    stage: str = "submitted"
    newest: str = ""
    _runs: dict[tuple[str, str, int], Run] = field(default_factory=dict)

    def update(self, run: Run) -> None:
        """Take in a run as it is now; an attempt that was superseded is only told of."""
        slot = (run.task_id, run.agent_id, run.repeat)
        known = self._runs.get(slot)
        if run.superseded:
            self.newest = safe(f"{_named(run)}: attempt {run.attempt} failed ({run.reason}), tried again")
            return
        if known is not None and known.attempt > run.attempt:
            return
        self._runs[slot] = run
        if run.agent_id not in self.agents:
            self.agents.append(run.agent_id)
        self.stage = "running"
        why = f" ({run.reason})" if run.reason else ""
        self.newest = safe(f"{_named(run)}: {state_of(run)}{why}")

    @property
    def runs(self) -> list[Run]:
        """By task, agent and repeat."""
        return [run for _, run in sorted(self._runs.items())]

    def counts(self, agent: str = "") -> dict[str, int]:
        """Slots by state or outcome, those that are not 0, in the order of a run's life."""
        runs = [run for run in list(self._runs.values()) if agent in ("", run.agent_id)]
        found = Counter(state_of(run) for run in runs)
        found["expected"] = max(self.total(agent) - len(runs), 0)
        return {name: found[name] for name in ORDER if found[name]}

    def total(self, agent: str = "") -> int:
        """Slots in all; those of one agent are its equal share."""
        if not agent:
            return max(self.expected, len(self._runs))
        mine = sum(run.agent_id == agent for run in list(self._runs.values()))
        return max(self.expected // max(len(self.agents), 1), mine)

    def ended(self, agent: str = "") -> int:
        """Slots that have ended."""
        return sum(number for name, number in self.counts(agent).items() if name in ENDED)

    def line(self) -> str:
        """The counts in one line: `7/20 ended · 9 queued · 2 running · 2 concluded · 7 scored`."""
        if not self.total():
            return self.stage
        counts = [f"{number} {name}" for name, number in self.counts().items()]
        return " · ".join([f"{self.ended()}/{self.total()} ended", *counts])


def _named(run: Run) -> str:
    return f"{run.agent_id} #{run.repeat} on {run.task_id}"
