"""`firetrial admin rebuild-state`."""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import Any

import click

from firetrial_kit import keeping
from firetrial_operate import printing
from firetrial_operate.access import opened
from firetrial_operate.admin.services import SERVICES, installation, stewards
from firetrial_operate.progress import progress


@click.command("rebuild-state")
@click.argument("service", type=click.Choice([*SERVICES, "all"]))
@click.option("--replicas", type=click.Choice(["1", "3", "5"]), default="1", show_default=True,
              help="Servers of a cluster that keep a bucket which has to be made.")  # fmt: skip
@printing.destructive
def rebuild_state(service: str, *, replicas: str, yes: bool, dry_run: bool, as_json: bool) -> None:
    """Put a service's state back from the object store, and what follows from it.

    A record that stands in the state stays. What a run did that was under way is lost, and it is run again;
    what changed within the last seconds before the state was lost may be older. Do it before the services
    are let go on: what they make anew in an empty state stays.
    """
    names = SERVICES if service == "all" else (service,)

    async def restore() -> dict[str, Any]:
        told: dict[str, Any] = {}
        known = stewards(*names)
        async with opened(os.environ, progress(quiet=as_json)) as access:
            if not dry_run:
                printing.confirm(f"Rebuild the state of {', '.join(names)}?", sure=yes)
            for one in known:
                to = await installation(access, one.service, int(replicas))
                copies = len(await one.copies(access.objects))
                if dry_run:
                    told[one.service] = {"copies": copies}
                    continue
                with access.progress.of(f"records of the {one.service} put back", copies) as part:
                    told[one.service] = asdict(await keeping.restore(one, to, part.step))
        return told

    told = printing.run(restore())
    if as_json:
        printing.show_json(told)
        return
    for name, one in told.items():
        if dry_run:
            click.echo(f"{name}: {one['copies']} records have a copy")
            continue
        click.echo(f"{name}: {one['put_back']} records put back, {one['there']} were there")
        for remark in one["remarks"]:
            click.echo(f"  {printing.safe(remark)}")
