"""Make the streams, and each service's bucket of state: what a deployment does once, where no service may.

python -m firetrial_kit.streams make               # FIRETRIAL_NATS_URL and an operator's user and password
python -m firetrial_kit.streams make --replicas 3  # each kept by three servers of a cluster
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Sequence

import structlog
from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy

from firetrial_kit import jetstream
from firetrial_kit.errors import FiretrialError
from firetrial_kit.events import EVENTS
from firetrial_kit.kv import JetStreamState
from firetrial_kit.objects import GRANTS
from firetrial_kit.settings import CommonSettings, SettingsError

WATCHER = "watcher"
"""The consumer by which one who only looks on catches up with facts."""


async def make(settings: CommonSettings, replicas: int = 1) -> None:
    """Make what is missing; what is there stays as it is. Raises FiretrialError."""
    client = await jetstream.connected(settings, "streams")
    try:
        await jetstream.JetStreamBus(client, structlog.get_logger()).ensure_streams(replicas)
        for service in sorted(GRANTS.keys() - {"operator"}):
            await JetStreamState.open(client, f"ft_{service}", replicas)
        watcher = ConsumerConfig(
            name=WATCHER,
            durable_name=WATCHER,
            ack_policy=AckPolicy.EXPLICIT,
            deliver_policy=DeliverPolicy.NEW,
        )
        await jetstream.reach(f"consumer {WATCHER}", client.jetstream().add_consumer(EVENTS, watcher))
    finally:
        await client.close()


def main(argv: Sequence[str]) -> str | None:
    """Returns what went wrong, or None."""
    match list(argv):
        case ["make"]:
            replicas = 1
        case ["make", "--replicas", ("1" | "3" | "5") as told]:
            replicas = int(told)
        case _:
            return "usage: make [--replicas 1|3|5]"
    try:
        asyncio.run(make(CommonSettings.from_env(os.environ, "operator"), replicas))
    except (SettingsError, FiretrialError) as error:
        return str(error)
    return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
