"""The report of one experiment as one value, from which every format is rendered.

As JSON it is `firetrial.report/1`: the dataclasses below, field by field, scores from 0 to 1, durations in
seconds, memory in bytes, times in ISO 8601 and null for what is unknown or undefined. Intervals and p-values
come from seeded resampling. Fields may be added under the same name, `variation`, `comparisons` and `front`
were; a changed or removed field makes it `firetrial.report/2`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import takewhile
from typing import Literal

from firetrial_analyzer.analysis import AnalysedRun, Judge
from firetrial_analyzer.claims import Verdict
from firetrial_analyzer.cost import AgentCost, costs
from firetrial_analyzer.outcomes import RunOutcome, Slot, latest_attempts
from firetrial_analyzer.paired import Comparison
from firetrial_analyzer.pareto import Front, front, offers
from firetrial_analyzer.scores import AgentScore, TaskScore, aggregate
from firetrial_analyzer.taxonomy.catalogue import FalsePositiveKind
from firetrial_analyzer.variation import Variation, comparisons, f1_samples, variation

_NO_FRONT = Front((), 0)
SCHEMA: Literal["firetrial.report/1"] = "firetrial.report/1"


@dataclass(frozen=True, slots=True)
class Task:
    """What was asked. `broken` lists what is known to be wrong with the task."""

    id: str
    question: str = ""
    broken: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ClaimCounts:
    """Claims over an agent's judged runs: true, false by kind, unscored, and ground truth not found."""

    judged_runs: int
    true: int
    contradictory: int
    unrelated: int
    overgeneralized: int
    alternative: int
    unscored: int
    truth_missing: int


@dataclass(frozen=True, slots=True)
class AgentReport:
    score: AgentScore
    cost: AgentCost | None
    claims: ClaimCounts
    variation: Variation | None = None

    @property
    def agent(self) -> str:
        return self.score.agent


@dataclass(frozen=True, slots=True)
class Experiment:
    """`expected_runs` counts the planned slots; `plan` names those that are known."""

    id: str
    tasks: tuple[Task, ...]
    expected_runs: int
    plan: tuple[Slot, ...] = ()
    model: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """Agents by falling F1, then name; task scores by task and agent; runs by slot, latest attempts only.

    `comparisons` has the pairs of agents with at least two common tasks; `front` sets scores against costs.
    """

    schema: Literal["firetrial.report/1"]
    experiment: str
    model: str
    tasks: tuple[Task, ...]
    judges: tuple[Judge, ...]
    started_at: datetime | None
    ended_at: datetime | None
    ended_runs: int
    expected_runs: int
    agents: tuple[AgentReport, ...]
    task_scores: tuple[TaskScore, ...]
    runs: tuple[AnalysedRun, ...]
    earlier_attempts: tuple[RunOutcome, ...]
    comparisons: tuple[Comparison, ...] = ()
    front: Front = _NO_FRONT

    @property
    def complete(self) -> bool:
        return self.ended_runs >= self.expected_runs


def build(experiment: Experiment, analysed: Sequence[AnalysedRun]) -> Report:
    """The report over what has ended so far; the same runs in any order give the same report.

    Raises INVALID (see `outcomes.check`).
    """
    outcomes = [item.run for item in analysed]
    scores = aggregate(outcomes, experiment.plan)
    latest = latest_attempts(outcomes)
    by_id = {item.run.run_id: item for item in analysed}
    runs = tuple(by_id[run.run_id] for run in latest)
    spent = costs(outcomes)
    cost_of = {cost.agent: cost for cost in spent}
    samples = f1_samples(outcomes)
    agents = [
        AgentReport(
            score,
            cost_of.get(score.agent),
            _claim_counts(score.agent, runs),
            variation(samples.get(score.agent, {})),
        )
        for score in scores.agents
    ]
    known = {task.id: task for task in experiment.tasks}
    return Report(
        schema=SCHEMA,
        experiment=experiment.id,
        model=experiment.model,
        tasks=tuple(known.get(id_, Task(id_)) for id_ in sorted({*known, *(run.task for run in latest)})),
        judges=_judges(runs),
        started_at=min((run.started_at for run in outcomes if run.started_at), default=None),
        ended_at=max((run.ended_at for run in outcomes if run.ended_at), default=None),
        ended_runs=len(latest),
        expected_runs=max(experiment.expected_runs, len(latest)),
        agents=tuple(sorted(agents, key=_rank)),
        task_scores=scores.tasks,
        runs=runs,
        earlier_attempts=_earlier(outcomes, {run.run_id for run in latest}),
        comparisons=comparisons(samples),
        front=front(offers(scores.agents, spent)),
    )


def _judges(runs: Iterable[AnalysedRun]) -> tuple[Judge, ...]:
    """One for each configuration, with what its judgements say alike of its quality."""
    by_config: dict[str, list[Judge]] = {}
    for item in runs:
        if item.judge:
            by_config.setdefault(item.judge.config_hash, []).append(item.judge)
    return tuple(
        replace(judges[0], quality=_common_parts([judge.quality for judge in judges]))
        for _, judges in sorted(by_config.items())
    )


def _common_parts(texts: Sequence[str]) -> str:
    """The parts between semicolons that all texts begin with: a judge adds notes on a run behind them."""
    columns = zip(*(text.split("; ") for text in texts), strict=False)
    return "; ".join(parts[0] for parts in takewhile(lambda parts: len(set(parts)) == 1, columns))


def _rank(agent: AgentReport) -> tuple[bool, float, str]:
    mean = agent.score.f1.mean
    return (mean is None, -(mean or 0.0), agent.agent)


def _earlier(outcomes: Iterable[RunOutcome], latest: set[str]) -> tuple[RunOutcome, ...]:
    earlier = {run for run in outcomes if run.run_id not in latest}
    return tuple(sorted(earlier, key=lambda run: (run.slot, run.attempt)))


def _claim_counts(agent: str, runs: Iterable[AnalysedRun]) -> ClaimCounts:
    mine = [item for item in runs if item.run.agent == agent and item.judgement]
    verdicts = [claim.verdict for item in mine if item.judgement for claim in item.judgement.agent_claims]
    found = [item.attribution for item in mine if item.attribution]
    kinds = [false.kind for attribution in found for false in attribution.false_positives]
    return ClaimCounts(
        judged_runs=len(mine),
        true=verdicts.count(Verdict.ENTAILED),
        contradictory=kinds.count(FalsePositiveKind.CONTRADICTORY),
        unrelated=kinds.count(FalsePositiveKind.UNRELATED),
        overgeneralized=kinds.count(FalsePositiveKind.OVERGENERALIZED),
        alternative=kinds.count(FalsePositiveKind.ALTERNATIVE),
        unscored=verdicts.count(Verdict.UNSCORED),
        truth_missing=sum(len(attribution.missing) for attribution in found),
    )
