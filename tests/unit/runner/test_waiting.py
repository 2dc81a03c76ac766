"""A run that cannot be had now waits in its pool, says for what, and loses nothing by it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from google.protobuf.json_format import MessageToDict

from firetrial.plan.v1 import plan_pb2
from firetrial.runner.v1 import events_pb2, runner_service_pb2
from firetrial_kit.bus import Outgoing, Received
from firetrial_runner.dispatch import WaitsError
from firetrial_runner.gpus.device import GIB, Demand, Gpu
from firetrial_runner.gpus.inventory import FakeInventory, Reading
from firetrial_runner.run import Outcome, Run, RunState
from firetrial_runner.sandbox.fake import FakeSandbox, Inside
from unit.runner.world import PROGRAMS, World, until

GPU = Gpu("GPU-a", 0, "NVIDIA A10", 24 * GIB)
LARGE = Gpu("GPU-b", 1, "NVIDIA H200", 140 * GIB)
TWO_LARGE = plan_pb2.Limits(gpus=2, gpu_memory_bytes=80 * GIB)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "work", inventory=FakeInventory(GPU))


def work(world: World) -> list[Outgoing]:
    return [out for out in world.bus.published if out.subject.startswith("ft.work.")]


async def handle(world: World, message: Outgoing, delivered: int = 1) -> None:
    await world.handlers.work(Received(message.subject, message.data, message.headers, delivered))


async def submit(
    world: World, limits: plan_pb2.Limits, program: str = "conclude", repeats: int = 1
) -> list[Run]:
    wanted = plan_pb2.Plan(agents=[await world.agent(program)], repeats=repeats, limits=limits)
    experiment = await world.experiments.submit("", (await world.task(),), wanted)
    return [record.run for record in await world.experiments.runs(experiment)]


async def test_one_that_nobody_can_give_waits_for_ever_and_says_so(world: World) -> None:
    (run,) = await submit(world, TWO_LARGE)
    (message,) = work(world)
    for delivered in (1, 2, 3):
        with pytest.raises(WaitsError) as caught:
            await handle(world, message, delivered)
        assert caught.value.retry_after == 15
    told = "2 GPUs of 80 GiB: no runner of pool default has them (1 × NVIDIA A10 of 24 GiB on a runner)"
    assert (await world.run(run.id)).waiting_for == told
    answer = await world.servicer.GetRun(runner_service_pb2.GetRunRequest(id=run.id), None)
    assert MessageToDict(answer.run)["waitingFor"] == told
    # Deliveries are counted, and waiting is no failure: the work is told anew before they are used up.
    await handle(world, message, 4)
    assert len(work(world)) == 2
    anew = work(world)[1]
    assert anew.message_id != message.message_id
    assert events_pb2.RunRequested.FromString(anew.data).run.id == run.id
    run = await world.run(run.id)
    assert (run.state, run.attempt, world.sandbox.started) == (RunState.QUEUED, 1, [])


async def test_another_runner_of_the_pool_that_has_them_takes_it(world: World, tmp_path: Path) -> None:
    (run,) = await submit(world, plan_pb2.Limits(gpus=1, gpu_memory_bytes=80 * GIB))
    (message,) = work(world)
    with pytest.raises(WaitsError):
        await handle(world, message)
    kept = {"bus": world.bus, "state": world.state, "objects": world.objects, "clock": world.clock}
    rich = World(tmp_path / "rich", inventory=FakeInventory(GPU, LARGE), **kept)  # type: ignore[arg-type]
    await handle(rich, message, 2)
    run = await rich.run(run.id)
    assert (run.state, run.waiting_for) == (RunState.CONCLUDED, "")
    assert rich.sandbox.started[0].gpus == (LARGE,)
    assert rich.sandbox.started[0].environment()["CUDA_VISIBLE_DEVICES"] == "GPU-b"


async def test_one_whose_devices_are_in_use_waits_for_them(tmp_path: Path) -> None:
    inventory = FakeInventory(GPU)
    inventory.readings = {GPU: Reading(0.8, 3 * GIB)}

    async def compute(inside: Inside) -> int:
        here.gpus.note(inventory.look())
        return await PROGRAMS["conclude"](inside)

    sandbox = FakeSandbox({**PROGRAMS, "conclude": compute})
    here = world = World(tmp_path / "work", inventory=inventory, sandbox=sandbox)
    (sleeping,) = await submit(world, plan_pb2.Limits(gpus=1), "sleep")
    (run,) = await submit(world, plan_pb2.Limits(gpus=1))
    first, second = work(world)
    going = asyncio.create_task(handle(world, first))

    async def given() -> bool:
        return bool(world.gpus.given(sleeping.id))

    await until(given)
    with pytest.raises(WaitsError) as caught:
        await handle(world, second)
    assert (await world.run(run.id)).waiting_for == "1 GPU to be free in pool default"
    assert caught.value.retry_after == 5
    # A run that asks for none is not kept waiting.
    (plain,) = await world.submit("say")
    await handle(world, work(world)[-1])
    assert (await world.run(plain.id)).state is RunState.CONCLUDED
    await world.dispatch.cancel(sleeping.id)
    await going
    assert world.gpus.given(sleeping.id) == ()
    await handle(world, second, 2)
    run = await world.run(run.id)
    assert run.usage is not None
    assert run.usage.wall_s is not None
    assert (run.usage.gpu_s, run.usage.gpu_utilisation) == (run.usage.wall_s, 0.8)
    assert run.usage.max_gpu_memory_bytes == 3 * GIB
    assert (await world.run(plain.id)).usage.gpu_s == 0  # type: ignore[union-attr]


@pytest.mark.parametrize("program", ["conclude", "nothing", "vanish"])
async def test_devices_come_back_however_a_run_ends(world: World, program: str) -> None:
    await submit(world, plan_pb2.Limits(gpus=1), program)
    await handle(world, work(world)[0])
    assert world.gpus.take("another", Demand(1))


async def test_a_run_given_back_gives_its_devices_back(world: World) -> None:
    (run,) = await submit(world, plan_pb2.Limits(gpus=1), "sleep")
    going = asyncio.create_task(handle(world, work(world)[0]))

    async def started() -> bool:
        return bool(world.sandbox.started)

    await until(started)
    assert world.gpus.given(run.id) == (GPU,)
    going.cancel()
    with pytest.raises(asyncio.CancelledError):
        await going
    assert world.gpus.take("another", Demand(1))


async def test_one_that_waits_can_be_cancelled(world: World) -> None:
    (run,) = await submit(world, TWO_LARGE)
    with pytest.raises(WaitsError):
        await handle(world, work(world)[0])
    await world.dispatch.cancel(run.id)
    run = await world.run(run.id)
    assert (run.outcome, run.waiting_for) == (Outcome.CANCELLED, "")
    await handle(world, work(world)[0], 2)
    assert len(world.facts("run_finished")) == 1
