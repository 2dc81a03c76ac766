"""An experiment: tasks × agents × repeats, expanded into runs that are the same whoever expands them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime

from firetrial_kit.errors import Fault
from firetrial_kit.hosts import denied, rule_faults
from firetrial_kit.ids import digest
from firetrial_runner.allowance import MOST, Allowance
from firetrial_runner.run import Run, RunState, Slot, queued

MAX_REPEATS = 100
MAX_ATTEMPTS = 10
DEFAULT_ATTEMPTS = 3
MAX_RUNS = 20_000
MAX_TASKS = 2_000
MAX_AGENTS = 100
MAX_AT_ONCE = 5_000
_POOL = re.compile(r"[a-z0-9-]{1,32}")
_REQUEST = re.compile(r"[A-Za-z0-9_-]{0,64}")
# Ids become keys of state and objects.
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}")

_RANGES = (  # of a plan, with the least as it is told: what a request leaves at 0 has its value by then
    ("repeats", 1, "1", MAX_REPEATS),
    ("max_attempts", 1, f"0 ({DEFAULT_ATTEMPTS})", MAX_ATTEMPTS),
    ("at_once", 0, "0 (as many as fit)", MAX_AT_ONCE),
)


@dataclass(frozen=True, slots=True)
class Plan:
    """What the runner has to know of a plan. `pool` is never empty here, `max_attempts` never 0."""

    agents: tuple[str, ...]
    repeats: int
    pool: str = "default"
    limits: Allowance = field(default_factory=Allowance)
    max_attempts: int = DEFAULT_ATTEMPTS
    model: str = ""
    denied_hosts: tuple[str, ...] = ()
    at_once: int = 0

    def faults(self, known: Collection[str], most: Allowance = MOST) -> Iterator[Fault]:
        """Everything that is wrong; `known` are the ids of the agents there are."""
        if not self.agents:
            yield Fault("plan.agents", "[]", "must name at least one agent")
        if len(self.agents) > MAX_AGENTS:
            yield Fault("plan.agents", f"{len(self.agents)} agents", f"must be at most {MAX_AGENTS}")
        for index, agent in enumerate(self.agents):
            field = f"plan.agents[{index}]"
            if agent not in known:
                yield Fault(field, agent, f"must be an agent that was submitted: {_told(known)}")
            if self.agents.index(agent) != index:
                yield Fault(field, agent, "must be there once; ask for repeats instead")
        for name, least, told, top in _RANGES:
            if not least <= (value := getattr(self, name)) <= top:
                yield Fault(f"plan.{name}", str(value), f"must be {told} to {top}")
        if not _POOL.fullmatch(self.pool):
            yield Fault("plan.pool", self.pool, f"must match {_POOL.pattern}")
        if len(self.model) > 256:
            yield Fault("plan.model", self.model, "must be at most 256 characters")
        yield from rule_faults("plan.denied_hosts", self.denied_hosts, denied)
        yield from self.limits.faults(most, "plan.limits")


@dataclass(frozen=True, slots=True)
class Experiment:
    """`plan_bytes` is the plan as it came, in hex; `failure` is why it never came to runs."""

    id: str
    task_ids: tuple[str, ...]
    expected_runs: int
    submitted_at: datetime
    plan_bytes: str
    cancel_requested: bool = False
    failure: str = ""


def request_faults(request_id: str, task_ids: tuple[str, ...], plan: Plan) -> Iterator[Fault]:
    """What is wrong with a request, the plan aside."""
    if not _REQUEST.fullmatch(request_id):
        yield Fault("request_id", request_id, f"must match {_REQUEST.pattern}")
    if not task_ids:
        yield Fault("task_ids", "[]", "must name at least one task")
    if len(task_ids) > MAX_TASKS:
        yield Fault("task_ids", f"{len(task_ids)} tasks", f"must be at most {MAX_TASKS}: split it")
        return
    for index, task in enumerate(task_ids):
        if not is_id(task):
            yield Fault(f"task_ids[{index}]", task, "must be a task's id")
        if task_ids.index(task) != index:
            yield Fault(f"task_ids[{index}]", task, "must be there once; ask for repeats instead")
    if (runs := len(task_ids) * len(plan.agents) * plan.repeats) > MAX_RUNS:
        yield Fault("plan", f"{runs} runs", f"must come to at most {MAX_RUNS}: split it")


def is_id(value: str) -> bool:
    """Whether something can have this id."""
    return _ID.fullmatch(value) is not None


def experiment_id(request_id: str, task_ids: tuple[str, ...], plan: bytes) -> str:
    """The id of what a request asks for; a request's own id, if it has one, is all that counts."""
    parts = ("request", request_id) if request_id else ("content", list(task_ids), plan.hex())
    return f"e-{digest(*parts, length=16)}"


def expand(experiment: str, task_ids: Iterable[str], plan: Plan, now: datetime) -> list[Run]:
    """The first attempt of every run, in the experiment's order."""
    return [
        queued(
            Slot(experiment, task, agent, plan.model, plan.limits, repeat),
            1,
            plan.pool,
            plan.max_attempts,
            now,
        )
        for task in task_ids
        for agent in plan.agents
        for repeat in range(1, plan.repeats + 1)
    ]


def first_run(experiment: Experiment, plan: Plan, place: int) -> str | None:
    """The id of the first attempt at the slot at a place, from 0, in the experiment's order; None past it."""
    tasks, agents = experiment.task_ids, plan.agents
    at, repeat = divmod(place, plan.repeats)
    task, agent = divmod(at, len(agents))
    if task >= len(tasks):
        return None
    slot = Slot(experiment.id, tasks[task], agents[agent], plan.model, plan.limits, repeat + 1)
    return slot.run_id(1)


def attempts(first: Run) -> list[str]:
    """The ids of all attempts that a run may come to, from its first."""
    return [first.slot.run_id(attempt) for attempt in range(1, first.max_attempts + 1)]


def counts(runs: Iterable[Run]) -> dict[str, int]:
    """Runs by state, ended ones by outcome; attempts that another follows are not counted."""
    return dict(
        Counter(
            str(run.outcome) if run.state is RunState.ENDED else str(run.state)
            for run in runs
            if not run.superseded
        )
    )


def has_ended(experiment: Experiment, counted: dict[str, int]) -> bool:
    """Whether every expected run has ended, or none will ever be."""
    going = sum(counted.get(state, 0) for state in ("queued", "running", "concluded"))
    return bool(experiment.failure) or (not going and sum(counted.values()) >= experiment.expected_runs)


def _told(known: Collection[str]) -> str:
    return ", ".join(sorted(known)[:10]) or "there is none yet"
