"""The report of one experiment as one value, from which every format but the rows themselves is rendered.

As JSON it is `firetrial.report/2`: the dataclasses below, field by field, scores from 0 to 1, durations in
seconds, memory in bytes, times in ISO 8601 and null for what is unknown or undefined. Intervals and p-values
come from seeded resampling. Fields may be added under the same name; a changed or removed field makes it
`firetrial.report/3`. All aggregates are over all runs; `runs` has the details of some of them, and `omitted`
says how many it leaves out. The rows of all runs are in the formats csv and parquet (see `columns`).
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from firetrial_analyzer.analysis import AnalysedRun, Judge
from firetrial_analyzer.components import VarianceSplit
from firetrial_analyzer.cost import AgentCost, TaskCost
from firetrial_analyzer.distributions import Distributions
from firetrial_analyzer.improvements import Improvements
from firetrial_analyzer.kinds.validity import Validity
from firetrial_analyzer.memory import UNRATED, Memory
from firetrial_analyzer.outcomes import F1, Outcome, RunOutcome
from firetrial_analyzer.paired import Comparison, Needed
from firetrial_analyzer.pareto import Front
from firetrial_analyzer.scores import AgentScore, TaskScore
from firetrial_analyzer.variance import PassAtK
from firetrial_analyzer.variation import Variation

SCHEMA: Literal["firetrial.report/2"] = "firetrial.report/2"


@dataclass(frozen=True, slots=True)
class Task:
    """What was asked. `broken` lists what is known to be wrong with the task.

    `difficulty` is easy, medium, hard or unrated; `published` is when the paper could first be read: YYYY,
    YYYY-MM or YYYY-MM-DD, empty where nobody said.
    """

    id: str
    question: str = ""
    broken: tuple[str, ...] = ()
    difficulty: str = UNRATED
    published: str = ""


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
class IntegrityCounts:
    """Over the runs whose conclusion was looked up in what they did: numbers by where they come from.

    `findings` counts the runs that have a finding of each name, by name.
    """

    runs: int
    traced: int
    derived: int
    untraced: int
    given: int
    not_a_result: int
    findings: tuple[tuple[str, int], ...]

    @property
    def untraced_share(self) -> float | None:
        """Of the numbers that are results, 0 to 1; None where there are none."""
        results = self.traced + self.derived + self.untraced
        return self.untraced / results if results else None


@dataclass(frozen=True, slots=True)
class Point:
    """One run in a plot. `failed` is an agent's failure, which counts as 0; `score` is by its measure."""

    task: str
    repeat: int
    f1: float | None
    failed: bool
    wall_seconds: float | None
    usd: float | None
    score: float | None = None


@dataclass(frozen=True, slots=True)
class AgentReport:
    """`points` are runs that enter the score, all of them or MAX_POINTS evenly chosen by slot.

    `split` tells the agent's own variance from the judge's, `passes` the chance to reach a threshold in k
    runs; `integrity` is None where no conclusion was looked up.
    """

    score: AgentScore
    cost: AgentCost | None
    claims: ClaimCounts
    variation: Variation | None = None
    split: VarianceSplit | None = None
    passes: tuple[PassAtK, ...] = ()
    integrity: IntegrityCounts | None = None
    points: tuple[Point, ...] = ()

    @property
    def agent(self) -> str:
        return self.score.agent


@dataclass(frozen=True, slots=True)
class Experiment:
    """What was planned: each of `agents` on each of `tasks`, `repeats` times.

    `expected_runs` counts the planned slots, also those of tasks that are not known yet.
    """

    id: str
    tasks: tuple[Task, ...]
    expected_runs: int
    agents: tuple[str, ...] = ()
    repeats: int = 0
    model: str = ""
    probe: str = ""


@dataclass(frozen=True, slots=True)
class Pair:
    """What it would take to tell two agents apart."""

    left: str
    right: str
    needed: Needed


@dataclass(frozen=True, slots=True)
class Uncounted:
    """Runs that ended with the same outcome for the same reason."""

    outcome: Outcome
    reason: str
    runs: int


@dataclass(frozen=True, slots=True)
class Omitted:
    """How many have no details in this report. Their rows are in the formats csv and parquet."""

    runs: int = 0
    earlier_attempts: int = 0
    reasons: int = 0


@dataclass(frozen=True, slots=True)
class Report:
    """Agents by falling score; task scores and costs by task and agent; the latest attempts by slot.

    `comparisons` has the pairs of agents with at least two common tasks, and `needed` the repeats that would
    tell each of them apart; `front` sets scores against costs. `reasons` says why runs were not scored, the
    most frequent first. Where runs are left out, `runs` has the first repeats of every task and agent.
    `errors` spreads the errors of attributed runs, and `memory` says whether scores look remembered; each is
    None where nothing was looked at. `measure` is the main one, by which agents are ranked and compared, and
    `improvements` has the tables of repository tasks; `validities` are of follow-up tasks, by agent.
    """

    schema: Literal["firetrial.report/2"]
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
    comparisons: tuple[Comparison, ...]
    needed: tuple[Pair, ...]
    front: Front
    reasons: tuple[Uncounted, ...]
    runs: tuple[AnalysedRun, ...]
    earlier_attempts: tuple[RunOutcome, ...]
    omitted: Omitted
    errors: Distributions | None = None
    memory: Memory | None = None
    task_costs: tuple[TaskCost, ...] = ()
    measure: str = F1
    improvements: Improvements | None = None
    validities: tuple[Validity, ...] = ()

    @property
    def complete(self) -> bool:
        return self.ended_runs >= self.expected_runs

    @property
    def calibrated(self) -> bool:
        """Whether a calibration against human labels speaks for every judge that has opinions."""
        return bool(self.judges) and all(judge.calibrated or judge.measured for judge in self.judges)
