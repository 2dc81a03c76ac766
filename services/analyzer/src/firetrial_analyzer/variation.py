"""How sure an experiment's means are: intervals for each agent, and the differences between agents."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from firetrial_analyzer.outcomes import F1, SCORE, RunOutcome, latest_attempts
from firetrial_analyzer.paired import Comparison, Needed, compare, needed_of, repeated
from firetrial_analyzer.variance import (
    Interval,
    MedianCv,
    PassAtK,
    Resampling,
    Sample,
    pass_at_k,
    repeat_interval,
    spread,
    task_cv,
    task_interval,
    task_means,
)

# A report of 100,000 runs shall not wait for its intervals; they are good to a fiftieth of their width.
RESAMPLING = Resampling(draws=4000)
# A run passes that finds at least half; the numbers of runs are those of a small and of a usual experiment.
PASS_THRESHOLD = 0.5
PASS_RUNS = (1, 3, 5)


@dataclass(frozen=True, slots=True)
class Variation:
    """Of an agent's mean score, F1 in [0, 1] for instance. What the runs do not tell is None.

    `over_tasks` is the interval for other tasks of the same kind, `over_repeats` the one for the same tasks
    run again. `sample_std_over_tasks` stands beside the population std of the score. `cv` is over repeats.
    """

    over_tasks: Interval | None
    over_repeats: Interval | None
    sample_std_over_tasks: float | None
    cv: MedianCv

    @property
    def interval(self) -> Interval | None:
        """The one worth printing: over tasks where there are several, else over repeats."""
        return self.over_tasks or self.over_repeats


def samples(runs: Iterable[RunOutcome], measure: str = F1) -> dict[str, dict[str, list[float]]]:
    """Agent → task → score of each repeat that counts and is measured so."""
    found: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for run in latest_attempts(runs):
        if run.measure == measure and (score := run.score(SCORE)) is not None:
            found[run.agent][run.task].append(score)
    return {agent: dict(tasks) for agent, tasks in found.items()}


def variation(sample: Sample) -> Variation:
    return Variation(
        over_tasks=task_interval(sample, RESAMPLING),
        over_repeats=repeat_interval(sample, RESAMPLING),
        sample_std_over_tasks=spread(list(task_means(sample).values())).sample_std,
        cv=task_cv(sample),
    )


def comparisons(samples: Mapping[str, Sample]) -> tuple[Comparison, ...]:
    """Every pair of agents that was tested, that is, has at least two tasks in common."""
    return tuple(item for item in compare(samples, RESAMPLING) if item.p_value is not None)


def needed(samples: Mapping[str, Sample], pairs: Sequence[Comparison]) -> tuple[Needed, ...]:
    """For each of `pairs`, what it would take to tell the two apart, were they as different as they look."""
    known = {agent: repeated(sample) for agent, sample in samples.items()}
    return tuple(needed_of(known[pair.left], known[pair.right]) for pair in pairs)


def passes(sample: Sample) -> tuple[PassAtK, ...]:
    """pass@k at PASS_THRESHOLD for those of PASS_RUNS that some task has the runs for."""
    found = [pass_at_k(sample, k, PASS_THRESHOLD) for k in PASS_RUNS]
    return tuple(item for item in found if item.tasks)
