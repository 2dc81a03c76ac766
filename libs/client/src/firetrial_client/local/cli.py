"""`firetrial up` and `down`: the system on this machine."""

from __future__ import annotations

import json
import os
from pathlib import Path

import click

from firetrial_client import local
from firetrial_client.local.home import default_home
from firetrial_client.local.supervisor import Supervisor


def _home(value: str | None) -> local.Home:
    return local.Home(Path(value).absolute()) if value else default_home(os.environ)


HOME = click.option("--home", metavar="DIR", help="Where everything is kept (default: $FIRETRIAL_HOME).")
JSON = click.option("--json", "as_json", is_flag=True, help="Answer in JSON.")


@click.command()
@HOME
@click.option("-d", "--detach", is_flag=True, help="Return once it answers; `firetrial down` ends it.")
@click.option("--split", is_flag=True, help="Each service in a process of its own.")
@click.option("--s3", is_flag=True, help="Keep objects on an S3 server (SeaweedFS) instead of in files.")
@click.option("--address", default="127.0.0.1:0", show_default=True, help="Where the services answer.")
@JSON
def up(*, home: str | None, detach: bool, split: bool, s3: bool, address: str, as_json: bool) -> None:
    """Start Firetrial on this machine: broker, store and the four services.

    In the foreground until Ctrl-C, or with -d in the background.
    """
    options = local.Options(home=str(_home(home).path), split=split, s3=s3, address=address)
    try:
        if not detach:
            raise SystemExit(Supervisor(options, lambda line: click.echo(line, err=True)).run())
        local.up(options)
    except local.StartError as error:
        raise click.ClickException(str(error)) from None
    endpoints = json.loads(_home(home).endpoints.read_text())
    if as_json:
        click.echo(json.dumps({"home": options.home, "endpoints": endpoints}))
    else:
        click.echo(f"up: {', '.join(sorted(set(endpoints.values())))} (home {options.home})")


@click.command()
@HOME
@JSON
def down(*, home: str | None, as_json: bool) -> None:
    """End what `firetrial up` started, with every run that is still going."""
    place = _home(home)
    try:
        ended = local.down(place)
    except local.StartError as error:
        raise click.ClickException(str(error)) from None
    if as_json:
        click.echo(json.dumps({"home": str(place.path), "was_up": ended}))
    else:
        click.echo("down" if ended else f"nothing is running in {place.path}")


commands = [up, down]
