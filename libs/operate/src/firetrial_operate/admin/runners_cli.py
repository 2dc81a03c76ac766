"""`firetrial admin runners` and `firetrial admin drain`."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import click

from firetrial_kit.attendance import Attendant
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.kv import JetStreamState
from firetrial_kit.state import State
from firetrial_operate import printing
from firetrial_operate.access import opened
from firetrial_operate.admin import runners as known

_LOOK_S = 1.0


@click.command()
@printing.as_json
def runners(as_json: bool) -> None:
    """Runners that are there: pool, slots, version, and whether they drain."""

    async def read() -> list[Attendant]:
        async with opened(os.environ) as access:
            state = await JetStreamState.open(access.client, known.BUCKET)
            return await known.there(state, datetime.now(UTC))

    told = [_told(one) for one in printing.run(read())]
    if as_json:
        printing.show_json(told)
        return
    rows = [
        (one["instance"], one["pool"], f"{one['busy']}/{one['slots']}", one["version"],
         printing.span(one["up_s"]), one["state"])
        for one in told
    ]  # fmt: skip
    printing.table(["RUNNER", "POOL", "BUSY", "VERSION", "UP", "STATE"], rows)


def _told(one: Attendant) -> dict[str, Any]:
    asked = "drain asked" if one.drain_asked else "taking"
    return {
        "instance": one.instance,
        "host": one.host,
        "pool": one.pool,
        "slots": one.slots,
        "busy": one.busy,
        "version": one.version,
        "since": one.since.isoformat(),
        "up_s": (datetime.now(UTC) - one.since).total_seconds(),
        "alone": one.alone,
        "draining": one.draining,
        "state": "draining" if one.draining else asked,
    }


@click.command()
@click.argument("names", metavar="[RUNNER]...", nargs=-1)
@click.option("--all", "every", is_flag=True, help="Every runner that is there now.")
@click.option("--pool", default="", help="With --all: those of this pool.")
@click.option("--wait", type=click.FloatRange(min=0), metavar="SECONDS", help="Until they are gone.")
@printing.destructive
def drain(names: Sequence[str], *, every: bool, pool: str, wait: float | None, **how: bool) -> None:
    """Have runners take nothing new, finish what they have in hand, and end with exit code 0.

    A runner that is cut off from the broker hears of it when it is back. Whatever starts runners (a
    supervisor, Kubernetes, a scheduler) may start others in their place.
    """
    if bool(names) == every or (pool and not every):
        raise click.UsageError("name runners, or say --all, with --pool for those of one pool")

    async def ask() -> list[dict[str, Any]]:
        async with opened(os.environ) as access:
            state = await JetStreamState.open(access.client, known.BUCKET)
            alive = await known.there(state, datetime.now(UTC))
            meant = known.chosen(alive, names, pool, every=every)
            if meant and not how["dry_run"]:
                printing.confirm(f"Drain {len(meant)} runners?", sure=how["yes"])
                meant = [await known.drain(state, one.instance) for one in meant]
                if wait is not None:
                    await _gone(state, {one.instance for one in meant}, wait)
            return [_told(one) for one in meant]

    told = printing.run(ask())
    if how["as_json"]:
        printing.show_json(told)
        return
    for one in told:
        click.echo(f"{printing.safe(one['instance'])}  {one['busy']} in hand")
    if not told:
        click.echo(f"no runner is there{f' in pool {printing.safe(pool)}' if pool else ''}")


async def _gone(state: State, names: set[str], seconds: float) -> None:
    """Raises DEADLINE naming those that are still there."""
    until = time.monotonic() + seconds
    while left := names & {one.instance for one in await known.there(state, datetime.now(UTC))}:
        if time.monotonic() > until:
            raise FiretrialError(
                Reason.DEADLINE,
                f"still there after {seconds:.0f} s: {', '.join(sorted(left))}. They finish what they have; "
                "wait, cancel a run that hangs (`firetrial cancel`), or end the runner by SIGTERM: it gives "
                "back its runs",
            )
        await asyncio.sleep(_LOOK_S)
