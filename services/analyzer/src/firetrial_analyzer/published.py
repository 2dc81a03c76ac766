"""FIRE-Bench's printed results rebuilt from its own table of per-task scores, and what does not follow.

The input is the published tables as one document (percent, USD): per-task F1 with its std over three runs,
averages, false-positive types, error stages, difficulty, cutoff cells and costs. `figures` sets each printed
figure against what the table gives, by the same functions that make this system's reports. A figure follows
if it lies within the rounding of both: inputs and outputs are printed to one decimal, so 0.1 for means.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from firetrial_analyzer.variance import MedianCv, median_cv, spread

Tables = Mapping[str, Any]
ROUNDING = 0.1
# The cells by cutoff are printed to two decimals.
CELL_ROUNDING = 0.06
FALSE_POSITIVES = ("contradictory", "unrelated", "overgeneralized", "alternative")
_EPSILON = 1e-9
_LARGEST_COUNT = 500


@dataclass(frozen=True, slots=True)
class Figure:
    """A printed figure and what the tables give for it, in the unit in which it was printed."""

    name: str
    printed: float
    rebuilt: float
    tolerance: float = ROUNDING

    @property
    def follows(self) -> bool:
        return abs(self.printed - self.rebuilt) <= self.tolerance + _EPSILON


@dataclass(frozen=True, slots=True)
class AgentResult:
    """Over the tasks: mean F1, both stds of the task means, tasks in which it is best, CVs over repeats."""

    agent: str
    mean: float
    population_std: float
    sample_std: float
    best_of: int
    cv: MedianCv


def agents(tables: Tables) -> list[str]:
    return list(tables["table3_per_task_f1"]["printed_average_row"])


def results(tables: Tables) -> dict[str, AgentResult]:
    """Agent → what its column of the per-task table gives."""
    best = [_best(row["f1"]) for row in _rows(tables)]
    return {agent: _result(tables, agent, best.count(agent)) for agent in agents(tables)}


def _result(tables: Tables, agent: str, best_of: int) -> AgentResult:
    cells = [row["f1"][agent] for row in _rows(tables)]
    over_tasks = spread([cell["mean"] for cell in cells])
    if over_tasks.mean is None or over_tasks.population_std is None or over_tasks.sample_std is None:
        raise ValueError(f"{agent} has {over_tasks.n} tasks: at least two are needed")
    cvs = median_cv((cell["mean"], cell["std"]) for cell in cells)
    return AgentResult(agent, over_tasks.mean, over_tasks.population_std, over_tasks.sample_std, best_of, cvs)


def _best(scores: Mapping[str, Mapping[str, float]]) -> str:
    """The agent with the highest mean; a tie goes to nobody."""
    highest = max(cell["mean"] for cell in scores.values())
    best = [agent for agent, cell in scores.items() if cell["mean"] == highest]
    return best[0] if len(best) == 1 else ""


def tasks_where(tables: Tables, holds: Callable[[float], bool]) -> list[str]:
    """Tasks for which the mean of every agent meets the condition."""
    return [row["id"] for row in _rows(tables) if all(holds(cell["mean"]) for cell in row["f1"].values())]


def smallest_counts(percentages: Sequence[float]) -> tuple[int, tuple[int, ...]] | None:
    """The least total, and its counts, of which `percentages` are the shares to one decimal.

    None if there is no such total up to 500. Where the shares do not make up 100, the rest is a further count
    that was not printed.
    """
    for total in range(1, _LARGEST_COUNT + 1):
        counts = tuple(round(share * total / 100) for share in percentages)
        printed_all = abs(sum(percentages) - 100) < 1
        if sum(counts) > total or (printed_all and sum(counts) != total):
            continue
        if all(abs(100 * n / total - p) <= 0.05 + _EPSILON for n, p in zip(counts, percentages, strict=True)):
            return total, counts
    return None


def figures(tables: Tables) -> list[Figure]:
    """Every printed figure that can be held against the tables."""
    return [
        *_averages(tables), *_counts(tables), *_stability(tables), *_false_positives(tables),
        *_stages(tables), *_bars(tables), *_cutoff_cells(tables), *_costs(tables), *_validation(tables),
    ]  # fmt: skip


def unfounded(found: Sequence[Figure]) -> list[str]:
    """Names of the printed figures that do not follow from the tables."""
    return [figure.name for figure in found if not figure.follows]


def _averages(tables: Tables) -> Iterator[Figure]:
    overall, per_task = tables["table3_overall"]["rows"], tables["table3_per_task_f1"]["printed_average_row"]
    for agent, result in results(tables).items():
        precision, recall, f1 = (overall[agent][metric] for metric in ("precision", "recall", "f1"))
        yield Figure(f"overall F1 of {agent}", f1[0], result.mean)
        yield Figure(f"overall std of {agent}, sample", f1[1], result.sample_std)
        yield Figure(f"average row of {agent}", per_task[agent]["mean"], result.mean)
        yield Figure(
            f"average row's std of {agent}, population", per_task[agent]["std"], result.population_std
        )
        harmonic = _harmonic(precision[0], recall[0])
        yield Figure(f"overall F1 of {agent} as that of its mean precision and recall", f1[0], harmonic)
    rows = tables["table3_overall"]["rows"]
    gain = rows["openhands_gpt-5"]["f1"][0] - rows["openhands_o4-mini"]["f1"][0]
    printed = tables["checks"]["improvement_6_1"]["printed"]
    yield Figure(
        "gain of openhands_gpt-5 over openhands_o4-mini, from the overall table", printed, gain, 0.05
    )
    rebuilt = results(tables)
    gain = rebuilt["openhands_gpt-5"].mean - rebuilt["openhands_o4-mini"].mean
    yield Figure("gain of openhands_gpt-5 over openhands_o4-mini, from the task table", printed, gain)


def _harmonic(one: float, other: float) -> float:
    return 2 * one * other / (one + other)


def _counts(tables: Tables) -> Iterator[Figure]:
    checks, found = tables["checks"], results(tables)
    for agent, printed in checks["best_of_task"]["printed"].items():
        yield Figure(f"tasks in which {agent} is best", printed, found[agent].best_of, 0)
    strong = tasks_where(tables, lambda mean: mean >= 50)
    weak = tasks_where(tables, lambda mean: mean < 20)
    yield Figure("tasks with all agents at 50 or more", checks["all_four_ge_50"]["printed"], len(strong), 0)
    yield Figure("tasks with all agents below 20", checks["all_four_below_20"]["printed"], len(weak), 0)


def _stability(tables: Tables) -> Iterator[Figure]:
    printed, found = tables["checks"]["cv_printed"], results(tables)
    median = {agent: result.cv.median or 0.0 for agent, result in found.items()}
    yield Figure(
        "median CV of claude-code_sonnet-4", printed["claude"], median["claude-code_sonnet-4"], 0.005
    )
    least = min(value for agent, value in median.items() if agent.startswith("openhands"))
    above = float(printed["openhands"].removeprefix(">"))
    yield Figure("median CVs of OpenHands above 0.6", 1, float(least > above), 0)
    steadiest = min(median.values()) == median["claude-code_sonnet-4"]
    yield Figure("claude-code_sonnet-4 has the lowest median CV", 1, float(steadiest), 0)


def _false_positives(tables: Tables) -> Iterator[Figure]:
    for agent, row in tables["table5_false_positive_types"]["rows"].items():
        shares = [row[kind] for kind in FALSE_POSITIVES]
        yield Figure(f"false-positive types of {agent} make up 100", 100, math.fsum(shares), 0.2)
        found = smallest_counts(shares)
        yield Figure(
            f"false-positive types of {agent} are shares of whole claims", 1, float(found is not None), 0
        )


def _stages(tables: Tables) -> Iterator[Figure]:
    """The site's stages are plain means of the agents' percentages."""
    table = tables["fig_error_distribution_false_negative"]
    planning = [row["method_deviation"] + row["goal_deviation"] for row in table["rows"].values()]
    analysis = [row["analysis_failure"] for row in table["rows"].values()]
    printed = table["stage_totals_on_site"]
    yield Figure("share of planning errors", printed["planning"], math.fsum(planning) / len(planning))
    yield Figure("share of analysis errors", printed["analysis"], math.fsum(analysis) / len(analysis))


def _bars(tables: Tables) -> Iterator[Figure]:
    for difficulty, bars in tables["checks"]["difficulty_bars"]["read_from_figure4_geometry"].items():
        for agent, printed in bars.items():
            found = spread(_means(tables, agent, _of_difficulty(tables, difficulty)))
            yield Figure(f"mean of {agent} on {difficulty} tasks", printed, found.mean or 0.0)


def _cutoff_cells(tables: Tables) -> Iterator[Figure]:
    """Which tasks are in a cell was not printed; they were inferred from the cells' means."""
    cells = tables["checks"]["cutoff_reconstruction"]
    for cell in cells:
        found = spread(_means(tables, cell["agent"], cell["inferred_members"]))
        name = f"cutoff cell {cell['agent']} {cell['difficulty']} {cell['side']}"
        yield Figure(f"{name}, mean", cell["printed"]["mean"], found.mean or 0.0, CELL_ROUNDING)
        yield Figure(f"{name}, std", cell["printed"]["std"], found.population_std or 0.0, CELL_ROUNDING)
    sizes: dict[tuple[str, str], int] = {}
    for cell in cells:
        place = (cell["agent"], cell["difficulty"])
        sizes[place] = sizes.get(place, 0) + cell["printed"]["n"]
    for (agent, difficulty), size in sizes.items():
        rubric = len(_of_difficulty(tables, difficulty))
        yield Figure(f"{difficulty} tasks in the cutoff cells of {agent}", size, rubric, 0)


