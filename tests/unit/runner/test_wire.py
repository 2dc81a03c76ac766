"""Domain → protobuf → domain gives the same."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firetrial.parser.v1 import task_pb2
from firetrial.plan.v1 import plan_pb2
from firetrial.runner.v1 import run_pb2
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.objects import ObjectRef
from firetrial_runner import wire
from firetrial_runner.allowance import MOST, Allowance
from firetrial_runner.gpus.device import Demand
from firetrial_runner.records import RunRecord
from firetrial_runner.run import End, Outcome, Run, RunState, RunUsage
from firetrial_runner.sandbox.port import Termination
from firetrial_runner.task import Source

ids = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_-]{0,20}", fullmatch=True)
words = st.text(max_size=30)
whole = st.integers(0, 2**31 - 1)
seconds = st.integers(0, 10**15).map(lambda nanos: nanos / 1e9)
moments = st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001
refs = st.none() | st.builds(ObjectRef, st.text(min_size=1, max_size=30), words, whole, words)
usages = st.builds(
    RunUsage,
    wall_s=seconds,
    cpu_s=st.none() | seconds,
    max_rss_bytes=st.none() | st.integers(1, 2**40),
    output_bytes=whole,
    steps=whole,
    cost_usd=st.none() | st.floats(0, 1e6),
    tokens=st.none() | whole,
    gpu_s=st.none() | seconds,
    gpu_utilisation=st.none() | st.floats(0, 1),
    max_gpu_memory_bytes=st.none() | whole,
)
ends = st.one_of(
    st.builds(End, st.sampled_from(Termination), code=st.integers(0, 255)),
    st.builds(End, st.sampled_from(Termination), signal=st.integers(1, 64)),
    st.builds(End, st.sampled_from(Termination)),
)
allowances = st.builds(
    Allowance,
    wall_s=st.integers(0, 86400).map(float),
    memory_bytes=st.integers(0, MOST.memory_bytes),
    cpus=st.floats(0, 256),
    processes=st.integers(0, MOST.processes),
    output_bytes=st.integers(0, MOST.output_bytes),
    disk_bytes=st.integers(0, MOST.disk_bytes),
    gpus=st.builds(Demand, st.integers(1, 64), st.integers(0, 2**50)) | st.just(Demand()),
)
many_runs = st.builds(
    Run,
    id=ids,
    experiment_id=ids | st.just(""),
    task_id=ids,
    agent_id=words,
    model=words,
    repeat=st.integers(1, 100),
    attempt=st.integers(1, 10),
    pool=words,
    limits=allowances,
    max_attempts=st.just(1),
    queued_at=moments,
    state=st.sampled_from(RunState),
    outcome=st.none() | st.sampled_from(Outcome),
    reason=words,
    cancel_requested=st.booleans(),
    superseded=st.booleans(),
    started_at=st.none() | moments,
    ended_at=st.none() | moments,
    end=st.none() | ends,
    usage=st.none() | usages,
    conclusion=refs,
    artifacts=refs,
    trajectory_chunks=whole,
    waiting_for=words,
)


def rounded(run: Run) -> Run:
    """As it comes back: what ended with a detail has it in the run's reason."""
    end = replace(run.end, detail=run.reason) if run.end else None
    return replace(run, end=end)


@given(many_runs)
def test_runs(run: Run) -> None:
    told = wire.run_to_wire(run)
    assert wire.run_to_domain(run_pb2.Run.FromString(told.SerializeToString())) == rounded(run)
    record = RunRecord(run)
    assert wire.result_to_domain(wire.result_to_json(run), record) == rounded(run)


@given(allowances)
def test_limits(limits: Allowance) -> None:
    assert wire.limits_to_domain(wire.limits_to_wire(limits)) == limits


def test_unknown_usage_is_unset_and_not_zero() -> None:
    usage = RunUsage(1.0, None, None, 0, 0)
    run = Run("r", "", "t", "a", "", 1, 1, "p", Allowance(), 1, datetime(2026, 1, 1, tzinfo=UTC), usage=usage)
    told = wire.run_to_wire(run).usage
    assert not told.HasField("cost_usd")
    assert not told.HasField("tokens")
    assert not told.HasField("cpu_time")


def test_every_fault_of_a_run_at_once() -> None:
    run = run_pb2.Run(
        id="a/b",
        task_id="",
        experiment_id="x y",
        outcome=99,  # type: ignore[arg-type]
        exit=run_pb2.Exit(),
        limits=plan_pb2.Limits(memory_bytes=-1),
    )
    with pytest.raises(FiretrialError) as caught:
        wire.run_to_domain(run)
    assert [fault.field for fault in caught.value.faults] == [
        "run.id",
        "run.task_id",
        "run.experiment_id",
        "run.repeat",
        "run.attempt",
        "run.state",
        "run.outcome",
        "run.exit.termination",
        "run.limits.memory_bytes",
    ]


@given(st.binary(max_size=200))
def test_slips_are_handed_on_as_they_came(data: bytes) -> None:
    slip = plan_pb2.Slip(experiment_id=data.hex(), plan=plan_pb2.Plan(model=data.hex()))
    assert wire.slip_to_wire(wire.slip_to_domain(slip)) == slip


def test_plans_fill_in_what_is_left_open() -> None:
    plan = wire.plan_to_domain(plan_pb2.Plan(agents=["a@1"], repeats=2))
    assert (plan.pool, plan.max_attempts, plan.limits) == ("default", 3, Allowance())


def test_tasks() -> None:
    task = wire.task_to_domain(b'{"id": "t-1", "instruction": "do", "something_new": 1}')
    assert (task.id, task.instruction, task.data) == ("t-1", "do", None)
    task = wire.task_to_domain(b'{"id": "t-1", "data": {"uri": "runs/tasks/t-1/data.tar", "size": "9"}}')
    assert task.data == ObjectRef("runs/tasks/t-1/data.tar", "", 9, "")
    assert task_pb2.Task().id == ""


@pytest.mark.parametrize("json", [b"", b"[]", b"\xff", b'{"id": 3}'])
def test_bad_objects_are_corrupt(json: bytes) -> None:
    with pytest.raises(FiretrialError) as caught:
        wire.task_to_domain(json)
    assert caught.value.reason is Reason.CORRUPT
    run = Run("r", "", "t", "a", "", 1, 1, "p", Allowance(), 1, datetime(2026, 1, 1, tzinfo=UTC))
    with pytest.raises(FiretrialError) as caught:
        wire.result_to_domain(json, RunRecord(run))
    assert caught.value.reason is Reason.CORRUPT


def test_data_that_a_task_names() -> None:
    task = wire.task_to_domain(b'{"id": "t", "sources": [{"hugging_face": "a/b"}, {"path": "c/d.csv"}]}')
    assert task.sources == (Source("a/b", "huggingface/a/b"), Source("c/d.csv", "c/d.csv"))


@pytest.mark.parametrize("path", ["", ".", "..", "/etc", "a/../b", "a//b", "a/", "a b", "a\\n", ".ssh"])
def test_data_that_could_lie_anywhere_is_no_place(path: str) -> None:
    told = f'{{"id": "t", "sources": [{{"path": "{path}"}}]}}'.encode()
    with pytest.raises(FiretrialError, match="names data"):
        wire.task_to_domain(told)
