"""What looks of graders leave: forgotten an hour after it was told, and nothing of a run's test with it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from firetrial.runner.v1 import events_pb2
from firetrial_kit import events
from firetrial_kit.bus import Outgoing
from firetrial_kit.keeping import Installation
from firetrial_runner.kinds.looks import KEPT
from firetrial_runner.kinds.sealed import TrialRecord
from firetrial_runner.rebuild import STEWARD
from unit.runner.kinds.test_trials import TEST, new, put, told
from unit.runner.world import World

LOOK = f"look-{'0a' * 16}"


async def look(world: World, id_: str = LOOK) -> Outgoing:
    """A look, or a run's test, that was made and told; gives the message."""
    ref = await put(world, id_, ("model.py", b"model"))
    event = events_pb2.TestRequested(
        run_id=id_, files=ref, command=["test"], results_file="results.json", attempt=1
    )
    work = events.work("judge", "default", id_, event, clock=world.clock)
    await world.bus.publish(work)
    assert await world.deliver(TEST) == ["done"]
    return work


async def unused(world: World) -> list[str]:
    return await STEWARD.unused(Installation(world.state, world.objects, world.bus, world.clock))


async def test_a_look_is_forgotten_an_hour_after_it_was_told(tmp_path: Path) -> None:
    world = new(tmp_path)
    await look(world)
    await look(world, "r-1")
    world.clock.advance(KEPT.total_seconds() - 1)
    await world.reaper.sweep()
    assert await world.books.tests.find(f"{LOOK}-1") is not None
    assert await unused(world) == []
    world.clock.advance(1)
    for _ in range(2):
        await world.reaper.sweep()
        assert await world.books.tests.find(f"{LOOK}-1") is None
        assert await unused(world) == [
            f"runs/runs/{LOOK}/test/1/output.txt",
            f"runs/runs/{LOOK}/test/1/results.json",
        ]
    assert await world.books.tests.find("r-1-1") is not None


async def test_a_look_that_comes_again_within_the_hour_is_told_and_not_run(tmp_path: Path) -> None:
    world = new(tmp_path)
    work = await look(world)
    world.clock.advance(60)
    await world.reaper.sweep()
    world.bus.redeliver(world.consumer(TEST), work)
    assert await world.deliver(TEST) == ["done"]
    assert len(world.sandbox.started) == 1
    assert len({end.SerializeToString() for end in told(world)}) == 1


async def test_what_is_in_hand_stays_and_what_has_no_time_is_old(tmp_path: Path) -> None:
    world = new(tmp_path)
    now = world.clock.now()
    await world.books.tests.create(f"{LOOK}-1", TrialRecord(f"{LOOK}-1", "one", now - timedelta(days=9)))
    await world.reaper.sweep()
    assert await world.books.tests.find(f"{LOOK}-1") is not None
    await look(world)
    await world.books.tests.change(f"{LOOK}-1", lambda record: replace(record, ended_at=None))
    await world.reaper.sweep()
    assert await world.books.tests.find(f"{LOOK}-1") is None


async def test_a_run_that_is_named_like_a_look_is_a_run(tmp_path: Path) -> None:
    world = new(tmp_path)
    (run,) = await world.submit("conclude")
    record = await world.books.runs.get(run.id)
    await world.books.runs.create(LOOK, replace(record, run=replace(run, id=LOOK)))
    await look(world)
    world.clock.advance(2 * KEPT.total_seconds())
    await world.reaper.sweep()
    assert await world.books.tests.find(f"{LOOK}-1") is not None
    assert await unused(world) == []


async def test_looks_are_not_copied_and_old_copies_are_unused(tmp_path: Path) -> None:
    world = new(tmp_path)
    await look(world)
    await look(world, "r-1")
    kept = {}
    for key in (f"test.{LOOK}-1", "test.r-1-1"):
        entry = await world.state.get(key)
        assert entry is not None
        kept[key] = STEWARD.keeps(key, entry.value)
        await world.objects.put("runs", STEWARD.place(key), entry.value, "application/json")
    assert kept == {f"test.{LOOK}-1": False, "test.r-1-1": True}
    assert await unused(world) == [f"runs/{STEWARD.place(f'test.{LOOK}-1')}"]
