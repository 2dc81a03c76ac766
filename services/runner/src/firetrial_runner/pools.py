"""The consumers of pools' work, and how to make them, as a deployment does that scales runners to none.

python -m firetrial_runner.pools default gpu   # FIRETRIAL_NATS_URL and the runner's user and password

A runner makes those of its pool itself. Whoever counts what waits before there is one needs them sooner: of a
consumer that is not there, nothing is known.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections.abc import Sequence

from firetrial_kit import jetstream
from firetrial_kit.errors import FiretrialError
from firetrial_kit.events import WORK, work_subject
from firetrial_kit.settings import CommonSettings, SettingsError

_POOL = re.compile(r"[a-z0-9-]{1,32}")


def of_runs(pool: str) -> tuple[str, str]:
    """(consumer, the subject that it takes) of the runs of a pool."""
    return f"runner-{pool}", work_subject("run", pool)


def of_tests(pool: str) -> tuple[str, str]:
    """The same of its sealed tests."""
    return f"runner-test-{pool}", work_subject("test", pool)


async def make(settings: CommonSettings, pools: Sequence[str]) -> None:
    """Make what is missing; what is there and the same stays as it is. Raises FiretrialError."""
    client = await jetstream.connected(settings, "pools")
    try:
        for pool in pools:
            for name, subject in (of_runs(pool), of_tests(pool)):
                config = jetstream.durable(name, (subject,), settings.ack_wait)
                await jetstream.reach(
                    f"consumer {name}", client.jetstream(timeout=5).add_consumer(WORK, config)
                )
    finally:
        await client.close()


def main(argv: Sequence[str]) -> str | None:
    """Returns what went wrong, or None."""
    if not argv or not all(_POOL.fullmatch(pool) for pool in argv):
        return "usage: POOL… (a-z, 0-9 and -, at most 32)"
    try:
        asyncio.run(make(CommonSettings.from_env(os.environ, "runner"), argv))
    except (SettingsError, FiretrialError) as error:
        return str(error)
    return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
