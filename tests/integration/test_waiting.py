"""Waiting on a real broker: a message that comes again is no failure, and turns hold across runners."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import structlog

from firetrial.plan.v1 import plan_pb2
from firetrial_kit import jetstream
from firetrial_kit.clock import SystemClock
from firetrial_kit.kv import JetStreamState
from firetrial_kit.testing import InMemoryObjects
from firetrial_kit.tokens import Quotas
from firetrial_runner.gpus.device import GIB, Gpu
from firetrial_runner.gpus.inventory import FakeInventory
from firetrial_runner.pilots.backlog_wire import Backlog
from firetrial_runner.run import Run, RunState
from firetrial_runner.sandbox.fake import FakeSandbox, Inside
from unit.runner.world import PROGRAMS, World, until

GPU = Gpu("GPU-a", 0, "NVIDIA A10", 24 * GIB)


@asynccontextmanager
async def broker(url: str, bucket: str) -> AsyncIterator[dict[str, Any]]:
    """What runners of one installation share."""
    client = await jetstream.connect(url, name="test")
    try:
        bus = jetstream.JetStreamBus(client, structlog.get_logger())
        await bus.ensure_streams()
        state = await JetStreamState.open(client, bucket)
        yield {"bus": bus, "state": state, "objects": InMemoryObjects()}
    finally:
        await client.close()


@asynccontextmanager
async def running(*worlds: World, pool: str = "default") -> AsyncIterator[None]:
    """Their runners take work, four at a time, until left."""
    stop = asyncio.Event()
    consumers = [(world, world.handlers.consumers(pool, 4)[0]) for world in worlds]
    tasks = [asyncio.create_task(world.bus.consume(consumer, stop)) for world, consumer in consumers]
    try:
        yield
    finally:
        stop.set()
        await asyncio.gather(*tasks)


async def ended(world: World, runs: list[Run]) -> bool:
    return {(await world.run(run.id)).state for run in runs} == {RunState.CONCLUDED}


async def test_runs_that_wait_on_a_real_broker(nats_url: str, tmp_path: Path) -> None:
    now = most = 0

    async def crowd(inside: Inside) -> int:
        nonlocal now, most
        now += 1
        most = max(most, now)
        await inside.sleep(0.05)
        now -= 1
        return await PROGRAMS["conclude"](inside)

    async with broker(nats_url, "ft_waiting") as shared:
        programs = {**PROGRAMS, "crowd": crowd}
        poor = World(tmp_path / "poor", sandbox=FakeSandbox(programs), **shared)
        rich = World(tmp_path / "rich", sandbox=FakeSandbox(programs), inventory=FakeInventory(GPU), **shared)
        needy = await poor.submit("conclude", limits=plan_pb2.Limits(gpus=1))

        async def waits() -> bool:
            return (await poor.run(needy[0].id)).waiting_for.startswith("1 GPU: no runner of pool default")

        async with running(poor):
            await until(waits, 20)
        many = await poor.submit("crowd", repeats=12, at_once=3)
        async with running(poor, rich):
            await until(lambda: ended(poor, many), 30)
            assert most == 3
            await until(lambda: ended(poor, needy), 40)
        assert [spec.run_key for spec in rich.sandbox.started].count(needy[0].id) == 1
        assert len(poor.sandbox.started) + len(rich.sandbox.started) == 13
        assert (await poor.run(needy[0].id)).attempt == 1


async def test_scalers_see_no_work_in_what_a_quota_holds_back(nats_url: str, tmp_path: Path) -> None:
    """Of two experiments with three runs each, and a quota of one run at once."""
    client = await jetstream.connect(nats_url, name="scaler")
    backlog = Backlog(client)

    async def counted(work: int) -> bool:
        return await backlog.count("quota") == work

    async with broker(nats_url, "ft_held") as shared:
        # A message that is sent again is another one by the time of that.
        shared["clock"] = SystemClock()
        world = World(tmp_path / "work", quotas=lambda _: Quotas(runs_at_once=1), **shared)
        first, *_ = await world.submit("sleep", repeats=3, pool="quota")
        others = await world.submit("conclude", repeats=3, pool="quota")
        assert await counted(2)
        async with running(world, pool="quota"):
            await until(
                lambda: counted(1), 20
            )  # the one that runs; the other was looked at, and waits outside
            await world.experiments.cancel(first.experiment_id)
            await until(lambda: ended(world, others), 20)
            await until(lambda: counted(0), 20)
    await client.close()
