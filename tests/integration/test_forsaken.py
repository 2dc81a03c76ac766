"""Work of cancelled runs on the broker as it is deployed: a runner of another pool may take it away."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import structlog

from firetrial.runner.v1 import events_pb2, run_pb2
from firetrial_kit import events, jetstream
from firetrial_kit.clock import SystemClock
from firetrial_kit.jetstream import JetStreamBus
from firetrial_kit.kv import JetStreamState
from firetrial_kit.testing import InMemoryObjects
from firetrial_runner import pools
from firetrial_runner.forsaken_wire import LOOKS
from firetrial_runner.pilots.backlog_wire import Backlog
from support import deployed
from unit.runner.world import World

pytestmark = pytest.mark.needs("nats-server", "openssl")


async def test_nothing_is_left_of_cancelled_runs_for_scalers_to_see(tmp_path: Path) -> None:
    """Three of them in the hands of a runner that died. A run from outside, in another pool, waits on."""
    with deployed.broker(tmp_path) as broker:
        known = {"user": "runner", "password": broker.password("runner"), "ca": broker.authority}
        client = await jetstream.connect(broker.url, name="runner", **known)  # type: ignore[arg-type]
        bus, backlog = JetStreamBus(client, structlog.get_logger()), Backlog(client)
        state = await JetStreamState.open(client, "ft_runner")
        world = World(tmp_path / "work", bus=bus, state=state, objects=InMemoryObjects(), clock=SystemClock())  # type: ignore[arg-type]
        reaper = replace(world.reaper, quiet_s=2.2, dispatch=replace(world.dispatch, ttl_s=1.0))
        asked = await world.submit("conclude", repeats=20, pool="gpo")
        event = events_pb2.RunRequested(run=run_pb2.Run(id="o-1", task_id="t-1", agent_id="a-1"))
        await bus.publish(events.work("runner", "outside", "o-1", event, clock=world.clock))
        await reaper.sweep()
        assert (await backlog.count("gpo"), await backlog.count("outside")) == (20, 1)
        name, subject = pools.of_runs("gpo")
        await client.jetstream().add_consumer(events.WORK, jetstream.durable(name, (subject,), 1.0))
        dead = await client.jetstream().pull_subscribe_bind(durable=name, stream=events.WORK)
        assert len(await dead.fetch(3, timeout=5)) == 3
        await dead.unsubscribe()
        await world.experiments.cancel(asked[0].experiment_id)
        for _ in range(LOOKS):
            await reaper.sweep()
            if not await backlog.count("gpo"):
                break
        assert await backlog.count("gpo") == 0
        assert await backlog.count("outside") == 1
        await client.close()
