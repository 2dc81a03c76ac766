"""`firetrial demo`: the whole path on what ships with Firetrial."""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from firetrial_client import demo as shipped
from firetrial_client import endpoints, local, task_folders
from firetrial_client.cli.agents import demo_agents, demo_improvers
from firetrial_client.cli.app import App, answering
from firetrial_client.cli.planning import Wanted
from firetrial_client.cli.run import study
from firetrial_client.cli.stopping import stoppable

STUDIES = ("rediscovery", "repository")


@click.command()
@click.option(
    "--study",
    "chosen",
    type=click.Choice(STUDIES),
    default=STUDIES[0],
    show_default=True,
    help="A paper's finding to rediscover, or two repositories to improve.",
)
@click.option("--repeats", type=click.IntRange(1, 100), help="Runs of each agent.  [default: 2, or 1]")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default="firetrial-demo",
    show_default=True,
    help="Folder for the report.",
)
@answering
def demo(app: App, chosen: str, repeats: int | None, out: Path) -> None:
    """Run scripted agents on what ships with Firetrial and show the report.

    Uses the Firetrial that is running, or starts one for as long as it takes. Needs no key and no network.
    """
    work = _rediscovery if chosen == STUDIES[0] else _repository
    with _running(app):
        asyncio.run(stoppable(work(app, repeats, out)))


async def _rediscovery(app: App, repeats: int | None, out: Path) -> None:
    """Three agents on the study."""
    await study(app, shipped.study(), (), _wanted(demo_agents(), repeats or 2), out=out)


async def _repository(app: App, repeats: int | None, out: Path) -> None:
    """Four agents on the two repositories. The same tasks are known by the same ids."""
    ids = []
    async with app.async_client() as client:
        for folder in shipped.repositories():
            with task_folders.packed(folder) as parts:
                answer = await client.submit_header(task_folders.read(folder), parts)
            ids.append(answer.task.id)
    await study(app, None, tuple(ids), _wanted(demo_improvers(), repeats or 1), out=out)


def _wanted(agents: Iterable[str], repeats: int) -> Wanted:
    """Each demo is run anew, however often it was run before."""
    return Wanted(
        agent=tuple(agents), repeats=repeats, judge="offline", request_id=f"demo-{secrets.token_hex(8)}"
    )


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
