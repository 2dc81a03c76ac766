"""A plan says what was asked for and leaves the rest unset."""

import pytest

from firetrial.plan.v1.plan_pb2 import JudgeConfig, Plan
from firetrial_client import FiretrialError, Spending, make_judge, make_plan


def test_nothing_asked_for_is_nothing_set() -> None:
    assert make_plan(["a@1"]) == Plan(agents=["a@1"], repeats=1)


def test_everything() -> None:
    plan = make_plan(
        ["a@1"], repeats=3, pool="gpu", wall_time=90.5, memory=2**31, judge=make_judge(model="m"), max_tasks=2
    )
    assert plan.limits.wall_time.ToMilliseconds() == 90_500
    assert plan.limits.memory_bytes == 2**31
    assert (plan.judge.backend, plan.judge.model) == (JudgeConfig.BACKEND_MODEL, "m")
    assert (plan.pool, plan.max_tasks) == ("gpu", 2)


def test_money_probe_and_model() -> None:
    spending = Spending(usd=5.0, run_usd=0.5, run_tokens=10_000, run_calls={"*": 100})
    plan = make_plan(["a@1", "p@2"], model="m", probe="p@2", spending=spending, at_once=4, release="2026.11")
    assert (plan.model, plan.probe, plan.max_cost_usd, plan.at_once) == ("m", "p@2", 5.0, 4)
    assert (plan.limits.model_cost_usd, plan.limits.model_tokens) == (0.5, 10_000)
    assert (dict(plan.limits.model_calls), plan.release) == ({"*": 100}, "2026.11")
    assert not make_plan(["a@1"], memory=1).limits.HasField("model_cost_usd")


def test_a_judge_of_many_parts() -> None:
    config = make_judge(mode="set", panel=["n", "o"], repeats=2, core_idea=True, max_cost_usd=0.0)
    assert (config.backend, config.mode) == (JudgeConfig.BACKEND_MODEL, JudgeConfig.MODE_SET)
    assert (list(config.panel), config.judge_repeats, config.core_idea) == (["n", "o"], 2, True)
    assert config.HasField("max_cost_usd")
    assert not make_judge("offline").HasField("max_cost_usd")


def test_contradictions_are_told_at_once() -> None:
    with pytest.raises(FiretrialError) as caught:
        make_judge("offline", "m", mode="guess")
    assert [fault.field for fault in caught.value.faults] == ["judge_mode", "judge_model"]
    with pytest.raises(FiretrialError, match="'oracle'"):
        make_plan(["a@1"], judge="oracle")
