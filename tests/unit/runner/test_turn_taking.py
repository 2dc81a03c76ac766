"""Of an experiment, so many runs at a time and no more, whoever runs them and whoever dies."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firetrial.plan.v1 import plan_pb2
from firetrial_kit.bus import Outgoing
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.testing import InMemoryBus, ManualClock
from firetrial_runner.experiment import Experiment, Plan, expand, first_run
from firetrial_runner.run import Outcome, Run, RunState
from firetrial_runner.sandbox.fake import FakeSandbox, Inside
from firetrial_runner.turns import Turns
from unit.runner.world import PROGRAMS, World, until


@dataclass(slots=True)
class Crowd:
    """Programs that count how many of them there are at a time."""

    now: int = 0
    most: int = 0

    async def conclude(self, inside: Inside) -> int:
        self.now += 1
        self.most = max(self.most, self.now)
        await inside.sleep(0.01)
        self.now -= 1
        return await PROGRAMS["conclude"](inside)

    def sandbox(self) -> FakeSandbox:
        return FakeSandbox({**PROGRAMS, "conclude": self.conclude})


@pytest.fixture
def crowd() -> Crowd:
    return Crowd()


@pytest.fixture
def world(tmp_path: Path, crowd: Crowd) -> World:
    return World(tmp_path / "work", sandbox=crowd.sandbox())


async def submit(world: World, program: str = "conclude", tasks: int = 1, **plan: object) -> list[Run]:
    wanted = plan_pb2.Plan(agents=[await world.agent(program)])
    wanted.MergeFrom(plan_pb2.Plan(**plan))  # type: ignore[arg-type]
    ids = tuple([await world.task(f"task-{number}") for number in range(tasks)])
    experiment = await world.experiments.submit("", ids, wanted)
    return [record.run for record in await world.experiments.runs(experiment)]


async def states(world: World, runs: list[Run]) -> list[RunState]:
    return [(await world.run(run.id)).state for run in runs]


async def test_two_runners_share_the_turns_of_an_experiment(world: World, crowd: Crowd) -> None:
    runs = await submit(world, repeats=12, at_once=3)
    other = await world.submit("say")
    second = world.again(crowd.sandbox())
    stop = asyncio.Event()
    consuming = [
        asyncio.create_task(world.bus.consume(replace(one.handlers.consumers("default", 4)[0]), stop))
        for one in (world, second)
    ]

    async def over() -> bool:
        return set(await states(world, [*runs, *other])) == {RunState.CONCLUDED}

    await until(over, 20)
    stop.set()
    await asyncio.gather(*consuming)
    assert 1 < crowd.most <= 3  # a busy machine may not bring all three together
    assert len(world.sandbox.started) + len(second.sandbox.started) == 13
    assert await world.books.turns.get(runs[0].experiment_id) == Turns(passed=12)


async def test_those_that_wait_say_so_and_stand_in_nobodys_way(world: World) -> None:
    runs = await submit(world, repeats=5, at_once=2)
    told = [(await world.run(run.id)).waiting_for for run in runs]
    assert told == ["", "", *["its turn: at most 2 runs of the experiment run at the same time"] * 3]
    assert len(world.work()) == len(world.facts("run_requested")) == 2
    await world.deliver()
    assert set(await states(world, runs)) == {RunState.CONCLUDED}
    assert {(await world.run(run.id)).waiting_for for run in runs} == {""}


async def test_asking_again_lets_no_more_go(world: World) -> None:
    first = await submit(world, repeats=5, at_once=2)
    assert [run.id for run in await submit(world, repeats=5, at_once=2)] == [run.id for run in first]
    assert len(world.work()) == 2


async def test_the_next_attempt_keeps_the_turn(world: World) -> None:
    runs = await submit(world, "vanish", repeats=2, at_once=1, max_attempts=3)
    await world.deliver()
    assert {(await world.run(run.id)).outcome for run in runs} == {Outcome.INFRA_FAILED}
    assert len(world.sandbox.started) == len(world.work()) == 6
    attempts = [spec.run_key for spec in world.sandbox.started]
    assert attempts[0] == runs[0].id
    assert attempts[3] in {run.id for run in runs}


async def test_an_attempt_that_is_told_again_takes_no_turn(world: World) -> None:
    """As by its message, when the reaper has told of it before, and the next attempt is lost by then, too."""
    (run,) = await submit(world, "vanish", repeats=1, at_once=1, max_attempts=3)
    await world.deliver()
    await world.dispatch.tell(await world.books.runs.get(run.id))
    assert await world.books.turns.get(run.experiment_id) == Turns(passed=1)


async def test_those_that_are_cancelled_are_passed_over(world: World) -> None:
    runs = await submit(world, repeats=4, at_once=1)
    await world.dispatch.cancel(runs[1].id)
    await world.dispatch.cancel(runs[0].id)
    assert len(world.work()) == 2
    await world.deliver()
    outcomes = [(await world.run(run.id)).outcome for run in runs]
    assert outcomes == [Outcome.CANCELLED, Outcome.CANCELLED, None, None]


async def test_a_cancelled_experiment_lets_none_go(world: World) -> None:
    runs = await submit(world, repeats=4, at_once=1)
    await world.experiments.cancel(runs[0].experiment_id)
    assert len(world.work()) == 1
    assert set(await states(world, runs)) == {RunState.ENDED}


class Breaking(InMemoryBus):
    """Loses what is put into a pool, once `broken`."""

    broken = False

    async def publish(self, message: Outgoing) -> None:
        if self.broken and message.subject.startswith("ft.work."):
            raise FiretrialError(Reason.UNAVAILABLE, "the broker is away")
        await super().publish(message)


async def test_a_turn_that_was_not_told_is_told_by_the_next_sweep(tmp_path: Path) -> None:
    bus = Breaking()
    world = World(tmp_path / "work", bus=bus)
    bus.broken = True
    with pytest.raises(FiretrialError):
        await submit(world, repeats=3, at_once=2)
    (id_,) = await world.books.experiments.ids()
    turns = await world.books.turns.get(id_)
    assert (len(turns.going), len(turns.untold), world.work()) == (2, 2, [])
    bus.broken = False
    await world.reaper.sweep()
    assert len(world.work()) == 2
    await world.reaper.sweep()
    assert len(world.work()) == 2


async def test_a_turn_whose_run_ended_unseen_is_freed_by_the_next_sweep(world: World) -> None:
    runs = await submit(world, repeats=2, at_once=1)
    now = world.clock.now()

    def ended(run: Run) -> Run:
        return replace(run, state=RunState.ENDED, outcome=Outcome.CANCELLED, ended_at=now)

    await world.books.change_run(runs[0].id, ended)  # and its runner died before it could say so
    await world.reaper.sweep()
    assert (await world.books.turns.get(runs[0].experiment_id)).going == (runs[1].id,)
    await world.deliver()
    assert (await world.run(runs[1].id)).state is RunState.CONCLUDED


def test_a_bound_that_makes_no_sense() -> None:
    faults = Plan(("a",), 1, at_once=-1).faults(["a"])
    assert [(fault.field, fault.cure) for fault in faults] == [
        ("plan.at_once", "must be 0 (as many as fit) to 5000")
    ]


@given(st.integers(1, 4), st.integers(1, 4), st.integers(1, 4))
def test_slots_are_found_by_their_place(tasks: int, agents: int, repeats: int) -> None:
    plan = Plan(tuple(f"a{n}" for n in range(agents)), repeats)
    ids, clock = tuple(f"t{n}" for n in range(tasks)), ManualClock()
    experiment = Experiment("e-1", ids, 1, clock.now(), "")
    expected = [run.id for run in expand("e-1", ids, plan, clock.now())]
    assert [first_run(experiment, plan, place) for place in range(len(expected))] == expected
    assert first_run(experiment, plan, len(expected)) is None
