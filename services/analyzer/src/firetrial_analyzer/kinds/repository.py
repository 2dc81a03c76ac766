"""What a repository run came to, from its recorded steps and its sealed test.

Formulas are those of FML-bench's scorer (see `process` and `process_steps`). Steps that were void are counted
and measure nothing: they were never validated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from firetrial_analyzer.process import Exploration, Matrix, exploration, progress
from firetrial_analyzer.process_steps import StepCounts, StepRates, credited_test, step_rates, val_test_gap
from firetrial_kit.improvement import Direction, Worst, neg_log10

MEASURE = "normalized_improvement"
DEFAULT_STEPS = 100
"""Steps of a run whose task says nothing of them, as the contract has it."""


@dataclass(frozen=True, slots=True)
class Metric:
    """What is improved. `direction`, `best` and `worst` are of `shown` values."""

    key: str
    direction: Direction
    best: float
    worst: Worst
    logarithmic: bool = False

    def shown(self, value: float | None) -> float | None:
        """The value as it is compared: its -log10 where the task says so, None where that is undefined."""
        return neg_log10(value) if self.logarithmic else value


@dataclass(frozen=True, slots=True)
class RepositoryTask:
    """`apart` is a target that is no code: the settings of the split, or ""."""

    metric: Metric
    targets: tuple[str, ...]
    baseline_validation: float | None = None
    baseline_test: float | None = None
    assigned: int = DEFAULT_STEPS
    apart: str = ""


@dataclass(frozen=True, slots=True)
class RecordedStep:
    """A step as the runner kept it. `metric` is None for one that is not valid.

    `files` are sha256 of the target files that it handed in, by path.
    """

    number: int
    void: bool = False
    metric: float | None = None
    files: Mapping[str, str] = field(default_factory=dict)
    tokens: int | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Sealed:
    """What the judge says of the sealed test; figures are as they were measured.

    `no_credit` says why the test counts as the baseline's, "" where it counts.
    """

    step: int = 0
    validation: float | None = None
    test: float | None = None
    validation_improvement: float | None = None
    test_improvement: float | None = None
    no_credit: str = ""
    findings: tuple[str, ...] = ()


NOT_JUDGED = Sealed(validation_improvement=0.0, test_improvement=0.0, no_credit="not judged")
"""Of a run that the agent failed: it counts as the baseline."""


@dataclass(frozen=True, slots=True)
class Spent:
    """What the whole run took; None is unknown."""

    tokens: int | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Explored:
    """How widely the code of a run's steps lies, and by which embedder."""

    exploration: Exploration
    embedder: str = ""

    @classmethod
    def of(cls, embeddings: Matrix | None, baseline: Matrix | None, embedder: str = "") -> Explored:
        """From a row for each step that was not void, in their order, and the pinned source's."""
        return cls(exploration(embeddings, baseline), embedder)


@dataclass(frozen=True, slots=True)
class Improvement:
    """How far and how a run improved its repository. None is undefined or unknown.

    Values of the metric are `Metric.shown`, the rest in units of |best - worst|. `test` is what counts: the
    baseline's where there is no credit. Steps are told by their numbers, which count from 1.
    """

    metric: str
    direction: str
    steps: int
    valid: int
    void: int
    rates: StepRates
    exploration: Exploration
    embedder: str
    tested_step: int = 0
    baseline_validation: float | None = None
    baseline_test: float | None = None
    validation: float | None = None
    test: float | None = None
    validation_improvement: float | None = None
    test_improvement: float | None = None
    val_test_gap: float | None = None
    assigned: int = DEFAULT_STEPS
    no_credit: str = ""
    best_so_far: tuple[float, ...] = ()
    auc: float | None = None
    first_improvement_step: int | None = None
    late_gain_fraction: float | None = None
    best_improvement_step: int | None = None


def improvement(
    task: RepositoryTask, steps: Sequence[RecordedStep], sealed: Sealed, spent: Spent, explored: Explored
) -> Improvement:
    """From what was recorded of a run."""
    metric = task.metric
    tried = [step for step in steps if not step.void]
    values = [metric.shown(step.metric) for step in tried]
    baseline = metric.shown(task.baseline_validation)
    made = progress(values, baseline, metric.direction, metric.best, metric.worst)
    credited = _credited(task, sealed)
    return Improvement(
        metric=metric.key,
        direction=metric.direction.value,
        steps=len(steps),
        valid=made.n_valid,
        void=len(steps) - len(tried),
        rates=step_rates(StepCounts(len(steps), made.n_valid, task.assigned, spent.tokens, spent.seconds)),
        exploration=explored.exploration,
        embedder=explored.embedder,
        tested_step=sealed.step,
        baseline_validation=baseline,
        baseline_test=metric.shown(task.baseline_test),
        validation=metric.shown(sealed.validation),
        test=metric.shown(credited),
        validation_improvement=sealed.validation_improvement,
        test_improvement=sealed.test_improvement,
        assigned=task.assigned,
        val_test_gap=val_test_gap(sealed.validation_improvement, sealed.test_improvement),
        no_credit=sealed.no_credit,
        best_so_far=_best_so_far(values, baseline, metric.direction),
        auc=made.auc,
        first_improvement_step=_numbered(tried, made.first_improvement_step),
        late_gain_fraction=made.late_gain_fraction,
        best_improvement_step=_numbered(tried, made.best_improvement_step),
    )


def _credited(task: RepositoryTask, sealed: Sealed) -> float | None:
    if task.baseline_test is None:
        return None if sealed.no_credit else sealed.test
    return credited_test(
        sealed.test,
        task.baseline_test,
        all_steps_failed=False,
        bug=bool(sealed.no_credit),
        constraint_violated=False,
    )


def _numbered(tried: Sequence[RecordedStep], place: int | None) -> int | None:
    """The number of the step at a place that counts from 1."""
    return None if place is None else tried[place - 1].number


def _best_so_far(
    values: Sequence[float | None], baseline: float | None, direction: Direction
) -> tuple[float, ...]:
    """After each step, the best value up to it and of the baseline; left out while there is none."""
    better = max if direction is Direction.HIGHER else min
    best, curve = baseline, []
    for value in values:
        if value is not None:
            best = value if best is None else better(best, value)
        if best is not None:
            curve.append(best)
    return tuple(curve)


def code(task: RepositoryTask, handed_in: Mapping[str, str], pinned: Mapping[str, str]) -> str:
    """The code of a step: what was handed in by the order of its paths, then the targets that were not.

    As FML-bench's scorer joins it for an embedding, without the settings of the split.
    """
    rest = [path for path in sorted(task.targets) if path not in handed_in]
    texts = [handed_in[path] for path in sorted(handed_in) if path != task.apart]
    return "\n".join([*texts, *(pinned.get(path, "") for path in rest if path != task.apart)])
