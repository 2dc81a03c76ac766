"""From the rows of an experiment to its report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import takewhile
from types import MappingProxyType
from typing import Any

import polars as pl

from firetrial_analyzer import columns, table
from firetrial_analyzer.analysis import AnalysedRun, Judge
from firetrial_analyzer.columns import Key
from firetrial_analyzer.components import VarianceSplit, split
from firetrial_analyzer.cost import AgentCost
from firetrial_analyzer.cutoffs import Cutoff, published
from firetrial_analyzer.distributions import Distributions, distributions
from firetrial_analyzer.improvements import improvements
from firetrial_analyzer.kinds.validity import validities
from firetrial_analyzer.memory import Memory, Origin, memory
from firetrial_analyzer.outcomes import Outcome
from firetrial_analyzer.pareto import front, offers
from firetrial_analyzer.report import (
    SCHEMA,
    AgentReport,
    ClaimCounts,
    Experiment,
    IntegrityCounts,
    Omitted,
    Pair,
    Point,
    Report,
    Task,
    Uncounted,
)
from firetrial_analyzer.scores import Scores, TaskScore, from_cells
from firetrial_analyzer.taxonomy.catalogue import load
from firetrial_analyzer.variance import Sample
from firetrial_analyzer.variation import comparisons, needed, passes, variation

# Runs and earlier attempts of which a report has the details.
SHOWN_RUNS = 1000
MAX_POINTS = 300
_MAX_REASONS = 50


def build(experiment: Experiment, analysed: Sequence[AnalysedRun], shown: int = SHOWN_RUNS) -> Report:
    """The report over runs that are at hand; the same runs in any order give the same report.

    Raises INVALID where they are of several experiments or rival attempts of a slot.
    """
    rows = [columns.row(item) for item in analysed]
    details = {columns.key(row): item for row, item in zip(rows, analysed, strict=True)}
    return Composer(columns.frame(rows), shown).report(experiment, details)


class Composer:
    """Says which tasks and which runs' details a report of `rows` wants, and makes it once they are there."""

    def __init__(self, rows: pl.DataFrame, shown: int = SHOWN_RUNS) -> None:
        self._attempts = table.attempts(rows)
        table.refuse(self._attempts)
        ends_slot = table.ends_slot(self._attempts)
        self._ended = self._attempts.filter(ends_slot)
        self._shown = table.first_repeats(self._ended, shown)
        self._earlier = self._attempts.filter(~ends_slot)
        self._most = shown

    @property
    def wanted(self) -> list[Key]:
        """The runs whose details the report shows."""
        return list(self._shown.select("run_id", "judgement_id").iter_rows())

    @property
    def tasks(self) -> list[str]:
        """Ids of the tasks of which a slot has ended."""
        return self._ended["task"].unique().sort().to_list()

    def report(
        self,
        experiment: Experiment,
        details: Mapping[Key, AnalysedRun],
        cutoffs: Mapping[str, Cutoff] = MappingProxyType({}),
    ) -> Report:
        """The report, with those of `details` that it wants; a run without details shows its row alone.

        The probe is an agent like the others, but nobody's rival: it comes last and is compared with none.
        """
        known = {task.id: task for task in experiment.tasks}
        tasks = tuple(known.get(id_, Task(id_)) for id_ in sorted({*known, *self.tasks}))
        planned = table.grid([task.id for task in tasks], experiment.agents, experiment.repeats)
        if len(planned) > experiment.expected_runs:  # imported runs may fill no whole grid
            planned = planned.clear()
        scores = from_cells(table.cells(self._ended, planned))
        spent = table.costs(self._attempts, self._ended)
        samples = table.samples(self._ended, scores.measure)
        reasons = table.reasons(self._ended)
        rivals = {agent: sample for agent, sample in samples.items() if agent != experiment.probe}
        pairs = comparisons(rivals)
        apart = zip(pairs, needed(rivals, pairs), strict=True)
        return Report(
            schema=SCHEMA,
            experiment=experiment.id,
            model=experiment.model,
            tasks=tasks,
            judges=tuple(_judge(told) for told in table.judges(self._ended)),
            started_at=_moment(self._attempts["started_at"].min()),
            ended_at=_moment(self._attempts["ended_at"].max()),
            ended_runs=len(self._ended),
            expected_runs=max(experiment.expected_runs, len(self._ended)),
            agents=self._agents(scores, spent, samples, experiment.probe),
            task_scores=scores.tasks,
            comparisons=pairs,
            needed=tuple(Pair(pair.left, pair.right, what) for pair, what in apart),
            front=front(offers([one for one in scores.agents if one.agent != experiment.probe], spent)),
            reasons=tuple(
                Uncounted(Outcome(outcome), reason, runs)
                for outcome, reason, runs in reasons.head(_MAX_REASONS).iter_rows()
            ),
            runs=tuple(
                details.get(key) or AnalysedRun(columns.outcome(self._shown.row(place, named=True)))
                for place, key in enumerate(self.wanted)
            ),
            earlier_attempts=tuple(
                columns.outcome(row) for row in self._earlier.head(self._most).iter_rows(named=True)
            ),
            omitted=Omitted(
                len(self._ended) - len(self._shown),
                max(0, len(self._earlier) - self._most),
                max(0, len(reasons) - _MAX_REASONS),
            ),
            errors=self._errors(experiment.probe),
            task_costs=table.task_costs(self._ended),
            memory=_memory(experiment, tasks, scores.tasks, cutoffs),
            measure=scores.measure,
            improvements=improvements(self._ended),
            validities=validities(self._ended),
        )

    def _errors(self, probe: str) -> Distributions | None:
        taxonomy = load()
        found = table.errors(self._ended.filter(pl.col("agent") != probe), taxonomy)
        return distributions(found, taxonomy) if found.agents else None

    def _agents(
        self,
        scores: Scores,
        spent: Sequence[AgentCost],
        samples: Mapping[str, Sample],
        probe: str,
    ) -> tuple[AgentReport, ...]:
        cost_of = {cost.agent: cost for cost in spent}
        claims, splits = _claims(self._ended), _splits(self._ended)
        integrity, points = _integrity(self._ended), _points(self._ended, scores.measure)
        agents = [
            AgentReport(
                score,
                cost_of.get(score.agent),
                claims.get(score.agent, _NO_CLAIMS),
                variation(samples.get(score.agent, {})),
                splits.get(score.agent),
                passes(samples.get(score.agent, {})),
                integrity.get(score.agent),
                points.get(score.agent, ()),
            )
            for score in scores.agents
        ]
        return tuple(sorted(agents, key=lambda agent: (agent.agent == probe, *_rank(agent))))


