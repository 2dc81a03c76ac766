"""How long a runner stays."""

from __future__ import annotations

import asyncio
import os
import signal
from dataclasses import replace
from pathlib import Path

import pytest
import structlog

from firetrial.plan.v1 import plan_pb2
from firetrial_kit.testing import ManualClock
from firetrial_runner.dispatch import WaitsError
from firetrial_runner.pilots.stay import MARGIN_S, NOTICE_S, Stay
from firetrial_runner.run import RunState
from unit.runner.world import World

DRAIN_S = 20.0
USABLE_S = 1000.0


def stay(clock: ManualClock, *, idle_s: float = 0, wall_s: float = 0) -> Stay:
    return Stay(clock, structlog.get_logger(), idle_s, wall_s, DRAIN_S, default_s=600)


def test_one_without_end_stays_and_takes_all() -> None:
    clock = ManualClock()
    found = stay(clock)
    clock.advance(10**6)
    assert (found.why_leave(), found.lasts(10**9)) == ("", True)


def test_idleness_begins_anew_with_each_run() -> None:
    clock = ManualClock()
    found = stay(clock, idle_s=60)
    clock.advance(59)
    assert not found.why_leave()
    with found.busy():
        clock.advance(3600)
        assert not found.why_leave()
    clock.advance(59)
    assert not found.why_leave()
    clock.advance(1)
    assert found.why_leave() == "idle for 60 s"
    assert found.taken == 1


def test_a_run_that_fails_is_no_longer_in_hand() -> None:
    clock = ManualClock()
    found = stay(clock, idle_s=60)
    with pytest.raises(OSError, match="lost"), found.busy():
        raise OSError("lost")
    clock.advance(60)
    assert found.why_leave()


def test_its_time_ends_before_its_jobs() -> None:
    clock = ManualClock()
    found = stay(clock, wall_s=USABLE_S + DRAIN_S + MARGIN_S)
    with found.busy():
        clock.advance(USABLE_S - 1)
        assert not found.why_leave()
        clock.advance(1)
        assert found.why_leave() == "its time is over"


@pytest.mark.parametrize(("asks_s", "fits"), [(900, True), (901, False), (0, True)])
def test_only_runs_that_can_end_are_taken(asks_s: float, fits: bool) -> None:
    clock = ManualClock()
    found = stay(clock, wall_s=USABLE_S + DRAIN_S + MARGIN_S)
    clock.advance(100)
    assert found.lasts(asks_s) is fits


def test_after_one_that_cannot_end_what_is_in_hand_is_finished_and_it_leaves() -> None:
    clock = ManualClock()
    found = stay(clock, wall_s=USABLE_S + DRAIN_S + MARGIN_S)
    with found.busy():
        clock.advance(500)
        assert not found.lasts(0)  # 600 by default
        assert not found.why_leave()
    assert found.why_leave() == "a run waits that needs more time than is left"


def test_told_of_the_end_it_takes_nothing_and_what_it_has_may_end_within_the_notice() -> None:
    clock = ManualClock()
    found = stay(clock, wall_s=3600)
    with found.busy():
        found.told()
        assert (found.why_leave(), found.lasts(1)) == ("", False)
        clock.advance(NOTICE_S - DRAIN_S - MARGIN_S - 1)
        assert not found.why_leave()
        clock.advance(1)
        assert found.why_leave() == "its time is over"
    other = stay(clock, idle_s=3600)
    other.told()
    assert "near" in other.why_leave()


async def test_a_signal_tells_it() -> None:
    found = stay(ManualClock(), wall_s=3600)
    watching = asyncio.create_task(found.watch())
    await asyncio.sleep(0)
    os.kill(os.getpid(), signal.SIGUSR1)
    try:
        await asyncio.wait_for(watching, 5)
    finally:
        asyncio.get_running_loop().remove_signal_handler(signal.SIGUSR1)


def test_a_run_that_no_runner_like_this_could_end_is_no_reason_to_leave() -> None:
    clock = ManualClock()
    found = stay(clock, wall_s=USABLE_S + DRAIN_S + MARGIN_S)
    assert not found.lasts(USABLE_S + 1)
    assert (found.why_leave(), found.lasts(USABLE_S)) == ("", True)
    what, had = found.lacks(USABLE_S + 1)
    assert not had
    assert "it may take 1001 s, and those that looked have 1000 s" in what
    assert f"--wall-time {USABLE_S + 1 + DRAIN_S + MARGIN_S:.0f}s" in what
    clock.advance(1)
    assert not found.lasts(USABLE_S)
    assert found.lacks(USABLE_S) == ("a runner that has as much time as it may take", True)
    assert found.why_leave()


async def test_a_run_that_is_too_long_for_all_pilots_says_what_to_do_and_keeps_no_other_waiting(
    tmp_path: Path,
) -> None:
    world = World(tmp_path / "work")
    limits = plan_pb2.Limits()
    limits.wall_time.FromSeconds(2000)
    (long,), (other,) = await world.submit("say", limits=limits), await world.submit("conclude")
    pilot = replace(world.dispatch, stay=stay(world.clock, wall_s=USABLE_S + DRAIN_S + MARGIN_S))
    with pytest.raises(WaitsError):
        await pilot.take(await world.books.runs.get(long.id))
    await pilot.take(await world.books.runs.get(other.id))
    assert (await world.run(other.id)).state is RunState.CONCLUDED
    assert "start pilots with --wall-time 2030s or more" in (await world.run(long.id)).waiting_for
