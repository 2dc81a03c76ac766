"""How the errors of agents spread over stages, types and kinds, and which agents differ in that.

The errors of one task hang together: who misses one finding by laziness misses the next one so, too. So
intervals are Wilson's (1927) at the effective number of errors n / d, d being the first-order design effect
of Rao and Scott (1981): the variance of the shares by tasks over that of independent errors, each summed over
categories; a share's variance is that of a ratio of task totals (Cochran, 1977, section 6.2). Agents are
compared over the tasks that both have errors in, by exchanging the agents within whole tasks.

Everything is computed on counts, runs × categories, so that 100,000 runs take no time.
"""

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from firetrial_analyzer.analysis import AnalysedRun
from firetrial_analyzer.attribution import Attribution
from firetrial_analyzer.paired import holm
from firetrial_analyzer.taxonomy.catalogue import Taxonomy
from firetrial_analyzer.variance import Interval, Resampling
from firetrial_kit import shares

Counts = NDArray[np.int64]
Floats = NDArray[np.float64]
RESAMPLING = Resampling(draws=4000)
# All 2^n exchanges are tried up to here, random ones beyond.
_EXACT_TASKS = 12
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class ErrorCounts:
    """Of one run: missed claims by error type and false claims by kind, both in the taxonomy's order.

    `unsettled` missed claims have no type. The failure of a whole run counts as one missed claim.
    """

    types: tuple[int, ...]
    unsettled: int
    kinds: tuple[int, ...]


def error_counts(attribution: Attribution, taxonomy: Taxonomy) -> ErrorCounts:
    types = [missed.type for missed in attribution.missed]
    kinds = [str(false.kind) for false in attribution.false_positives]
    return ErrorCounts(
        tuple(types.count(leaf.id) for leaf in taxonomy.error_types),
        types.count(""),
        tuple(kinds.count(kind.id) for kind in taxonomy.false_positive_kinds),
    )


@dataclass(frozen=True, slots=True)
class Errors:
    """Columns with one row for each run: codes of agent and task, and its `ErrorCounts`.

    `agents` are the names behind the codes; `types` is runs × error types, `kinds` runs × kinds.
    """

    agents: tuple[str, ...]
    agent: Counts
    task: Counts
    types: Counts
    unsettled: Counts
    kinds: Counts


def errors_of(items: Iterable[AnalysedRun], taxonomy: Taxonomy) -> Errors:
    """The columns of the runs that were attributed."""
    found = [
        (item.run.agent, item.run.task, error_counts(item.attribution, taxonomy))
        for item in items
        if item.attribution
    ]
    agents, agent = np.unique([agent for agent, _, _ in found], return_inverse=True)
    _, task = np.unique([task for _, task, _ in found], return_inverse=True)
    return Errors(
        tuple(map(str, agents)),
        agent.astype(np.int64),
        task.astype(np.int64),
        _matrix([counts.types for _, _, counts in found], len(taxonomy.error_types)),
        np.array([counts.unsettled for _, _, counts in found], dtype=np.int64),
        _matrix([counts.kinds for _, _, counts in found], len(taxonomy.false_positive_kinds)),
    )


@dataclass(frozen=True, slots=True)
class Share:
    """Of one category: `share` is count / total, 0 to 1; both are None where there is no error at all."""

    id: str
    count: int
    share: float | None
    interval: Interval | None


@dataclass(frozen=True, slots=True)
class Distribution:
    """Of one agent's errors, in the taxonomy's order; `total` counts those in a category."""

    agent: str
    total: int
    unsettled: int
    runs: int
    tasks: int
    shares: tuple[Share, ...]


@dataclass(frozen=True, slots=True)
class Difference:
    """How much more of `left`'s errors are of a category than of `right`'s, over `tasks` common tasks.

    `p_value` is two-sided, by exchanging the agents within tasks; `p_adjusted` is Holm's over all pairs and
    categories. Both are None for fewer than two common tasks.
    """

    left: str
    right: str
    id: str
    tasks: int
    difference: float
    p_value: float | None
    p_adjusted: float | None


@dataclass(frozen=True, slots=True)
class Spread:
    """The errors of every agent over one set of categories, and how the agents differ."""

    agents: tuple[Distribution, ...]
    differences: tuple[Difference, ...]


@dataclass(frozen=True, slots=True)
class Distributions:
    """Missed claims by stage and by type, false claims by kind."""

    stages: Spread
    types: Spread
    kinds: Spread


def distributions(errors: Errors, taxonomy: Taxonomy, how: Resampling = RESAMPLING) -> Distributions:
    """The same runs in any order give the same."""
    stages = [stage.id for stage in taxonomy.stages]
    to_stage = np.zeros((len(taxonomy.error_types), len(stages)), dtype=np.int64)
    for row, leaf in enumerate(taxonomy.error_types):
        to_stage[row, stages.index(leaf.stage)] = 1
    types = [leaf.id for leaf in taxonomy.error_types]
    kinds = [kind.id for kind in taxonomy.false_positive_kinds]
    settled = np.zeros(len(errors.agent), dtype=np.int64)
    return Distributions(
        spread(errors, stages, errors.types @ to_stage, errors.unsettled, how),
        spread(errors, types, errors.types, errors.unsettled, how),
        spread(errors, kinds, errors.kinds, settled, how),
    )


