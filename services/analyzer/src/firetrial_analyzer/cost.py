"""What runs cost: time, memory, tokens, money. Unknown stays unknown and is counted."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from firetrial_analyzer.outcomes import USAGE_FIELDS, RunOutcome, check, latest_attempts
from firetrial_analyzer.scores import Mean, Values, existing, mean_of
from firetrial_analyzer.variance import total

# A field of `Usage` → what each run used, None where that is not known.
Figures = Mapping[str, Values]


@dataclass(frozen=True, slots=True)
class Amount:
    """A sum over every attempt, since a failed one is paid for too. None if no attempt knows the figure."""

    total: float | None
    known: int
    unknown: int


@dataclass(frozen=True, slots=True)
class Spent:
    """Sums over all attempts, in the units of `Usage`. `max_rss_bytes` is the largest seen, not a sum."""

    wall_seconds: Amount
    cpu_seconds: Amount
    max_rss_bytes: Amount
    tokens: Amount
    usd: Amount
    gpu_seconds: Amount
    cached_tokens: Amount
    prompt_tokens: Amount
    completion_tokens: Amount
    model_calls: Amount
    unpriced_calls: Amount


@dataclass(frozen=True, slots=True)
class PerRun:
    """Mean and std over the runs that enter the agent's score; coverage counts the known figures."""

    wall_seconds: Mean
    cpu_seconds: Mean
    max_rss_bytes: Mean
    tokens: Mean
    usd: Mean
    gpu_seconds: Mean
    cached_tokens: Mean
    prompt_tokens: Mean
    completion_tokens: Mean
    model_calls: Mean
    unpriced_calls: Mean


@dataclass(frozen=True, slots=True)
class AgentCost:
    agent: str
    attempts: int
    spent: Spent
    per_run: PerRun


@dataclass(frozen=True, slots=True)
class TaskCost:
    """What one agent used on one task: mean and std over the runs that enter its score there."""

    task: str
    agent: str
    per_run: PerRun


def task_costs(runs: Sequence[RunOutcome]) -> tuple[TaskCost, ...]:
    """Cost per task and agent, ordered by both. Raises INVALID (see `outcomes.check`)."""
    check(runs)
    counted = [run for run in latest_attempts(runs) if run.outcome.counts]
    cells = sorted({(run.task, run.agent) for run in counted})
    return tuple(
        from_cell(task, agent, _figures([run for run in counted if (run.task, run.agent) == (task, agent)]))
        for task, agent in cells
    )


def from_cell(task: str, agent: str, figures: Figures) -> TaskCost:
    """From the figures of the runs of one task and agent that enter the score."""
    return TaskCost(task, agent, PerRun(**{name: mean_of(figures[name]) for name in USAGE_FIELDS}))


def costs(runs: Sequence[RunOutcome]) -> tuple[AgentCost, ...]:
    """Cost per agent, ordered by agent. Raises INVALID (see `outcomes.check`)."""
    check(runs)
    attempts = list(dict.fromkeys(runs))
    return tuple(
        _cost(agent, [run for run in attempts if run.agent == agent])
        for agent in sorted({run.agent for run in attempts})
    )


def _cost(agent: str, attempts: Sequence[RunOutcome]) -> AgentCost:
    counted = [run for run in latest_attempts(attempts) if run.outcome.counts]
    return from_figures(agent, len(attempts), _figures(attempts), _figures(counted))


def _figures(runs: Sequence[RunOutcome]) -> Figures:
    return {name: [getattr(run.usage, name) for run in runs] for name in USAGE_FIELDS}


def from_figures(agent: str, attempts: int, of_all: Figures, of_counted: Figures) -> AgentCost:
    """The agent's cost from the figures of all its attempts and of the runs that enter its score."""
    spent = {name: _amount(name, of_all[name]) for name in USAGE_FIELDS}
    per_run = {name: mean_of(of_counted[name]) for name in USAGE_FIELDS}
    return AgentCost(agent, attempts, Spent(**spent), PerRun(**per_run))


def _amount(name: str, figures: Values) -> Amount:
    known = existing(figures)
    unknown = len(figures) - len(known)
    if len(known) == 0:
        return Amount(None, 0, unknown)
    return Amount(float(known.max()) if name == "max_rss_bytes" else total(known), len(known), unknown)
