"""Experiments beside each other: what keeps them from being compared, and how the agents they share differ.

Agents are the same where their names are, whatever version the hash behind the @ says; tasks are the same
only as the same version. As JSON it is `firetrial.comparison/1`: the dataclasses below.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from firetrial_analyzer.analysis import Judge
from firetrial_analyzer.paired import Comparison, compare, holm
from firetrial_analyzer.report import Report
from firetrial_analyzer.scores import AgentMean
from firetrial_analyzer.variance import Interval
from firetrial_analyzer.variation import RESAMPLING

SCHEMA: Literal["firetrial.comparison/1"] = "firetrial.comparison/1"
# A task's id ends with the hash of its content.
_HASH_LENGTH = 12
_NAMED = 5


@dataclass(frozen=True, slots=True)
class Entry:
    """One agent in one experiment; `score` is by the experiment's main measure."""

    agent: str
    f1: AgentMean
    interval: Interval | None
    usd: float | None
    score: AgentMean


@dataclass(frozen=True, slots=True)
class Side:
    """One experiment: what was run, who judged, and its agents by name."""

    experiment: str
    model: str
    judges: tuple[Judge, ...]
    ended_runs: int
    expected_runs: int
    tasks: tuple[str, ...]
    agents: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class TaskPair:
    """Mean score of one agent on one task here (`base`) and there (`other`); None where nothing counts."""

    task: str
    base: float | None
    other: float | None

    @property
    def difference(self) -> float | None:
        """Other minus base."""
        return None if self.base is None or self.other is None else self.other - self.base


@dataclass(frozen=True, slots=True)
class Match:
    """An agent of both: `comparison` is other (left) minus base (right) over the tasks that both have."""

    name: str
    base: Entry
    other: Entry
    comparison: Comparison
    tasks: tuple[TaskPair, ...]


@dataclass(frozen=True, slots=True)
class Against:
    """`caveats` say what cannot be compared and `notes` what differs on purpose, both for people.

    `only_base` and `only_other` are the names of agents without a counterpart.
    """

    side: Side
    caveats: tuple[str, ...]
    notes: tuple[str, ...]
    shared_tasks: tuple[str, ...]
    matches: tuple[Match, ...]
    only_base: tuple[str, ...]
    only_other: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Versus:
    """Every other experiment against the first; p-values are corrected over all of it (Holm)."""

    schema: Literal["firetrial.comparison/1"]
    base: Side
    others: tuple[Against, ...]


def versus(base: Report, others: Sequence[Report]) -> Versus:
    """The same reports give the same comparison."""
    found = [_against(base, other) for other in others]
    matches = [match for against in found for match in against.matches]
    adjusted = iter(holm([match.comparison.p_value for match in matches]))
    return Versus(
        SCHEMA,
        _side(base),
        tuple(
            replace(
                against,
                matches=tuple(
                    replace(match, comparison=replace(match.comparison, p_adjusted=next(adjusted)))
                    for match in against.matches
                ),
            )
            for against in found
        ),
    )


def _side(report: Report) -> Side:
    return Side(
        report.experiment, report.model, report.judges, report.ended_runs, report.expected_runs,
        tuple(task.id for task in report.tasks), tuple(_entries(report).values()),
    )  # fmt: skip


def _entries(report: Report) -> dict[str, Entry]:
    """Name → agent; of several versions in one experiment each keeps its whole id as its name."""
    short = [_name(agent.agent) for agent in report.agents]
    return {
        name if short.count(name) == 1 else agent.agent: Entry(
            agent.agent,
            agent.score.f1,
            agent.variation.interval if agent.variation else None,
            agent.cost.per_run.usd.mean if agent.cost else None,
            agent.score.main,
        )
        for name, agent in zip(short, report.agents, strict=True)
    }


def _name(agent: str) -> str:
    return agent.partition("@")[0]


def _against(base: Report, other: Report) -> Against:
    here, there = _entries(base), _entries(other)
    tasks = sorted({task.id for task in base.tasks} & {task.id for task in other.tasks})
    names = [name for name in here if name in there]
    return Against(
        _side(other),
        tuple(_caveats(base, other, tasks)),
        tuple(_notes(base, other, [(here[name], there[name]) for name in names])),
        tuple(tasks),
        tuple(_match(name, (base, here[name]), (other, there[name]), tasks) for name in names),
        tuple(name for name in here if name not in there),
        tuple(name for name in there if name not in here),
    )


def _match(name: str, base: tuple[Report, Entry], other: tuple[Report, Entry], tasks: Sequence[str]) -> Match:
    here, there = _means(*base), _means(*other)
    pairs = tuple(TaskPair(task, here.get(task), there.get(task)) for task in tasks)
    # "0" comes before "1": left is the other experiment, so that a gain is positive.
    samples = {
        "0": {pair.task: [pair.other] for pair in pairs if pair.other is not None},
        "1": {pair.task: [pair.base] for pair in pairs if pair.base is not None},
    }
    (comparison,) = compare(samples, RESAMPLING)
    named = replace(comparison, left=other[1].agent, right=base[1].agent)
    return Match(name, base[1], other[1], named, pairs)


def _means(report: Report, entry: Entry) -> dict[str, float | None]:
    return {score.task: score.score.mean for score in report.task_scores if score.agent == entry.agent}


def _caveats(base: Report, other: Report, shared: Sequence[str]) -> Iterable[str]:
    configs = [{judge.config_hash for judge in report.judges} for report in (base, other)]
    if configs[0] != configs[1]:
        yield (
            f"They were judged differently ({_judges(base)} here, {_judges(other)} there): a difference may "
            "be the judges’ and not the agents’."
        )
    ids = [{task.id for task in report.tasks} for report in (base, other)]
    changed = sorted({_slug(id_) for id_ in ids[0] - ids[1]} & {_slug(id_) for id_ in ids[1] - ids[0]})
    if changed:
        yield f"These tasks are other versions of the same and are not compared: {_listed(changed)}."
    for where, alone in (("here", ids[0] - ids[1]), ("there", ids[1] - ids[0])):
        if rest := sorted(id_ for id_ in alone if _slug(id_) not in changed):
            yield f"Only {where}: {_listed(rest)}."
    if not shared:
        yield "They share no task, so that no agent can be compared."
    for where, report in (("here", base), ("there", other)):
        if not report.complete:
            ended = f"{report.ended_runs} of {report.expected_runs}"
            yield f"The report {where} is preliminary: {ended} runs ended."


def _notes(base: Report, other: Report, matched: Iterable[tuple[Entry, Entry]]) -> Iterable[str]:
    if base.model != other.model:
        yield f"Agents’ model: {base.model or 'unknown'} here, {other.model or 'unknown'} there."
    versions = [_name(here.agent) for here, there in matched if here.agent != there.agent]
    if versions:
        yield f"Another version of the agent: {_listed(versions)}."


def _judges(report: Report) -> str:
    named = (
        f"{judge.backend} {judge.model}".strip() + f" {judge.config_hash[:8]}" for judge in report.judges
    )
    return ", ".join(named) or "nobody"


def _slug(task: str) -> str:
    slug, _, end = task.rpartition("-")
    return slug if slug and len(end) == _HASH_LENGTH else task


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")