def _moment(found: object) -> datetime | None:
    return found if isinstance(found, datetime) else None


_NO_CLAIMS = ClaimCounts(0, 0, 0, 0, 0, 0, 0, 0)


def _claims(ended: pl.DataFrame) -> dict[str, ClaimCounts]:
    return {
        agent: ClaimCounts(
            judged_runs=sums["judged_runs"],
            true=sums["claims_entailed"],
            contradictory=sums["false_contradictory"],
            unrelated=sums["false_unrelated"],
            overgeneralized=sums["false_overgeneralized"],
            alternative=sums["false_alternative"],
            unscored=sums["claims_unscored"],
            truth_missing=sums["truths_contradicted"] + sums["truths_neutral"],
        )
        for agent, sums in table.claim_counts(ended).items()
    }


def _splits(ended: pl.DataFrame) -> dict[str, VarianceSplit]:
    return {agent: split(held) for agent, held in table.judgings(ended).items()}


def _integrity(ended: pl.DataFrame) -> dict[str, IntegrityCounts]:
    findings = table.finding_counts(ended)
    return {
        agent: IntegrityCounts(
            runs=sums["runs"],
            traced=sums["numbers_traced"],
            derived=sums["numbers_derived"],
            untraced=sums["numbers_untraced"],
            given=sums["numbers_given"],
            not_a_result=sums["numbers_not_a_result"],
            findings=findings.get(agent, ()),
        )
        for agent, sums in table.integrity_counts(ended).items()
    }


def _points(ended: pl.DataFrame, measure: str) -> dict[str, tuple[Point, ...]]:
    return {
        agent: tuple(
            Point(
                run["task"], run["repeat"], run["f1"], run["outcome"] == Outcome.AGENT_FAILED.value,
                run["wall_seconds"], run["usd"], run["score"],
            )
            for run in runs
        )
        for agent, runs in table.points(ended, MAX_POINTS, measure).items()
    }  # fmt: skip


def _judge(told: Mapping[str, Any]) -> Judge:
    """A configuration, with what its judgements say alike of its quality."""
    return Judge(
        told["judge_backend"],
        told["judge_model"],
        told["judge_config"],
        _common_parts(told["judge_quality"]),
        told["judge_calibration"],
    )


def _common_parts(texts: Sequence[str]) -> str:
    """The parts between semicolons that all texts begin with: a judge adds notes on a run behind them."""
    parted = zip(*(text.split("; ") for text in texts), strict=False)
    return "; ".join(parts[0] for parts in takewhile(lambda parts: len(set(parts)) == 1, parted))


def _memory(
    experiment: Experiment, tasks: Sequence[Task], scores: Sequence[TaskScore], cutoffs: Mapping[str, Cutoff]
) -> Memory | None:
    """None where the plan names no model, so that there is nothing that could remember."""
    if not experiment.model:
        return None
    origins = {task.id: Origin(task.difficulty, published(task.published)) for task in tasks}
    return memory(scores, origins, model=experiment.model, cutoffs=cutoffs, probe=experiment.probe)


def _rank(agent: AgentReport) -> tuple[bool, float, str]:
    mean = agent.score.main.mean
    return (mean is None, -(mean or 0.0), agent.agent)
