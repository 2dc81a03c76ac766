"""The report as one HTML file that needs nothing else: what is essential reads without its script, too."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from itertools import groupby

from firetrial_analyzer.analysis import AnalysedRun, Judge
from firetrial_analyzer.claims import Verdict
from firetrial_analyzer.distributions import Distribution, Share
from firetrial_analyzer.memory import Memory, ProbeScore
from firetrial_analyzer.outcomes import F1, Outcome
from firetrial_analyzer.paired import Comparison, Needed
from firetrial_analyzer.render import plots
from firetrial_analyzer.render.drawing import Plot
from firetrial_analyzer.render.nodes import Node, data
from firetrial_analyzer.render.packing import packed
from firetrial_analyzer.render.run_view import run_view
from firetrial_analyzer.render.sheets import improvement, performance, process, validity
from firetrial_analyzer.render.shell import page
from firetrial_analyzer.render.words import agent_names, measured, methods, named, title
from firetrial_analyzer.report import ClaimCounts, Report
from firetrial_analyzer.taxonomy.catalogue import Taxonomy, load
from firetrial_analyzer.variance import Interval
from firetrial_analyzer.variation import PASS_RUNS, PASS_THRESHOLD

# Up to so many runs stand in the page as they are; more are packed, and unpacked when they are opened.
_OPEN_RUNS = 12
_RUNS_A_BLOCK = 24
_ANCHOR = re.compile(r"[A-Za-z0-9_-]+")


def html(report: Report) -> str:
    """The page; the same report gives the same bytes."""
    runs, blocks = _runs(report)
    return page(
        "report.html.j2",
        ("unpack.js", "report.js") if report.runs else (),
        report=report,
        title=title(report),
        sections=_sections(report),
        names=_names(report),
        plots=_plots(report),
        cells={(score.task, score.agent): score for score in report.task_scores},
        best=_best(report),
        pairs=_pairs(report),
        errors=_errors(report),
        methods=methods(report),
        task_costs={(one.task, one.agent): one.per_run for one in report.task_costs},
        per_point={placed.offer.agent: placed.usd_per_point for placed in report.front.agents},
        pass_runs=[
            k for k in PASS_RUNS if any(found.k == k for agent in report.agents for found in agent.passes)
        ],
        threshold=PASS_THRESHOLD,
        measure=measured(report.measure),
        claims=report.measure == F1,
        improved=[sheet for make in (improvement, performance, process) if (sheet := make(report))],
        graded=[sheet for make in (validity,) if (sheet := make(report))],
        probed=_probed(report.memory) if report.memory else None,
        outcomes=[outcome for outcome in Outcome if any(item.run.outcome is outcome for item in report.runs)],
        runs=[(task, list(shown)) for task, shown in groupby(runs, key=lambda one: one.item.run.task)],
        blocks=blocks,
    )


def _sections(report: Report) -> list[tuple[str, str]]:
    """Id and name of those that have something to show."""
    known = (
        ("agents", "Agents", True),
        ("tasks", "Tasks", len(report.tasks) > 1),
        ("validity", "Validity", bool(report.validities)),
        ("improvement", "Improvement", report.improvements is not None),
        ("differences", "Differences", bool(report.comparisons)),
        (
            "missed",
            "Missed claims",
            report.errors is not None and any(a.total for a in report.errors.types.agents),
        ),
        ("false", "False claims", report.measure == F1 and bool(report.judges)),
        ("variance", "Variance", any(agent.variation for agent in report.agents)),
        ("cost", "Cost and speed", any(agent.cost for agent in report.agents)),
        ("memory", "Contamination", report.memory is not None and bool(report.memory.agents)),
        ("integrity", "Integrity", any(agent.integrity for agent in report.agents)),
        ("runs", "Runs", bool(report.runs)),
        ("earlier", "Earlier attempts", bool(report.earlier_attempts)),
    )
    return [(id_, name) for id_, name, shown in known if shown]


def _plots(report: Report) -> dict[str, Plot | None]:
    return {
        "scores": plots.scores(report),
        "stages": plots.stages(report),
        "kinds": plots.kinds(report),
        "cost": plots.against_cost(report),
        "speed": plots.against_time(report),
        "times": plots.wall_times(report),
    }


def _names(report: Report) -> dict[str, str]:
    """Agent → its name in tables, where its hash would only be noise."""
    seen = {agent.agent for agent in report.agents} | {item.run.agent for item in report.runs}
    ids = sorted(seen | {run.agent for run in report.earlier_attempts})
    return dict(zip(ids, agent_names(ids), strict=True))


def _best(report: Report) -> dict[str, float | None]:
    """Task → the highest mean, where several agents have one."""
    found: dict[str, float | None] = {}
    for task in report.tasks:
        means = [
            score.score.mean
            for score in report.task_scores
            if score.task == task.id and score.score.mean is not None
        ]
        found[task.id] = max(means) if len(means) > 1 else None
    return found


def _pairs(report: Report) -> list[tuple[Comparison, Needed | None]]:
    """The clearest first."""
    needed = {(pair.left, pair.right): pair.needed for pair in report.needed}
    ranked = sorted(
        report.comparisons, key=lambda pair: (pair.p_adjusted or 0.0, -abs(pair.difference or 0.0))
    )
    return [(_ahead(pair), needed.get((pair.left, pair.right))) for pair in ranked]


def _ahead(pair: Comparison) -> Comparison:
    """The pair with the better agent first."""
    if not pair.difference or pair.difference > 0:
        return pair
    found = pair.interval
    turned = Interval(-found.high, -found.low, found.level) if found else None
    return replace(pair, left=pair.right, right=pair.left, difference=-pair.difference, interval=turned)


@dataclass(frozen=True, slots=True)
class _ErrorRow:
    """A stage, or within it (`inner`) a type, with a share for each agent."""

    name: str
    inner: bool
    shares: tuple[Share, ...]


@dataclass(frozen=True, slots=True)
class _Errors:
    """`kinds` by agent and by the place of the kind's column in the table of claims."""

    agents: tuple[str, ...] = ()
    stages: tuple[Distribution, ...] = ()
    missed: tuple[_ErrorRow, ...] = ()
    kinds: dict[tuple[str, int], Share] | None = None


