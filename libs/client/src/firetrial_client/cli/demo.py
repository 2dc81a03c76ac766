"""`firetrial demo`: the whole path on the study that ships with Firetrial."""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from firetrial_client import demo as shipped
from firetrial_client import endpoints, local
from firetrial_client.cli.agents import demo_agents
from firetrial_client.cli.app import App, answering
from firetrial_client.cli.planning import Wanted
from firetrial_client.cli.run import study
from firetrial_client.cli.stopping import stoppable


@click.command()
@click.option(
    "--repeats", type=click.IntRange(1, 100), default=2, show_default=True, help="Runs of each agent."
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default="firetrial-demo",
    show_default=True,
    help="Folder for the report.",
)
@answering
def demo(app: App, repeats: int, out: Path) -> None:
    """Run three scripted agents on the study that ships with Firetrial and show the report.

    Uses the Firetrial that is running, or starts one for as long as it takes. Needs no key and no network.
    """
    wanted = Wanted(
        agent=tuple(demo_agents()),
        repeats=repeats,
        judge="offline",
        # Each demo is run anew, however often the study was run before.
        request_id=f"demo-{secrets.token_hex(8)}",
    )
    with _running(app):
        asyncio.run(stoppable(study(app, shipped.study(), (), wanted, out=out)))


@contextmanager
def _running(app: App) -> Iterator[None]:
    """A Firetrial: the one that was named, or the one on this machine, started where it is not up."""
    if app.endpoint or os.environ.get(endpoints.VARIABLE):
        yield
        return
    home = local.default_home(os.environ)
    try:
        with local.running(local.Options(home=str(home.path))) as started:
            if started and not app.json:
                click.echo(f"started Firetrial in {home.path} for this demo", err=True)
            yield
    except local.StartError as error:
        raise click.ClickException(str(error)) from None
