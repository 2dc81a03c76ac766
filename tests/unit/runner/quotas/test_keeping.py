"""Quotas over several runners of one state."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from firetrial.parser.v1 import events_pb2 as parser_events
from firetrial.plan.v1 import plan_pb2
from firetrial.runner.v1.events_pb2 import ExperimentFailed
from firetrial_kit import events, tenants
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.tokens import Quotas
from firetrial_runner.run import Run, RunState, cancelled
from unit.runner.world import World, until

ACME = {"acme": Quotas(runs_at_once=2, runs_per_day=10, gpus_at_once=4, usd_per_month=5.0)}


def of(quotas: dict[str, Quotas]) -> dict[str, object]:
    return {"quotas": lambda tenant: quotas.get(tenant, Quotas())}


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "work", **of(ACME))  # type: ignore[arg-type]


async def submit(world: World, program: str = "conclude", tenant: str = "acme", **plan: object) -> list[Run]:
    with tenants.acting(tenant):
        wanted = plan_pb2.Plan(agents=[await world.agent(program)], repeats=1)
        wanted.MergeFrom(plan_pb2.Plan(**plan))  # type: ignore[arg-type]
        task = await world.task(tenants.mine("task-1"))
        experiment = await world.experiments.submit("", (task,), wanted)
        return [record.run for record in await world.experiments.runs(experiment)]


def refusals(world: World, quota: str) -> float:
    labels = {"tenant": "acme", "quota": quota}
    return world.registry.get_sample_value("firetrial_quota_refusals_total", labels) or 0.0


async def test_twenty_submitters_at_once_reach_the_days_quota_and_never_pass_it(world: World) -> None:
    others = [world, world.again(), world.again()]
    await submit(world, repeats=1)

    async def one(number: int) -> bool:
        try:
            await submit(others[number % 3], repeats=1, model=f"m{number}", max_attempts=1 + number % 3)
        except FiretrialError as error:
            assert error.reason is Reason.PRECONDITION  # noqa: PT017 - or it was taken
            return False
        return True

    taken = sum(await asyncio.gather(*map(one, range(20))))
    assert taken == 9
    assert len(await world.books.experiments.ids()) == 10
    assert sum(refusals(each, "runs_per_day") for each in others) == 11


async def test_a_refusal_names_the_quota_what_is_used_and_the_cure(world: World) -> None:
    await submit(world, repeats=8)
    with pytest.raises(FiretrialError) as caught:
        await submit(world, repeats=3)
    (fault,) = caught.value.faults
    assert fault.field == "quotas.runs_per_day"
    assert fault.value == "10, of which 8 are used; 3 asked for"
    assert "after midnight (UTC)" in fault.cure
    assert caught.value.reason is Reason.PRECONDITION
    await submit(world, tenant="umbra", repeats=30)
    await submit(world, repeats=2)


async def test_the_same_request_counts_once_whenever_it_comes(world: World) -> None:
    first = await submit(world, repeats=10)
    world.clock.advance(86_400)
    assert [run.id for run in await submit(world, repeats=10)] == [run.id for run in first]
    assert len(await submit(world, repeats=9)) == 9


async def test_what_can_never_run_is_refused_at_once(world: World) -> None:
    with pytest.raises(FiretrialError) as caught:
        await submit(world, limits=plan_pb2.Limits(gpus=5))
    assert "quotas.gpus_at_once" in [fault.field for fault in caught.value.faults] or "gpus" in str(
        caught.value
    )


async def test_a_paper_whose_tenant_has_no_runs_left_fails_its_experiment(world: World) -> None:
    await submit(world, repeats=10)
    with tenants.acting("acme"):
        plan = plan_pb2.Plan(agents=[await world.agent("say")], repeats=1)
        task = await world.task(tenants.mine("task-2"))
    slip = plan_pb2.Slip(experiment_id="t-acme--e-9", expected_runs=1, plan=plan)
    created = parser_events.TaskCreated(task_id=task, slip=slip)
    await world.bus.publish(events.fact("parser", task, created, clock=world.clock))
    await world.deliver("runner-task_created")
    (failed,) = [ExperimentFailed.FromString(data) for data in world.facts("experiment_failed")]
    assert failed.experiment_id == "t-acme--e-9"
    assert "runs_per_day" in failed.reason


async def test_runs_of_a_tenant_share_its_places_over_runners(world: World) -> None:
    runs = await submit(world, "sleep", repeats=6)
    others = await submit(world, "conclude", tenant="umbra", repeats=3)
    second = world.again()
    stop = asyncio.Event()
    consuming = [
        asyncio.create_task(world.bus.consume(replace(one.handlers.consumers("default", 6)[0]), stop))
        for one in (world, second)
    ]
    most = 0

    async def running() -> int:
        found = [(await world.run(run.id)).state for run in runs]
        return found.count(RunState.RUNNING)

    async def all_of_umbra() -> bool:
        nonlocal most
        most = max(most, await running())
        return {(await world.run(run.id)).state for run in others} == {RunState.CONCLUDED}

    await until(all_of_umbra, 20)
    assert most <= 2

    async def two() -> bool:
        return await running() == 2

    await until(two)
    waiting = {(await world.run(run.id)).waiting_for for run in runs} - {""}
    assert waiting <= {"its tenant's turn: at most 2 of the tenant's runs run at the same time"}
    for run in runs:
        await world.dispatch.cancel(run.id)

    async def ended() -> bool:
        return {(await world.run(run.id)).state for run in runs} == {RunState.ENDED}

    await until(ended, 20)
    stop.set()
    await asyncio.gather(*consuming)
    assert (await world.books.uses.get("t-acme--use")).places == {}


async def test_the_place_of_a_dead_runner_is_taken_back(world: World) -> None:
    first, second, third = await submit(world, "say", repeats=3)
    assert [await world.dispatch.quotas.take(run) for run in (first, second)] == ["", ""]
    assert "turn" in await world.dispatch.quotas.take(third)
    world.clock.advance(61)  # neither ever began
    assert await world.dispatch.quotas.take(third) == ""
    assert set((await world.books.uses.get("t-acme--use")).places) == {third.id}
    assert refusals(world, "runs_at_once") == 1


TURN = "its tenant's turn: at most 2 of the tenant's runs run at the same time"


async def test_an_experiment_asks_its_pool_for_no_more_runs_than_the_quota(world: World) -> None:
    runs = await submit(world, "say", repeats=6)
    assert len(world.work()) == 2
    assert [(await world.run(run.id)).waiting_for for run in runs] == ["", "", *[TURN] * 4]
    await world.deliver()
    assert {(await world.run(run.id)).state for run in runs} == {RunState.CONCLUDED}


async def test_the_plans_own_bound_holds_where_it_is_less(world: World) -> None:
    runs = await submit(world, "say", repeats=3, at_once=1)
    assert len(world.work()) == 1
    assert "of the experiment" in (await world.run(runs[1].id)).waiting_for


async def test_a_quota_that_is_lifted_lets_all_go_by_the_next_sweep(tmp_path: Path) -> None:
    quotas = dict(ACME)
    world = World(tmp_path / "work", **of(quotas))  # type: ignore[arg-type]
    runs = await submit(world, "say", repeats=6)
    del quotas["acme"]
    await world.reaper.sweep()
    assert len(world.work()) == 6
    await world.deliver()
    assert {(await world.run(run.id)).state for run in runs} == {RunState.CONCLUDED}


async def full(world: World) -> tuple[list[Run], list[Run]]:
    """(two runs that have the tenant's places, two that found none and wait)."""
    placed = await submit(world, "say", repeats=2)
    assert [await world.dispatch.quotas.take(run) for run in placed] == ["", ""]
    waiting = await submit(world, "say", repeats=2, model="other")
    for run in waiting:
        await world.dispatch.take(await world.books.runs.get(run.id))
    return placed, waiting


async def test_what_waits_for_a_place_waits_outside_of_its_pool(world: World) -> None:
    placed, waiting = await full(world)
    assert [(await world.run(run.id)).waiting_for for run in waiting] == [TURN, TURN]
    assert len(world.work()) == 4
    await world.dispatch.quotas.release(placed[0].id)
    assert len(world.work()) == 5
    assert [(await world.run(run.id)).waiting_for for run in waiting] == ["", TURN]
    await world.deliver()
    assert {(await world.run(run.id)).state for run in (*placed, *waiting)} == {RunState.CONCLUDED}
    assert (await world.books.uses.get("t-acme--use")).places == {}
    assert (await world.books.lines.get("t-acme--line")).held == {}


async def test_those_that_wait_no_more_are_passed_over(world: World) -> None:
    placed, waiting = await full(world)
    now = world.clock.now()
    await world.books.change_run(waiting[0].id, lambda run: cancelled(run, now))  # and its runner died then
    await world.dispatch.quotas.release(placed[0].id)
    assert [(await world.run(run.id)).waiting_for for run in waiting] == ["", ""]
    assert len(world.work()) == 5


async def test_one_that_was_let_go_and_not_told_is_told_by_the_next_sweep(world: World) -> None:
    placed, waiting = await full(world)
    world.bus.fail_next = FiretrialError(Reason.UNAVAILABLE, "the broker is away")
    with pytest.raises(FiretrialError):
        await world.dispatch.quotas.release(placed[0].id)
    assert len(world.work()) == 4
    await world.reaper.sweep()
    assert len(world.work()) == 5
    assert (await world.run(waiting[0].id)).waiting_for == ""
    await world.reaper.sweep()
    assert len(world.work()) == 5


async def test_the_places_of_a_dead_runner_go_to_those_that_wait_by_the_next_sweep(world: World) -> None:
    _, waiting = await full(world)
    world.clock.advance(61)
    await world.reaper.sweep()
    assert len(world.work()) == 6
    assert [(await world.run(run.id)).waiting_for for run in waiting] == ["", ""]


async def test_a_clock_that_was_set_back_keeps_no_dead_place(world: World) -> None:
    _, waiting = await full(world)
    world.clock.advance(-3600)
    await world.reaper.sweep()
    assert [(await world.run(run.id)).waiting_for for run in waiting] == ["", ""]


async def test_a_run_that_comes_twice_keeps_its_place(world: World) -> None:
    """Its message was read by two runners; the one that is too late gives up no place of the other's."""
    (run,) = await submit(world, "sleep", repeats=1)
    asked = await world.books.runs.get(run.id)
    first = asyncio.create_task(world.dispatch.take(asked))

    async def running() -> bool:
        return (await world.run(run.id)).state is RunState.RUNNING

    await until(running)
    with pytest.raises(FiretrialError, match="other hands"):
        await world.again().dispatch.take(asked)
    assert set((await world.books.uses.get("t-acme--use")).places) == {run.id}
    await world.dispatch.cancel(run.id)
    await first
    assert (await world.books.uses.get("t-acme--use")).places == {}


async def test_without_quotas_nothing_is_kept(tmp_path: Path) -> None:
    world = World(tmp_path / "work")
    (run,) = await world.submit("conclude")
    await world.deliver()
    assert (await world.run(run.id)).state is RunState.CONCLUDED
    assert await world.books.uses.ids() == []