def _errors(report: Report) -> _Errors:
    if report.errors is None:
        return _Errors(kinds={})
    rank = {agent.agent: place for place, agent in enumerate(report.agents)}

    def ranked(agents: Iterable[Distribution]) -> list[Distribution]:
        return sorted(agents, key=lambda found: rank.get(found.agent, len(rank)))

    stages, types = ranked(report.errors.stages.agents), ranked(report.errors.types.agents)
    columns = [field.name for field in fields(ClaimCounts)]
    kinds = {
        (found.agent, columns.index(share.id.lower())): share
        for found in report.errors.kinds.agents
        for share in found.shares
        if share.id.lower() in columns
    }
    rows = tuple(_error_rows(load(), stages, types))
    return _Errors(tuple(found.agent for found in stages), tuple(stages), rows, kinds)


def _error_rows(
    taxonomy: Taxonomy, stages: Sequence[Distribution], types: Sequence[Distribution]
) -> Iterator[_ErrorRow]:
    """Stages that occur, each before its types that occur."""
    for stage in taxonomy.stages:
        yield from _occurring(stage.id, False, stages)
        for leaf in taxonomy.error_types:
            if leaf.stage == stage.id:
                yield from _occurring(leaf.id, True, types)


def _occurring(id_: str, inner: bool, agents: Sequence[Distribution]) -> Iterator[_ErrorRow]:
    shares = tuple(share for found in agents for share in found.shares if share.id == id_)
    if any(share.count for share in shares):
        yield _ErrorRow(named(id_), inner, shares)


@dataclass(frozen=True, slots=True)
class _Probed:
    """The probe's table: task, the probe's score, and a cell for each agent."""

    agents: tuple[str, ...]
    rows: tuple[tuple[str, float | None, tuple[ProbeScore | None, ...]], ...]


def _probed(memory: Memory) -> _Probed:
    agents = tuple(dict.fromkeys(score.agent for score in memory.probes))
    by_task = groupby(sorted(memory.probes, key=lambda score: score.task), key=lambda score: score.task)
    rows = []
    for task, scores in by_task:
        cells = {score.agent: score for score in scores}
        probe = next(score.probe_f1 for score in cells.values())
        rows.append((task, probe, tuple(cells.get(agent) for agent in agents)))
    return _Probed(agents, tuple(rows))


@dataclass(frozen=True, slots=True)
class _Shown:
    """A run in the list. `view` is None where its parts lie packed, at `place` of `block`."""

    item: AnalysedRun
    anchor: str
    gist: str
    view: tuple[Node, ...] | None
    block: int
    place: int


def _runs(report: Report) -> tuple[list[_Shown], list[str]]:
    """The runs by slot, and what is packed of them."""
    views = [run_view(item, _notes(item.judge, report.judges)) for item in report.runs]
    is_open = len(views) <= _OPEN_RUNS
    shown = [
        _Shown(
            item, _anchor(item.run.run_id, number), _gist(item), view if is_open else None,
            number // _RUNS_A_BLOCK, number % _RUNS_A_BLOCK,
        )
        for number, (item, view) in enumerate(zip(report.runs, views, strict=True))
    ]  # fmt: skip
    if is_open:
        return shown, []
    starts = range(0, len(views), _RUNS_A_BLOCK)
    return shown, [
        packed([[data(part) for part in view] for view in views[start : start + _RUNS_A_BLOCK]])
        for start in starts
    ]


def _anchor(run_id: str, number: int) -> str:
    return f"run-{run_id if _ANCHOR.fullmatch(run_id) else number}"


def _notes(judge: Judge | None, judges: Sequence[Judge]) -> str:
    """What the judge said of this run beyond what it said of all."""
    if judge is None:
        return ""
    of_all = next(known.quality for known in judges if known.config_hash == judge.config_hash)
    return judge.quality.removeprefix(of_all).removeprefix("; ")


def _gist(item: AnalysedRun) -> str:
    judgement, improved = item.judgement, item.improvement
    if improved is not None:
        return f"{improved.valid} of {improved.steps} steps valid"
    if judgement is None:
        return ""
    true = sum(claim.verdict is Verdict.ENTAILED for claim in judgement.agent_claims)
    found = sum(claim.verdict is Verdict.ENTAILED for claim in judgement.truth_claims)
    claims, truths = len(judgement.agent_claims), len(judgement.truth_claims)
    return f"{true} of {claims} claims true, {found} of {truths} found"
