"""A plan says what was asked for and leaves the rest unset."""

import pytest

from firetrial.plan.v1.plan_pb2 import JudgeConfig, Plan
from firetrial_client import FiretrialError, make_plan


def test_nothing_asked_for_is_nothing_set() -> None:
    assert make_plan(["a@1"]) == Plan(agents=["a@1"], repeats=1)


def test_everything() -> None:
    plan = make_plan(
        ["a@1"], repeats=3, pool="gpu", wall_time=90.5, memory=2**31, judge_model="m", max_tasks=2
    )
    assert plan.limits.wall_time.ToMilliseconds() == 90_500
    assert plan.limits.memory_bytes == 2**31
    assert (plan.judge.backend, plan.judge.model) == (JudgeConfig.BACKEND_MODEL, "m")
    assert (plan.pool, plan.max_tasks) == ("gpu", 2)


def test_contradictions_are_told_at_once() -> None:
    with pytest.raises(FiretrialError, match="offline judge takes no model"):
        make_plan(["a@1"], judge="offline", judge_model="m")
    with pytest.raises(FiretrialError, match="'oracle'"):
        make_plan(["a@1"], judge="oracle")
