"""The process that sends: one consumer for each endpoint, metrics, and an orderly end."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from nats.aio.client import Client

from firetrial_kit import jetstream, logs, metrics, whole
from firetrial_kit.clock import SystemClock
from firetrial_operate.webhooks.delivering import Delivering
from firetrial_operate.webhooks.endpoint import Endpoint
from firetrial_operate.webhooks.metrics import WebhookMetrics
from firetrial_operate.webhooks.sending import Sender
from firetrial_operate.webhooks.settings import WebhookSettings


@asynccontextmanager
async def broker(told: WebhookSettings) -> AsyncIterator[Client]:
    """A connection to the broker. Raises UNAVAILABLE."""
    client = await jetstream.connected(told, "webhooks")
    try:
        yield client
    finally:
        await client.close()


async def serve(told: WebhookSettings, endpoints: Sequence[Endpoint]) -> None:
    """Send until SIGTERM or SIGINT; what cannot be sent by then goes back to the broker."""
    log, stop, ready = logs.logger("webhooks"), asyncio.Event(), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(broker(told))
        bus = jetstream.JetStreamBus(client, log)
        await bus.ensure_streams()
        registry = metrics.new_registry()
        kit, counts, clock = metrics.KitMetrics(registry), WebhookMetrics(registry), SystemClock()
        kit.runs("operate")
        port = stack.enter_context(metrics.serving(registry, told.metrics_address, ready.is_set))
        consuming = []
        for endpoint in endpoints:
            counts.expect(endpoint.name)
            sender = Sender(endpoint, clock)
            stack.push_async_callback(sender.aclose)
            delivering = Delivering(endpoint, sender, clock, counts, log)
            consuming.append(asyncio.create_task(bus.consume(delivering.consumer(told.ack_wait), stop)))
        ready.set()
        _announce(told.ports_file, f"{told.metrics_address.rpartition(':')[0]}:{port}")
        log.info("sending", endpoints=[one.name for one in endpoints], metrics_port=port)
        await stop.wait()
        ready.clear()
        log.info("draining", seconds=told.drain)
        _, late = await asyncio.wait(consuming, timeout=told.drain)
        for task in late:
            task.cancel()
        await asyncio.gather(*consuming, return_exceptions=True)
    log.info("stopped")


def _announce(ports_file: Path | None, address: str) -> None:
    if ports_file is not None:
        whole.put(ports_file, json.dumps({"pid": os.getpid(), "metrics": address}))
