"""Plans and their expansion."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from firetrial_runner import experiment as experiments
from firetrial_runner.allowance import DEFAULT, MOST, Allowance
from firetrial_runner.experiment import Experiment, Plan, experiment_id, request_faults
from firetrial_runner.run import Outcome, RunState

NOW = datetime(2026, 1, 1, tzinfo=UTC)
PLAN = Plan(agents=("a@1", "b@2"), repeats=3)


def fields(plan: Plan) -> list[str]:
    return [fault.field for fault in plan.faults({"a@1", "b@2"})]


def test_a_good_plan() -> None:
    assert fields(PLAN) == []


def test_every_fault_at_once() -> None:
    bad = Plan(
        agents=("a@1", "nobody@0", "a@1"),
        repeats=101,
        pool="GPU pool",
        limits=Allowance(wall_s=-1, memory_bytes=2**60),
        max_attempts=11,
        model="m" * 300,
    )
    assert fields(bad) == [
        "plan.agents[1]",
        "plan.agents[2]",
        "plan.repeats",
        "plan.max_attempts",
        "plan.pool",
        "plan.model",
        "plan.limits.wall_s",
        "plan.limits.memory_bytes",
    ]


def test_an_unknown_agent_is_told_which_there_are() -> None:
    (fault,) = Plan(("c@3",), 1).faults({"a@1", "b@2"})
    assert (fault.field, fault.value) == ("plan.agents[0]", "c@3")
    assert "a@1, b@2" in fault.cure
    (fault,) = Plan(("c@3",), 1).faults(())
    assert "none yet" in fault.cure


@pytest.mark.parametrize(
    ("request_id", "tasks", "wanted"),
    [
        ("", ("t-1",), []),
        ("has space", ("t-1",), ["request_id"]),
        ("", (), ["task_ids"]),
        ("", ("t-1", "../x", "t-1"), ["task_ids[1]", "task_ids[2]"]),
        ("", tuple(f"t-{n}" for n in range(2001)), ["task_ids"]),
    ],
)
def test_requests(request_id: str, tasks: tuple[str, ...], wanted: list[str]) -> None:
    assert [fault.field for fault in request_faults(request_id, tasks, PLAN)] == wanted


def test_too_many_runs() -> None:
    tasks = tuple(f"t-{n}" for n in range(200))
    (fault,) = request_faults("", tasks, replace(PLAN, repeats=100))
    assert "40000 runs" in fault.value


def test_expansion_is_in_order_and_the_same_every_time() -> None:
    runs = experiments.expand("e-1", ("t-1", "t-2"), PLAN, NOW)
    assert [(run.task_id, run.agent_id, run.repeat) for run in runs] == [
        (task, agent, repeat) for task in ("t-1", "t-2") for agent in ("a@1", "b@2") for repeat in (1, 2, 3)
    ]
    assert len({run.id for run in runs}) == 12
    assert runs == experiments.expand("e-1", ("t-1", "t-2"), PLAN, NOW)
    assert {run.attempt for run in runs} == {1}
    (first, *_) = runs
    assert experiments.attempts(first)[0] == first.id
    assert len(experiments.attempts(first)) == 3


def test_experiment_ids() -> None:
    assert experiment_id("mine", ("t-1",), b"x") == experiment_id("mine", ("t-2",), b"y")
    assert experiment_id("", ("t-1",), b"x") != experiment_id("", ("t-2",), b"x")
    assert experiment_id("", ("t-1",), b"x") != experiment_id("", ("t-1",), b"y")
    assert experiment_id("", ("t-1",), b"x") == experiment_id("", ("t-1",), b"x")


def test_counts_and_the_end() -> None:
    experiment = Experiment("e-1", ("t-1",), 3, NOW, "")
    runs = experiments.expand("e-1", ("t-1",), Plan(("a@1",), 3), NOW)
    first = replace(runs[0], state=RunState.ENDED, outcome=Outcome.SCORED)
    superseded = replace(runs[1], state=RunState.ENDED, outcome=Outcome.INFRA_FAILED, superseded=True)
    counted = experiments.counts([first, superseded, runs[2]])
    assert counted == {"scored": 1, "queued": 1}
    assert not experiments.has_ended(experiment, counted)
    assert not experiments.has_ended(experiment, {"scored": 2}), "one has not even been asked for"
    assert not experiments.has_ended(experiment, {"scored": 2, "concluded": 1})
    assert experiments.has_ended(experiment, {"scored": 2, "agent_failed": 1})
    assert experiments.has_ended(replace(experiment, failure="no agent"), {})


def test_limits_are_what_is_asked_for_or_the_default() -> None:
    limits = Allowance(wall_s=5, disk_bytes=1000).limits(DEFAULT)
    assert (limits.wall_s, limits.memory_bytes, limits.disk_bytes) == (5, DEFAULT.memory_bytes, 1000)
    assert limits.file_bytes == 1000
    assert list(limits.faults()) == []
    assert list(MOST.faults(MOST, "limits")) == []
    assert list(MOST.limits(DEFAULT).faults()) == []
