"""What a queued run says of a pool that nobody takes runs of."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from firetrial_kit.attendance import Attendant
from firetrial_runner.run import RunState
from firetrial_runner.unattended import nobody
from unit.runner.world import World


async def come(world: World, name: str, **more: object) -> None:
    """A runner says that it is there."""
    now = world.clock.now()
    me = Attendant(name, "host", "0", "default", 2, now, now)
    await world.books.attendants.create(name, replace(me, **more))  # type: ignore[arg-type]


async def test_a_run_says_that_nobody_is_there_until_somebody_is(world: World) -> None:
    (run,) = await world.submit("conclude")
    await come(world, "front", slots=0)
    await come(world, "leaving", draining=True)
    await come(world, "gone", seen_at=world.clock.now() - timedelta(minutes=1))
    await come(world, "elsewhere", pool="gpu")
    await world.reaper.sweep()
    assert (await world.run(run.id)).waiting_for == nobody("default")
    await come(world, "one")
    await world.reaper.sweep()
    assert (await world.run(run.id)).waiting_for == ""


async def test_what_waits_for_something_else_says_that(world: World) -> None:
    (run,) = await world.submit("conclude")
    await world.books.change_run(run.id, lambda run: replace(run, waiting_for="1 GPU"))
    await world.reaper.sweep()
    assert (await world.run(run.id)).waiting_for == "1 GPU"


async def test_a_runner_that_comes_takes_it(world: World) -> None:
    (run,) = await world.submit("conclude")
    await world.reaper.sweep()
    assert await world.deliver() == ["done"]
    found = await world.run(run.id)
    assert (found.state, found.waiting_for) == (RunState.CONCLUDED, "")