def _costs(tables: Tables) -> Iterator[Figure]:
    """Totals over the printed mean of a task should give the 30 tasks; the mean is printed to a cent."""
    tasks = tables["counts"]["core_tasks"]
    for agent, row in tables["appendixF_cost"]["rows"].items():
        low, high = ((row["total"] + sign * 0.005) / (row["avg_per_task"] - sign * 0.005) for sign in (-1, 1))
        yield Figure(f"tasks that the costs of {agent} are for", tasks, (low + high) / 2, (high - low) / 2)


def _validation(tables: Tables) -> Iterator[Figure]:
    table = tables["evaluator_human_validation"]
    harmonic = _harmonic(table["precision"], table["recall"])
    yield Figure("F1 of the evaluator against people", table["f1_printed"], harmonic, 0.01)


def _rows(tables: Tables) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = tables["table3_per_task_f1"]["rows"]
    return rows


def _means(tables: Tables, agent: str, tasks: Sequence[str]) -> list[float]:
    return [row["f1"][agent]["mean"] for row in _rows(tables) if row["id"] in tasks]


def _of_difficulty(tables: Tables, difficulty: str) -> list[str]:
    papers = tables["table7_14_papers"]["rows"]
    return [paper["id"] for paper in papers if paper["difficulty"]["category"] == difficulty]
