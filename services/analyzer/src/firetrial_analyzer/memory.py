"""Whether an experiment's scores look remembered: older tasks against newer ones, and a closed-book probe.

The probe is an agent that answers from its model's memory, without experimenting. It is judged like any
other, so that its score on a task stands beside theirs; it says nothing about itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from firetrial_analyzer.contamination import Contamination, Rule, TaskPoint, contamination
from firetrial_analyzer.cutoffs import Cutoff, Published, side
from firetrial_analyzer.scores import TaskScore
from firetrial_analyzer.variance import DEFAULT, Resampling

UNRATED = "unrated"
_RULE = Rule()
DIFFICULTIES = ("easy", "medium", "hard", UNRATED)
_DATED = re.compile(r"[-@:](?:\d{4}-\d{2}-\d{2}|\d{8}|\d{4}|latest)$")
_AXES, _LEAST, _MOST = 3, 1, 3


@dataclass(frozen=True, slots=True)
class Origin:
    """What is known of a task's origin; `published` is None where nobody said."""

    difficulty: str = UNRATED
    published: Published | None = None


@dataclass(frozen=True, slots=True)
class AgentMemory:
    """The finding for one agent. `cutoff` is None where the table knows none for the model."""

    agent: str
    model: str
    cutoff: date | None
    finding: Contamination


@dataclass(frozen=True, slots=True)
class ProbeScore:
    """An agent's mean F1 on a task beside the probe's, each None where nothing counts, over so many runs."""

    task: str
    agent: str
    agent_f1: float | None
    probe_f1: float | None
    agent_runs: int
    probe_runs: int

    @property
    def gain(self) -> float | None:
        """What the agent found beyond what its model knew; None where either is unknown."""
        known = self.agent_f1 is not None and self.probe_f1 is not None
        return self.agent_f1 - self.probe_f1 if known else None  # type: ignore[operator]


@dataclass(frozen=True, slots=True)
class Memory:
    """Agents by name, probes by task and agent; no probes where the experiment ran none."""

    agents: tuple[AgentMemory, ...]
    probe: str
    probes: tuple[ProbeScore, ...]


def difficulty(axes: Sequence[int]) -> str:
    """Three axes from 1 to 3 → easy (sum 3 or 4), medium (5 or 6), hard (7 to 9); else unrated."""
    if len(axes) != _AXES or not all(_LEAST <= axis <= _MOST for axis in axes):
        return UNRATED
    return "easy" if sum(axes) <= 4 else "medium" if sum(axes) <= 6 else "hard"


def cutoff_of(model: str, cutoffs: Mapping[str, Cutoff]) -> date | None:
    """By the model's name without its provider, or without the date or "latest" at its end.

    A listed name speaks for no other model: gpt-5 does not for gpt-5-mini.
    """
    name = model.rsplit("/", 1)[-1].lower()
    days = {known.lower(): cutoff.day for known, cutoff in cutoffs.items()}
    return days.get(name, days.get(_DATED.sub("", name)))


def memory(
    scores: Iterable[TaskScore],
    tasks: Mapping[str, Origin],
    *,
    model: str,
    cutoffs: Mapping[str, Cutoff],
    probe: str = "",
    rule: Rule = _RULE,
    how: Resampling = DEFAULT,
) -> Memory:
    """The findings of one experiment, whose agents all use `model`. Tasks that nobody rated are a stratum."""
    known = sorted(scores, key=lambda score: (score.agent, score.task))
    day = cutoff_of(model, cutoffs)
    agents = sorted({score.agent for score in known} - {probe})
    return Memory(
        tuple(
            AgentMemory(agent, model, day, _finding(_points(known, agent, tasks, day), rule, how))
            for agent in agents
        ),
        probe,
        tuple(_probes(known, probe)),
    )


def _points(
    scores: Sequence[TaskScore], agent: str, tasks: Mapping[str, Origin], cutoff: date | None
) -> list[TaskPoint]:
    """The tasks of one agent that have a score."""
    points = []
    for score in scores:
        if score.agent == agent and score.f1.mean is not None:
            task = tasks.get(score.task, Origin())
            points.append(TaskPoint(score.task, task.difficulty, side(task.published, cutoff), score.f1.mean))
    return points


def _finding(points: Sequence[TaskPoint], rule: Rule, how: Resampling) -> Contamination:
    used = {point.difficulty for point in points}
    return contamination(points, [name for name in DIFFICULTIES if name in used], rule, how)


def _probes(scores: Sequence[TaskScore], probe: str) -> list[ProbeScore]:
    known = {score.task: score.f1 for score in scores if score.agent == probe}
    return [
        ProbeScore(
            score.task,
            score.agent,
            score.f1.mean,
            known[score.task].mean,
            score.f1.counted,
            known[score.task].counted,
        )
        for score in sorted(scores, key=lambda score: (score.task, score.agent))
        if score.agent != probe and score.task in known
    ]
