"""What a table of analysed runs is asked: which rows count, and what its cells add up to.

The definitions are those of `outcomes`, `scores`, `cost` and `variation`, which see one run at a time; here
the runs are grouped by columns, and the same formulas are given the groups. A test holds the two together.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from firetrial_analyzer.columns import CLAIMS, COLUMNS, FALSE, MISSED, NUMBERS, TRUTHS
from firetrial_analyzer.components import Judged
from firetrial_analyzer.cost import AgentCost, Figures, TaskCost, from_cell, from_figures
from firetrial_analyzer.distributions import Errors
from firetrial_analyzer.integrity.fingerprint import identical
from firetrial_analyzer.outcomes import F1, METRICS, SCORE, USAGE_FIELDS, Outcome
from firetrial_analyzer.scores import Cell
from firetrial_analyzer.taxonomy.catalogue import Taxonomy
from firetrial_kit.errors import Fault, check

SLOT = ("task", "agent", "repeat")
_COUNTED = pl.col("outcome").is_in([outcome.value for outcome in Outcome if outcome.counts])


def attempts(rows: pl.DataFrame) -> pl.DataFrame:
    """One row for each attempt, that of its latest judgement, ordered by slot and attempt.

    Each has its task's measure: a run that nobody judged may tell F1 for want of another.
    """
    if rows["run_id"].n_unique() < len(rows):
        rows = rows.sort("judged_at", "judgement_id", nulls_last=False).unique("run_id", keep="last")
    other = pl.col("measure").filter(pl.col("measure") != F1).first().over("task")
    return rows.with_columns(pl.coalesce(other, pl.lit(F1)).alias("measure")).sort(*SLOT, "attempt", "run_id")


def ends_slot(of_attempts: pl.DataFrame) -> pl.Series:
    """Which of the attempts a slot has ended with: the highest that no other follows."""
    place = pl.int_range(len(of_attempts), eager=True).alias("place")
    ended = of_attempts.select(*SLOT, place).filter(~of_attempts["superseded"])
    return place.is_in(ended.unique(SLOT, keep="last")["place"].implode())


def latest(of_attempts: pl.DataFrame) -> pl.DataFrame:
    """One row for each slot that has ended, ordered by slot."""
    return of_attempts.filter(ends_slot(of_attempts))


def refuse(of_attempts: pl.DataFrame) -> None:
    """Raises INVALID with every fault: mixed experiments, rival attempts. Values were checked row by row."""
    faults = []
    experiments = of_attempts["experiment"].unique().sort().to_list()
    if len(experiments) > 1:
        cure = "give the runs of one experiment at a time"
        faults.append(Fault("experiment", ", ".join(experiments), cure))
    rivals = of_attempts.group_by(*SLOT, "attempt").len().filter(pl.col("len") > 1).sort(*SLOT, "attempt")
    faults += [
        Fault("attempt", "/".join(map(str, rival)), "one run per attempt of a slot")
        for rival in rivals.select(*SLOT, "attempt").iter_rows()
    ]
    check("the set of runs", faults)


def _score(metric: str) -> pl.Expr:
    """As `RunOutcome.score`."""
    outcome = pl.col("outcome")
    of_another = (pl.col("measure") != F1) if metric != SCORE else pl.lit(value=False)
    worth = (
        pl.when(pl.col("measure") == F1).then(pl.col("f1")).otherwise(pl.col(SCORE))
        if metric == SCORE
        else pl.col(metric)
    )
    counted = pl.when(of_another).then(None).when(outcome == Outcome.AGENT_FAILED.value).then(pl.lit(0.0))
    return counted.when(outcome == Outcome.SCORED.value).then(worth)


def cells(ended: pl.DataFrame, planned: pl.DataFrame) -> dict[tuple[str, str], Cell]:
    """(task, agent) → what its slots came to; `planned` has the columns of SLOT."""
    columns = [_score(metric).alias(metric) for metric in (*METRICS, SCORE)]
    slots = planned.join(
        ended.select(*SLOT, "outcome", "measure", *columns), on=SLOT, how="full", coalesce=True
    )
    counts = [(pl.col("outcome") == outcome.value).sum().alias(outcome.value) for outcome in Outcome]
    pending = pl.col("outcome").is_null().sum().alias("pending")
    measure = pl.col("measure").drop_nulls().first()
    grouped = slots.group_by("task", "agent").agg(*METRICS, SCORE, measure, *counts, pending)
    values = [[cell.to_numpy() for cell in grouped[metric]] for metric in (*METRICS, SCORE)]
    return {
        (cell["task"], cell["agent"]): Cell(precision, recall, f1, score, _outcomes(cell), cell["measure"])
        for cell, precision, recall, f1, score in zip(
            grouped.drop(*METRICS, SCORE).iter_rows(named=True), *values, strict=True
        )
    }


def _outcomes(cell: Mapping[str, int]) -> dict[Outcome | None, int]:
    return {outcome: cell[outcome.value if outcome else "pending"] for outcome in (*Outcome, None)}


def grid(tasks: Sequence[str], agents: Sequence[str], repeats: int) -> pl.DataFrame:
    """The planned slots: each agent on each task, its repeats counted from 1."""
    parts = [
        pl.DataFrame({name: list(held)}, schema={name: COLUMNS[name]})
        for name, held in (("task", tasks), ("agent", agents), ("repeat", range(1, repeats + 1)))
    ]
    return parts[0].join(parts[1], how="cross").join(parts[2], how="cross")


def costs(of_attempts: pl.DataFrame, ended: pl.DataFrame) -> tuple[AgentCost, ...]:
    """Cost per agent, ordered by agent."""
    counted = _figures(ended.filter(_COUNTED))
    nothing: Figures = dict.fromkeys(USAGE_FIELDS, ())
    return tuple(
        from_figures(agent, len(figures["usd"]), figures, counted.get(agent, nothing))
        for agent, figures in sorted(_figures(of_attempts).items())
    )


def task_costs(ended: pl.DataFrame) -> tuple[TaskCost, ...]:
    """Cost per task and agent, ordered by both."""
    found = _by(ended.filter(_COUNTED), "task", "agent")
    return tuple(from_cell(task, agent, figures) for (task, agent), figures in sorted(found.items()))


def _figures(rows: pl.DataFrame) -> dict[str, Figures]:
    return {agent: figures for (agent,), figures in _by(rows, "agent").items()}


def _by(rows: pl.DataFrame, *keys: str) -> dict[tuple[Any, ...], Figures]:
    figures = rows.select(*keys, *(pl.col(name).cast(pl.Float64) for name in USAGE_FIELDS))
    return {
        key: {name: held[name].to_numpy() for name in USAGE_FIELDS}
        for key, held in figures.partition_by(*keys, as_dict=True).items()
    }


def samples(ended: pl.DataFrame, measure: str = F1) -> dict[str, dict[str, list[float]]]:
    """Agent → task → score of each repeat that counts and is measured so."""
    measured = ended.filter(pl.col("measure") == measure)
    scored = measured.select("agent", "task", score=_score(SCORE)).drop_nulls(SCORE)
    found: dict[str, dict[str, list[float]]] = defaultdict(dict)
    for agent, task, values in scored.group_by("agent", "task").agg(SCORE).sort("agent", "task").iter_rows():
        found[agent][task] = values
    return dict(found)


def judgings(ended: pl.DataFrame) -> dict[str, dict[str, Judged]]:
    """Agent → task → the F1 that its runs count with, or that of each time that one was judged."""
    scored = (ended["outcome"] == Outcome.SCORED.value) & ended["f1"].is_not_null()
    several = scored & (ended["judgings"].list.len() > 1).fill_null(value=False)
    once = samples(ended.filter(~several))
    grouped = ended.filter(several).group_by("agent", "task").agg("judgings").iter_rows()
    more = {(agent, task): runs for agent, task, runs in grouped}
    found: dict[str, dict[str, Judged]] = defaultdict(dict)
    for agent, task in sorted({*more, *((agent, task) for agent, tasks in once.items() for task in tasks)}):
        found[agent][task] = Judged(once.get(agent, {}).get(task, ()), more.get((agent, task), ()))
    return dict(found)


def claim_counts(ended: pl.DataFrame) -> dict[str, dict[str, int]]:
    """Agent → sums over its judged runs of the columns that count claims, and `judged_runs`."""
    counted = [*CLAIMS.values(), *TRUTHS.values(), *FALSE.values()]
    judged = ended.filter(pl.col(counted[0]).is_not_null())
    return _by_agent(judged.group_by("agent").agg(pl.len().alias("judged_runs"), pl.col(counted).sum()))


def integrity_counts(ended: pl.DataFrame) -> dict[str, dict[str, int]]:
    """Agent → sums of NUMBERS over the runs that were looked at, and their number as `runs`."""
    counted = list(NUMBERS.values())
    looked_at = ended.filter(pl.col(counted[0]).is_not_null())
    return _by_agent(looked_at.group_by("agent").agg(pl.len().alias("runs"), pl.col(counted).sum()))


def _by_agent(grouped: pl.DataFrame) -> dict[str, dict[str, int]]:
    return {sums["agent"]: sums for sums in grouped.iter_rows(named=True)}


def errors(ended: pl.DataFrame, taxonomy: Taxonomy) -> Errors:
    """As `distributions.errors_of`, of the runs that were attributed."""
    columns = ("agent", "task", "attribution_method", "failure_type", *MISSED.values(), *FALSE.values())
    attributed = ended.select(columns).drop_nulls("attribution_method")
    types = attributed.select(_missed(leaf.id) for leaf in taxonomy.error_types)
    kinds = attributed.select(pl.col(FALSE[kind.id]).fill_null(0) for kind in taxonomy.false_positive_kinds)
    codes = attributed.select(pl.col("agent", "task").rank("dense").cast(pl.Int64) - 1)
    return Errors(
        tuple(attributed["agent"].unique().sort()),
        codes["agent"].to_numpy(),
        codes["task"].to_numpy(),
        types.cast(pl.Int64).to_numpy(),
        attributed.select(_missed("").cast(pl.Int64)).to_series().to_numpy(),
        kinds.cast(pl.Int64).to_numpy(),
    )


def _missed(type_: str) -> pl.Expr:
    """Missed claims of a type; the failure of a whole run counts as one."""
    failed = (pl.col("failure_type") == type_).fill_null(value=False).cast(pl.Int32)
    return (pl.col(MISSED[type_]).fill_null(0) + failed).alias(MISSED[type_])


def finding_counts(ended: pl.DataFrame) -> dict[str, tuple[tuple[str, int], ...]]:
    """Agent → (finding, runs that have it), by name; those of each run, and what repeats share."""
    named = ended.select("agent", name="integrity_findings").explode("name").drop_nulls("name")
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for agent, name, runs in named.group_by("agent", "name").len().iter_rows():
        found[agent][name] += runs
    told = ended.drop_nulls("fingerprint").group_by("task", "agent").agg("run_id", "fingerprint")
    for _, agent, runs, prints in told.iter_rows():
        for finding in identical(dict(zip(runs, prints, strict=True))).values():
            found[agent][finding.name] += 1
    return {agent: tuple(sorted(names.items())) for agent, names in found.items()}


def judges(ended: pl.DataFrame) -> list[dict[str, Any]]:
    """One for each configuration, with all that its judgements say of its quality."""
    named = ["judge_backend", "judge_model", "judge_calibration"]
    judged = ended.drop_nulls("judge_config").group_by("judge_config")
    found = judged.agg(pl.col(named).max(), pl.col("judge_quality").unique().sort())
    return found.sort("judge_config").to_dicts()


def reasons(ended: pl.DataFrame) -> pl.DataFrame:
    """Outcome, reason and number of runs that were not scored, the most frequent first."""
    unscored = ended.filter(pl.col("outcome") != Outcome.SCORED.value)
    counted = unscored.group_by("outcome", "reason").agg(runs=pl.len())
    return counted.sort("runs", "outcome", "reason", descending=[True, False, False])


def points(ended: pl.DataFrame, most: int, measure: str = F1) -> dict[str, list[dict[str, Any]]]:
    """Agent → its counted runs of a measure, all or `most` of them evenly chosen in the order of slots."""
    measured = ended.filter(_COUNTED & (pl.col("measure") == measure))
    counted = measured.select(*SLOT, "outcome", "wall_seconds", "usd", f1=_score("f1"), score=_score(SCORE))
    place, held = pl.int_range(pl.len()).over("agent"), pl.len().over("agent")
    chosen = (place * most) // held != ((place - 1) * most) // held
    few = counted.filter((held <= most) | (place == 0) | chosen)
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for run in few.iter_rows(named=True):
        found[run["agent"]].append(run)
    return dict(found)


def first_repeats(ended: pl.DataFrame, most: int) -> pl.DataFrame:
    """At most so many rows, the first repeats of every task and agent, ordered by slot as `ended` is."""
    places = ended.select("repeat", pl.int_range(pl.len()).alias("place"))
    return ended[places.sort("repeat", maintain_order=True).head(most)["place"].sort()]