def spread(
    errors: Errors, categories: Sequence[str], counts: Counts, unsettled: Counts, how: Resampling = RESAMPLING
) -> Spread:
    """Over `categories`, with `counts` of runs × categories."""
    tasks = int(errors.task.max(initial=-1)) + 1
    by_task = _by_task(errors, counts, tasks)
    ran = np.zeros((len(errors.agents), tasks), dtype=np.int64)
    np.add.at(ran, (errors.agent, errors.task), 1)
    unknown = np.bincount(errors.agent, unsettled, len(errors.agents)).astype(int)
    found = tuple(
        Distribution(
            agent,
            int(by_task[code].sum()),
            int(unknown[code]),
            int(ran[code].sum()),
            int((ran[code] > 0).sum()),
            _shares(categories, by_task[code], how.level),
        )
        for code, agent in enumerate(errors.agents)
    )
    return Spread(found, _differences(errors.agents, categories, by_task, how))


def _by_task(errors: Errors, counts: Counts, tasks: int) -> Counts:
    """Agents × tasks × categories."""
    summed = np.zeros((len(errors.agents), tasks, counts.shape[1]), dtype=np.int64)
    np.add.at(summed, (errors.agent, errors.task), counts)
    return summed


def _shares(categories: Sequence[str], by_task: Counts, level: float) -> tuple[Share, ...]:
    counts, total = by_task.sum(axis=0), int(by_task.sum())
    if not total:
        return tuple(Share(id_, 0, None, None) for id_ in categories)
    effective = effective_number(by_task)
    return tuple(
        Share(id_, int(count), float(count / total), wilson(float(count / total), effective, level))
        for id_, count in zip(categories, counts, strict=True)
    )


def effective_number(by_task: Counts) -> float:
    """How many independent errors those of tasks × categories (at least one) are worth: at most all of them.

    Where one category has them all, or one task, there is no variance to tell by: each task counts once.
    """
    by_task = by_task[by_task.sum(axis=1) > 0]
    tasks, total = len(by_task), int(by_task.sum())
    shares = by_task.sum(axis=0) / total
    independent = float((shares * (1 - shares)).sum()) / total
    if tasks < 2 or not independent:
        return float(tasks)
    residuals = by_task - by_task.sum(axis=1, keepdims=True) * shares
    clustered = tasks / (tasks - 1) * float((residuals**2).sum()) / total**2
    effect = max(1.0, clustered / independent)
    return max(total / effect, 1.0)


def wilson(share: float, n: float, level: float = 0.95) -> Interval:
    """Wilson's score interval of a share of `n` > 0 observations."""
    return Interval(*shares.wilson(share, n, level), level)


def _differences(
    agents: Sequence[str], categories: Sequence[str], by_task: Counts, how: Resampling
) -> tuple[Difference, ...]:
    found: list[Difference] = []
    stay, exact = _exchanges(by_task.shape[1], how)
    for left, right in itertools.combinations(range(len(agents)), 2):
        pair = by_task[[left, right]]
        common = (pair.sum(axis=2) > 0).all(axis=0)
        pair, tasks = pair * common[:, None], int(common.sum())
        if not tasks:
            continue
        observed = _difference(pair.sum(axis=1))
        p_values = _p_values(pair, stay, exact=exact) if tasks > 1 else [None] * len(categories)
        found += [
            Difference(agents[left], agents[right], id_, tasks, float(observed[column]), p, None)
            for column, (id_, p) in enumerate(zip(categories, p_values, strict=True))
            if pair[:, :, column].any()
        ]
    adjusted = holm([item.p_value for item in found])
    return tuple(replace(item, p_adjusted=p) for item, p in zip(found, adjusted, strict=True))


def _exchanges(tasks: int, how: Resampling) -> tuple[Floats, bool]:
    """Exchanges × tasks, 1 where a task stays as it is, and whether they are all that there are."""
    if tasks <= _EXACT_TASKS:
        return np.array(list(itertools.product((0.0, 1.0), repeat=tasks))), True
    return how.generator().integers(0, 2, (how.draws, tasks)).astype(np.float64), False


def _difference(totals: NDArray[Any]) -> Floats:
    """Of the shares of two agents: … × 2 × categories → … × categories; a side has at least one error."""
    shares = totals / totals.sum(axis=-1, keepdims=True)
    difference: Floats = shares[..., 0, :] - shares[..., 1, :]
    return difference


def _p_values(pair: Counts, stay: Floats, *, exact: bool) -> list[float]:
    """Two-sided p of each category: the share of exchanges with as large a difference.

    Of random exchanges it is (hits + 1) / (draws + 1), which is never 0 (Phipson and Smyth, 2010).
    """
    # Whole numbers, so exact in floating point, whose products are ten times as fast.
    left = stay @ (pair[0] - pair[1]).astype(np.float64) + pair[1].sum(axis=0)
    drawn = np.abs(_difference(np.stack([left, pair.sum(axis=(0, 1)) - left], axis=1)))
    hits = (drawn >= np.abs(_difference(pair.sum(axis=1))) - _ROUNDING).sum(axis=0)
    p_values = hits / len(stay) if exact else (hits + 1) / (len(stay) + 1)
    return [float(p) for p in p_values]


def _matrix(rows: Sequence[Sequence[int]], width: int) -> Counts:
    return np.array(rows, dtype=np.int64).reshape(len(rows), width)
