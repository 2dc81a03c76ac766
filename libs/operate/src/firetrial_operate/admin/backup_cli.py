"""`firetrial admin backup` and `firetrial admin restore`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from firetrial_operate import printing
from firetrial_operate.access import opened
from firetrial_operate.admin.backup import back_up
from firetrial_operate.admin.restore import Restoring
from firetrial_operate.progress import progress

_FOLDER = click.Path(file_okay=False, path_type=Path)


@click.command()
@click.argument("dest", type=_FOLDER)
@click.option("--objects", type=click.Choice(["copy", "reference"]), default="copy", show_default=True,
              help="Copy the objects, or name them: for a store with a backup of its own.")  # fmt: skip
@printing.as_json
def backup(dest: Path, *, objects: str, as_json: bool) -> None:
    """Back up streams, state and objects into the folder DEST, while everything goes on.

    It is whole once manifest.json is there. Cut off, it is finished by being called again. It holds the
    ground truths and whatever else is secret: keep it as you keep the store.
    """

    async def make() -> dict[str, Any]:
        async with opened(os.environ, progress(quiet=as_json)) as access:
            return await back_up(access, dest, copied=objects == "copy")

    told = printing.run(make())
    if as_json:
        printing.show_json(told)
    else:
        click.echo(f"{dest}: {told['count']} objects ({told['objects']}), {printing.size(told['bytes'])}")


@click.command()
@click.argument("source", type=_FOLDER)
@click.option(
    "--replicas", type=click.Choice(["1", "3", "5"]), help="Of each stream; else as many as there were."
)
@printing.destructive
def restore(source: Path, *, replicas: str | None, yes: bool, dry_run: bool, as_json: bool) -> None:
    """Put the backup in SOURCE into an empty installation whose services do not run yet.

    Every file is checked by its sha256 before anything is put; --dry-run ends there. What was under way at
    the time of the backup goes on or begins anew once the services run.
    """

    async def put() -> dict[str, Any]:
        async with opened(os.environ, progress(quiet=as_json)) as access:
            restoring = Restoring(access, source, int(replicas or 0))
            manifest = await restoring.check()
            if dry_run:
                return {**manifest, "remarks": [], "restored": False}
            printing.confirm(f"Restore {manifest['count']} objects of {manifest['made_at']}?", sure=yes)
            return {**manifest, "remarks": await restoring.restore(manifest), "restored": True}

    told = printing.run(put())
    if as_json:
        printing.show_json(told)
        return
    click.echo(f"{told['count']} objects, {printing.size(told['bytes'])}, of {told['made_at']}: whole"
               f"{', and restored' if told['restored'] else ''}")  # fmt: skip
    for remark in told["remarks"]:
        click.echo(f"  {printing.safe(remark)}")
