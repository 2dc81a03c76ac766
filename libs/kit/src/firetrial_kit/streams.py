"""Make the streams, and each service's bucket of state: what a deployment does once, where no service may.

python -m firetrial_kit.streams make               # FIRETRIAL_NATS_URL and an operator's user and password
python -m firetrial_kit.streams make --replicas 3  # each kept by three servers of a cluster
python -m firetrial_kit.streams make --audit-days 3650  # the audit kept so long, old or new
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Sequence

import structlog
from nats.js import JetStreamContext
from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy, StorageType, StreamConfig, StreamSource

from firetrial_kit import audit, events, jetstream
from firetrial_kit.errors import FiretrialError
from firetrial_kit.events import EVENTS
from firetrial_kit.kv import JetStreamState
from firetrial_kit.objects import GRANTS
from firetrial_kit.settings import CommonSettings, SettingsError

WATCHER = "watcher"
"""The consumer by which one who only looks on catches up with facts."""


_AUDIT_DAYS = 400
"""A year, and time to look back at it."""


async def make(settings: CommonSettings, replicas: int = 1, audit_days: int | None = None) -> None:
    """Make what is missing; what is there stays as it is, but for `audit_days`. Raises FiretrialError."""
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
        js = client.jetstream()
        await jetstream.reach(f"consumer {WATCHER}", js.add_consumer(EVENTS, watcher))
        await _keep_audit(js, replicas, audit_days)
    finally:
        await client.close()


async def _keep_audit(js: JetStreamContext, replicas: int, days: int | None) -> None:
    """A stream that the broker itself fills from the facts; nobody can take a single one out of it."""
    there = await jetstream.found(audit.STREAM, js.stream_info(audit.STREAM))
    if there is None:
        told = StreamSource(name=EVENTS, filter_subject=events.subject("*", "call_audited"))
        config = StreamConfig(
            name=audit.STREAM,
            sources=[told],
            storage=StorageType.FILE,
            num_replicas=replicas,
            max_age=_seconds(days or _AUDIT_DAYS),
            deny_delete=True,
            deny_purge=True,
        )
        await jetstream.reach(audit.STREAM, js.add_stream(config))
    elif days is not None and there.config.max_age != _seconds(days):
        await jetstream.reach(audit.STREAM, js.update_stream(there.config, max_age=_seconds(days)))


def _seconds(days: int) -> float:
    return days * 24 * 3600.0


def main(argv: Sequence[str]) -> str | None:
    """Returns what went wrong, or None."""
    told = _arguments().parse_args(argv)
    try:
        settings = CommonSettings.from_env(os.environ, "operator")
        asyncio.run(make(settings, told.replicas, told.audit_days))
    except (SettingsError, FiretrialError) as error:
        return str(error)
    return None


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m firetrial_kit.streams", description=__doc__)
    making = parser.add_subparsers(required=True).add_parser("make")
    making.add_argument("--replicas", type=int, choices=(1, 3, 5), default=1)
    making.add_argument("--audit-days", type=int, choices=range(1, 36_501), metavar="N", default=None)
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
