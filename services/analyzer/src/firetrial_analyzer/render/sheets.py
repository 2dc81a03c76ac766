"""The report's tables in the shape that papers print them, for Markdown and LaTeX alike."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from firetrial_analyzer.distributions import Distribution, Spread
from firetrial_analyzer.improvements import MEAN, PROCESS, ImprovedTask
from firetrial_analyzer.kinds.validity import CONDITIONS, Held
from firetrial_analyzer.outcomes import F1
from firetrial_analyzer.render import text
from firetrial_analyzer.render.words import agent_names, cost, measured, named, remembered
from firetrial_analyzer.report import Report
from firetrial_analyzer.scores import AgentMean, Mean
from firetrial_analyzer.taxonomy.catalogue import load


@dataclass(frozen=True, slots=True)
class Cell:
    """`text` is plain; "±" stands between a mean and its spread."""

    text: str
    best: bool = False


@dataclass(frozen=True, slots=True)
class Sheet:
    """A table. The first column holds names, the others figures; `name` is a label for references."""

    name: str
    title: str
    note: str
    head: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    # The last so many rows stand apart: totals and averages.
    foot: int = 0


def sheets(report: Report) -> list[Sheet]:
    """Scores over all and by task, improvements, error types, kinds of false claims, contamination, cost."""
    makers = (
        overall, by_task, validity, improvement, performance, process, error_types, false_kinds,
        contamination, costs,
    )  # fmt: skip
    return [sheet for make in makers if (sheet := make(report)) is not None]


def overall(report: Report) -> Sheet:
    """Agents by score, and by precision and recall where claims are compared."""
    shown = ("precision", "recall", "main") if report.measure == F1 else ("main",)
    best = {name: _best(getattr(agent.score, name) for agent in report.agents) for name in shown}
    rows = [
        (
            Cell(name),
            *(_mean(getattr(agent.score, metric), top) for metric, top in best.items()),
            Cell(f"{agent.score.main.counted}/{agent.score.main.total}"),
        )
        for name, agent in zip(_names(report), report.agents, strict=True)
    ]
    spread = "over the task means" if len(report.tasks) > 1 else "over repeats"
    note = (
        f"Mean ± population standard deviation {spread}, points of 100. A failed agent counts as 0."
        f"{_caveat(report)}"
    )
    claims = ("Precision", "Recall") if report.measure == F1 else ()
    head = ("Agent", *claims, measured(report.measure), "Runs")
    return Sheet("overall", "Overall scores", note, head, tuple(rows))


def by_task(report: Report) -> Sheet | None:
    """Tasks by agents; the best of each task is marked, and the average of the main measure stands below."""
    if len(report.tasks) < 2 or not report.agents:
        return None
    cells = {(score.task, score.agent): score.score for score in report.task_scores}
    rows = []
    for task in report.tasks:
        means = [cells.get((task.id, agent.agent)) for agent in report.agents]
        best = _best(mean for mean in means if mean)
        rows.append((Cell(task.id), *(_mean(mean, best) if mean else Cell("–") for mean in means)))
    best = _best(agent.score.main for agent in report.agents)
    rows.append((Cell("Average"), *(_mean(agent.score.main, best) for agent in report.agents)))
    name = measured(report.measure)
    note = (
        f"{name}, mean ± population standard deviation over repeats, points of 100; "
        "the average’s is over tasks."
        f"{_caveat(report)}"
    )
    return Sheet("tasks", f"{name} by task and agent", note, ("Task", *_names(report)), tuple(rows), foot=1)


def improvement(report: Report) -> Sheet | None:
    """Agents and repository tasks by normalised improvement."""
    if report.improvements is None:
        return None
    rows = [
        (Cell(agent), Cell(row.task), Cell(_figure(row.best)), Cell(_figure(row.mean)), Cell(str(row.rounds)))
        for agent, row in _improved(report)
    ]
    head = ("Agent", "Task", "Best round", "Mean", "Rounds")
    note = "How far the sealed test lies above the baseline, as a share of what there was to gain."
    return Sheet("improvement", "Normalised improvement", note, head, tuple(rows))


def validity(report: Report) -> Sheet | None:
    """Agents by valid submissions, and by how the three conditions of follow-up tasks held."""
    if not report.validities:
        return None
    names = {agent.agent: name for agent, name in zip(report.agents, _names(report), strict=True)}
    rows = [
        (
            Cell(names.get(one.agent, one.agent)),
            Cell(f"{one.valid} of {one.counted}"),
            Cell(_figure(one.mean)),
            Cell(f"{one.counted} of {one.runs} runs"),
            *(cell for held in one.conditions for cell in (Cell(_figure(held.p)), Cell(_held(held)))),
        )
        for one in report.validities
    ]
    conditions = (part for name in CONDITIONS for part in (f"{name}: mean p", f"{name}: strict, almost"))
    told = ", ".join(f"{name} {meaning.lower()}" for name, meaning in CONDITIONS.items())
    note = (
        f"Valid is a submission with C1, C2 and C3 held strictly (p = 1); almost is p ≥ 0.9. {told}. "
        "The mean is (1/N) Σ V over the runs that count."
    )
    head = ("Agent", "Valid", "Mean of V", "Coverage", *conditions)
    return Sheet("validity", "Valid submissions", note, head, tuple(rows))


def _held(held: Held) -> str:
    return f"{held.strict}, {held.almost} of {held.known}"


def performance(report: Report) -> Sheet | None:
    """Agents and repository tasks by the metric itself."""
    if report.improvements is None:
        return None
    rows = [
        (
            Cell(agent), Cell(row.task), Cell(row.metric or ""), Cell(row.direction or ""),
            Cell(_figure(row.baseline_test)), Cell(_figure(row.test)), Cell(row.note),
        )
        for agent, row in _improved(report)
        if row.task != MEAN
    ]  # fmt: skip
    head = ("Agent", "Task", "Metric", "Better", "Baseline", "Test", "Note")
    note = "The best round’s test, and the baseline’s where it does not count."
    return Sheet("performance", "Raw performance", note, head, tuple(rows))


def process(report: Report) -> Sheet | None:
    """Agents and repository tasks by how the steps went."""
    if report.improvements is None:
        return None
    rows = [
        (Cell(agent), Cell(row.task), *(Cell(_figure((row.process or {}).get(name))) for name in PROCESS))
        for agent, row in _improved(report)
    ]
    note = "Means over rounds. Distances are between embeddings of the code of each step."
    return Sheet("process", "How the steps went", note, ("Agent", "Task", *PROCESS), tuple(rows))


def _improved(report: Report) -> list[tuple[str, ImprovedTask]]:
    rows = report.improvements.rows if report.improvements else ()
    rank = {agent.agent: place for place, agent in enumerate(report.agents)}
    names = {agent.agent: name for agent, name in zip(report.agents, _names(report), strict=True)}
    ordered = sorted(rows, key=lambda row: rank.get(row.agent, len(rank)))
    return [(names.get(row.agent, row.agent), row) for row in ordered]


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.4g}"


def error_types(report: Report) -> Sheet | None:
    """Error types by agents, percent of the missed claims whose cause is settled."""
    if report.errors is None or not any(found.total for found in report.errors.types.agents):
        return None
    rows = _shares(report, report.errors.types, [leaf.id for leaf in load().error_types])
    agents = _ranked(report, report.errors.types)
    counted = (Cell("Settled claims"), *(Cell(text.count(found.total)) for found in agents))
    unsettled = (Cell("Not settled"), *(Cell(text.count(found.unsettled)) for found in agents))
    note = "Percent of each agent’s missed claims with a settled cause."
    head = ("Error type", *agent_names([found.agent for found in agents]))
    return Sheet("errors", "Why claims were missed", note, head, (*rows, counted, unsettled), foot=2)


def false_kinds(report: Report) -> Sheet | None:
    """Kinds by agents, percent of the false claims."""
    if report.errors is None or not any(found.total for found in report.errors.kinds.agents):
        return None
    rows = _shares(report, report.errors.kinds, [kind.id for kind in load().false_positive_kinds])
    agents = _ranked(report, report.errors.kinds)
    counted = (Cell("False claims"), *(Cell(text.count(found.total)) for found in agents))
    head = ("Kind", *agent_names([found.agent for found in agents]))
    note = "Percent of each agent’s false claims."
    return Sheet("false", "Kinds of false claims", note, head, (*rows, counted), foot=1)


def contamination(report: Report) -> Sheet | None:
    """Agents and difficulties, before and after the cutoff."""
    if report.memory is None or not any(agent.finding.strata for agent in report.memory.agents):
        return None
    ids = [agent.agent for agent in report.memory.agents]
    names = dict(zip(ids, agent_names(ids), strict=True))
    rows = [
        (
            Cell(names[agent.agent]),
            Cell(stratum.difficulty),
            Cell(f"{text.values(stratum.before)} ({stratum.before.n})"),
            Cell(f"{text.values(stratum.after)} ({stratum.after.n})"),
            Cell(text.difference(stratum.effect)),
            Cell(remembered(agent.finding.verdict)),
        )
        for agent in report.memory.agents
        for stratum in agent.finding.strata
    ]
    head = ("Agent", "Difficulty", "Before (n)", "After (n)", "Before − after", "Verdict")
    note = "F1 on tasks published before and after the model’s knowledge cutoff, points of 100."
    return Sheet("contamination", "Contamination", note, head, tuple(rows))


def costs(report: Report) -> Sheet | None:
    """Agents by what a run costs and takes."""
    points = {placed.offer.agent: placed.usd_per_point for placed in report.front.agents}
    rows = [
        (
            Cell(name),
            Cell(cost(agent)),
            Cell(text.usd(points.get(agent.agent))),
            Cell(text.usd(agent.cost.spent.usd.total)),
            Cell(text.count(agent.cost.per_run.tokens.mean)),
            Cell(text.seconds(agent.cost.per_run.wall_seconds.mean)),
        )
        for name, agent in zip(_names(report), report.agents, strict=True)
        if agent.cost
    ]
    head = ("Agent", "USD a run", "USD a point", "USD in all", "Tokens a run", "Wall time a run")
    note = "Means over the runs that count, sums over every attempt; what is not known is never taken for 0."
    return Sheet("cost", "Cost and speed", note, head, tuple(rows)) if rows else None


def _names(report: Report) -> list[str]:
    return agent_names([agent.agent for agent in report.agents])


def _caveat(report: Report) -> str:
    if any(judge.offline for judge in report.judges):
        return " Offline judge: a demonstration, not a benchmark score."
    return "" if report.calibrated or not report.judges else " The judge is not calibrated."


def _best(means: Iterable[Mean | AgentMean]) -> float | None:
    """The highest, where there are several."""
    known = [mean.mean for mean in means if mean.mean is not None]
    return max(known) if len(known) > 1 else None


def _mean(mean: Mean | AgentMean, best: float | None) -> Cell:
    return Cell(text.mean_and_spread(mean), best is not None and mean.mean == best)


def _ranked(report: Report, spread: Spread) -> list[Distribution]:
    rank = {agent.agent: place for place, agent in enumerate(report.agents)}
    return sorted(spread.agents, key=lambda found: rank.get(found.agent, len(rank)))


def _shares(report: Report, spread: Spread, ids: Sequence[str]) -> list[tuple[Cell, ...]]:
    """A row for each category that occurs, its highest share marked."""
    rows = []
    for id_ in ids:
        shares = [share for found in _ranked(report, spread) for share in found.shares if share.id == id_]
        if any(share.count for share in shares):
            rows.append((Cell(named(id_)), *(Cell(_percent(share.share)) for share in shares)))
    return rows


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.1f}"
