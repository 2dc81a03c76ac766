"""The life of a run, as pure changes."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from firetrial_kit.objects import ObjectRef
from firetrial_runner import run as runs
from firetrial_runner.allowance import Allowance
from firetrial_runner.run import (
    End,
    LeaseLostError,
    ModelTrouble,
    Outcome,
    Run,
    RunState,
    RunUsage,
    Slot,
    Yield,
)
from firetrial_runner.sandbox.port import Termination

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SLOT = Slot("e-1", "task-1", "agent@1", "", Allowance(), 1)
QUEUED = runs.queued(SLOT, 1, "default", 3, NOW)
RUNNING = runs.claimed(QUEUED, "me", NOW, 30) or QUEUED
REF = ObjectRef("runs/x", "0" * 64, 1, "text/plain")
USAGE = RunUsage(1.0, 0.5, 1000, 10, 3)


def came_of(termination: Termination, *, concluded: bool = False, code: int | None = None) -> Yield:
    end = End(termination, code, None, "" if code is not None else "why")
    return Yield(end, USAGE, REF if concluded else None, "no file", None, 1)


def test_ids_name_everything_that_makes_a_run_another() -> None:
    others = [
        replace(SLOT, experiment_id="e-2"),
        replace(SLOT, task_id="task-2"),
        replace(SLOT, agent_id="agent@2"),
        replace(SLOT, model="m"),
        replace(SLOT, limits=Allowance(wall_s=1)),
        replace(SLOT, repeat=2),
    ]
    ids = {slot.run_id(1) for slot in (SLOT, *others)} | {SLOT.run_id(2)}
    assert len(ids) == 8
    assert SLOT.run_id(1) == QUEUED.id
    assert all(len(id_) == 22 and id_.startswith("r-") for id_ in ids)
    assert QUEUED.slot == SLOT


def test_what_is_asked_for_as_int_or_float_is_the_same() -> None:
    as_int = replace(SLOT, limits=Allowance(wall_s=60, cpus=1)).run_id(1)
    assert replace(SLOT, limits=Allowance(wall_s=60.0, cpus=1.0)).run_id(1) == as_int


@pytest.mark.parametrize(
    ("termination", "code", "concluded", "state", "outcome"),
    [
        (Termination.EXITED, 0, True, RunState.CONCLUDED, None),
        (Termination.EXITED, 1, True, RunState.CONCLUDED, None),
        (Termination.TIMED_OUT, None, True, RunState.CONCLUDED, None),
        (Termination.OOM_KILLED, None, True, RunState.CONCLUDED, None),
        (Termination.EXITED, 0, False, RunState.ENDED, Outcome.AGENT_FAILED),
        (Termination.TIMED_OUT, None, False, RunState.ENDED, Outcome.AGENT_FAILED),
        (Termination.OOM_KILLED, None, False, RunState.ENDED, Outcome.AGENT_FAILED),
        (Termination.OUTPUT_LIMIT, None, False, RunState.ENDED, Outcome.AGENT_FAILED),
        (Termination.DISK_LIMIT, None, False, RunState.ENDED, Outcome.AGENT_FAILED),
        (Termination.LOST, None, True, RunState.ENDED, Outcome.INFRA_FAILED),
        (Termination.LOST, None, False, RunState.ENDED, Outcome.INFRA_FAILED),
        (Termination.CANCELLED, None, True, RunState.ENDED, Outcome.CANCELLED),
    ],
)
def test_every_end_has_one_outcome(
    termination: Termination, code: int | None, *, concluded: bool, state: RunState, outcome: Outcome | None
) -> None:
    run = runs.over(RUNNING, came_of(termination, concluded=concluded, code=code), NOW)
    assert (run.state, run.outcome) == (state, outcome)
    assert bool(run.reason) == (outcome is not None)
    assert run.ended_at == NOW
    assert run.superseded == (outcome is Outcome.INFRA_FAILED)
    assert run.lease is None


def test_no_conclusion_says_how_it_ended() -> None:
    signalled = Yield(End(Termination.EXITED, None, 11), USAGE, None, "no file", None, 1)
    assert "signal 11" in runs.over(RUNNING, signalled, NOW).reason
    assert "exited with 7" in runs.over(RUNNING, came_of(Termination.EXITED, code=7), NOW).reason
    assert "no file" in runs.over(RUNNING, came_of(Termination.EXITED, code=7), NOW).reason


@pytest.mark.parametrize(
    ("run", "what"),
    [
        (replace(RUNNING, attempt=3), came_of(Termination.LOST)),
        (replace(RUNNING, cancel_requested=True), came_of(Termination.LOST)),
        (RUNNING, replace(came_of(Termination.LOST), final=True)),
        (RUNNING, came_of(Termination.EXITED, code=1)),
    ],
)
def test_no_further_attempt(run: Run, what: Yield) -> None:
    assert not runs.over(run, what, NOW).superseded


def test_the_next_attempt_is_the_same_but_for_its_number() -> None:
    following = runs.next_attempt(replace(RUNNING, state=RunState.ENDED, superseded=True), NOW)
    assert (following.attempt, following.slot, following.state) == (2, SLOT, RunState.QUEUED)
    assert following.id == SLOT.run_id(2)
    assert (following.outcome, following.lease, following.superseded) == (None, None, False)


def test_reasons_are_short_enough_to_travel() -> None:
    long = Yield(End(Termination.LOST, detail="x" * 100_000), None, None, "", None, 0)
    assert len(runs.over(RUNNING, long, NOW).reason) == runs.MAX_REASON


def test_claiming() -> None:
    assert RUNNING.state is RunState.RUNNING
    assert RUNNING.lease == runs.Lease("me", NOW + timedelta(seconds=30))
    assert RUNNING.started_at == NOW
    assert runs.claimed(RUNNING, "other", NOW, 30) is None
    assert runs.claimed(replace(QUEUED, state=RunState.ENDED), "me", NOW, 30) is None


def test_a_lease_is_kept_by_its_holder_only() -> None:
    later = NOW + timedelta(seconds=10)
    kept = runs.renewed(RUNNING, "me", later, 30)
    assert kept.lease is not None
    assert kept.lease.expires_at == later + timedelta(seconds=30)
    for run in (replace(RUNNING, lease=None), replace(RUNNING, state=RunState.ENDED)):
        with pytest.raises(LeaseLostError):
            runs.renewed(run, "me", later, 30)
    with pytest.raises(LeaseLostError):
        runs.renewed(RUNNING, "other", later, 30)
    with pytest.raises(LeaseLostError):
        runs.finished(RUNNING, RUNNING, "other")


def test_lost_only_once_the_lease_is_over() -> None:
    assert runs.lost(RUNNING, NOW + timedelta(seconds=29), "gone") is None
    lost = runs.lost(RUNNING, NOW + timedelta(seconds=30), "gone")
    assert lost is not None
    assert (lost.outcome, lost.superseded, lost.reason) == (Outcome.INFRA_FAILED, True, "gone")
    assert lost.end == End(Termination.LOST, detail="gone")
    assert runs.lost(QUEUED, NOW, "gone") is None
    last = runs.lost(replace(RUNNING, attempt=3, lease=None), NOW, "gone")
    assert last is not None
    assert not last.superseded


def test_a_released_lease_is_over_at_once() -> None:
    released = runs.released(RUNNING, "me", NOW)
    assert released is not None
    assert runs.lost(released, NOW, "given back") is not None
    assert runs.released(RUNNING, "other", NOW) is None


def test_cancelling() -> None:
    queued = runs.cancelled(QUEUED, NOW)
    assert queued is not None
    assert (queued.state, queued.outcome, queued.cancel_requested) == (
        RunState.ENDED,
        Outcome.CANCELLED,
        True,
    )
    running = runs.cancelled(RUNNING, NOW)
    assert running == replace(RUNNING, cancel_requested=True)
    assert runs.cancelled(queued, NOW) is None
    assert runs.cancelled(replace(RUNNING, state=RunState.CONCLUDED), NOW) is None


def test_a_cancellation_that_comes_late_is_kept_and_ends_the_attempts() -> None:
    result = runs.over(RUNNING, came_of(Termination.LOST), NOW)
    done = runs.finished(replace(RUNNING, cancel_requested=True), result, "me")
    assert (done.cancel_requested, done.superseded, done.outcome) == (True, False, Outcome.INFRA_FAILED)


def test_judging() -> None:
    concluded = runs.over(RUNNING, came_of(Termination.EXITED, concluded=True, code=0), NOW)
    scored = runs.judged(concluded)
    assert scored is not None
    assert (scored.state, scored.outcome) == (RunState.ENDED, Outcome.SCORED)
    failed = runs.not_judged(concluded, NOW, "no truth")
    assert failed is not None
    assert (failed.outcome, failed.reason, failed.superseded) == (Outcome.JUDGE_FAILED, "no truth", False)
    assert runs.judged(failed) == replace(scored, end=failed.end)
    for over in (scored, runs.over(RUNNING, came_of(Termination.EXITED, code=1), NOW)):
        assert runs.judged(over) is None
        assert runs.not_judged(over, NOW, "late") is None


DOWN = ModelTrouble(down="openai answered 503")


@pytest.mark.parametrize(
    ("termination", "models", "outcome", "reason"),
    [
        (Termination.EXITED, DOWN, Outcome.INFRA_FAILED, "answered 503"),
        (Termination.TIMED_OUT, DOWN, Outcome.INFRA_FAILED, "answered 503"),
        (Termination.OOM_KILLED, DOWN, Outcome.AGENT_FAILED, ""),
        (Termination.EXITED, ModelTrouble(over_budget="2 calls"), Outcome.AGENT_FAILED, "used up: 2 calls"),
        (Termination.EXITED, ModelTrouble(), Outcome.AGENT_FAILED, ""),
    ],
)
def test_who_is_to_blame_for_want_of_a_model(
    termination: Termination, models: ModelTrouble, outcome: Outcome, reason: str
) -> None:
    end = End(termination, code=1)
    _, found, why = runs.verdict(end, concluded=False, why_none="none", models=models)
    assert found is outcome
    assert reason in why
    assert runs.verdict(end, concluded=True, models=models) == (RunState.CONCLUDED, None, "")
