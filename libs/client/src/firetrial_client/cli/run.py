"""`firetrial run`: from a paper or tasks to a report with one command."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from firetrial.analyzer.v1.analysis_pb2 import Report
from firetrial.parser.v1.paper_pb2 import PAPER_STATE_CANCELLED
from firetrial_client.aio import AsyncFiretrial
from firetrial_client.cli import summary
from firetrial_client.cli.app import DURATION, App, answering
from firetrial_client.cli.board import Board
from firetrial_client.cli.display import display
from firetrial_client.cli.follow import APPEAR, Failed, Follower
from firetrial_client.cli.output import plain, show_json
from firetrial_client.cli.planning import Wanted, plan_options
from firetrial_client.cli.report import write
from firetrial_client.cli.stopping import stoppable
from firetrial_client.cli.summary import Summary
from firetrial_client.errors import FiretrialError, Reason

_FILES = {"html": "report.html", "json": "report.json", "md": "report.md"}


@click.command()
@click.option("--paper", type=click.Path(path_type=Path), help="A paper: PDF, HTML, LaTeX, Markdown or text.")
@click.option("--task", "tasks", multiple=True, metavar="ID", help="A task that exists; may be repeated.")
@plan_options
@click.option("--detach", is_flag=True, help="Start it and return; `firetrial watch` follows it.")
@click.option("--timeout", type=DURATION, metavar="TIME", help="Stop waiting after TIME; the runs go on.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder for the report (default: firetrial-ID).",
)
@answering
def run(
    app: App,
    paper: Path | None,
    tasks: tuple[str, ...],
    wanted: Wanted,
    *,
    detach: bool,
    timeout: float | None,
    out: Path | None,
) -> None:
    """Run agents on a paper or on tasks, wait, and print the table and the path of the report.

    Ctrl-C and SIGTERM cancel the runs; whatever else ends the program leaves them alone. The same paper,
    tasks and plan are one experiment: asked for again, it is not run again unless --request-id differs.
    """
    if (paper is None) == (not tasks):
        raise click.UsageError("give either --paper FILE or --task ID")
    if wanted.empty:
        raise click.UsageError("give at least one --agent or --agent-command")
    asyncio.run(stoppable(study(app, paper, tasks, wanted, detach=detach, timeout=timeout, out=out)))


async def study(
    app: App,
    paper: Path | None,
    tasks: tuple[str, ...],
    wanted: Wanted,
    *,
    detach: bool = False,
    timeout: float | None = None,
    out: Path | None = None,
) -> None:
    """Submit, follow, report; cancelled itself, it cancels the runs. Raises Failed where none was scored."""
    async with app.async_client() as client:
        plan = await wanted.plan(client)
        submitting = asyncio.ensure_future(_submit(client, paper, tasks, plan, wanted.request_id))
        try:
            paper_id, experiment_id = await asyncio.shield(submitting)
        except asyncio.CancelledError:
            await _cancel(client, *await submitting)  # it may have been heard
            raise
        if detach:
            _started(app, experiment_id)
            return
        board = Board(experiment_id, list(plan.agents))
        try:
            with display(board, quiet=app.json) as show:
                follower = Follower(client, board, show, timeout=timeout)
                if paper_id:
                    await follower.paper(paper_id)
                report = await follower.experiment(APPEAR)
        except asyncio.CancelledError:
            await _cancel(client, paper_id, experiment_id)
            raise
        except FiretrialError:
            _goes_on(experiment_id)
            raise
        await finish(app, client, report, out or Path(f"firetrial-{experiment_id}"))


async def _submit(
    client: AsyncFiretrial, paper: Path | None, tasks: tuple[str, ...], plan: Any, request_id: str
) -> tuple[str, str]:
    """The ids of paper and experiment; the paper's is empty where tasks were given."""
    if paper is None:
        return "", (await client.submit_experiment(tasks, plan, request_id=request_id)).id
    answer = await client.submit_paper(paper, plan=plan, request_id=request_id)
    return answer.paper.id, answer.experiment_id


def _started(app: App, experiment_id: str) -> None:
    if app.json:
        show_json({"experiment_id": experiment_id})
    else:
        click.echo(experiment_id)
        click.echo(f"`firetrial watch {experiment_id}` follows it", err=True)


def _goes_on(experiment_id: str) -> None:
    """What became of the runs where only their following broke off."""
    told = f"{experiment_id} was not cancelled: `firetrial watch {experiment_id}` follows it on, "
    click.echo(f"{told}`firetrial cancel {experiment_id}` ends it", err=True)


async def _cancel(client: AsyncFiretrial, paper_id: str, experiment_id: str) -> None:
    """What Ctrl-C and SIGTERM ask for. A second one ends the program at once."""
    click.echo(f"cancelling {experiment_id} …", err=True)
    try:
        paper = await client.cancel_paper(paper_id) if paper_id else None
        # Without tasks there will be no runs.
        if paper is None or paper.state != PAPER_STATE_CANCELLED:
            await _cancel_runs(client, experiment_id)
    except FiretrialError as error:
        click.echo(f"it could not be cancelled: {error.message}", err=True)
    else:
        click.echo("cancelled", err=True)


async def _cancel_runs(client: AsyncFiretrial, experiment_id: str) -> None:
    """Also those of an experiment that is on its way from the parser to the runner."""
    for pause in (0.5, 1.0, 2.0):
        try:
            await client.cancel_experiment(experiment_id)
        except FiretrialError as error:
            if error.reason != Reason.NOT_FOUND:
                raise
            await asyncio.sleep(pause)
        else:
            return
    await client.cancel_experiment(experiment_id)


async def finish(app: App, client: AsyncFiretrial, report: Report, out: Path | None) -> None:
    """Write the report's files to the folder `out`, if any, and print the summary. Raises Failed if nothing
    was scored.
    """
    document = await client.render_report(report.experiment_id, "json")
    found = summary.summarize(document)
    paths = {}
    for form, name in _FILES.items() if out else ():
        body = document if form == "json" else await client.render_report(report.experiment_id, form)
        paths[form] = Path(out or "") / name
        write(paths[form], body)
    if app.json:
        show_json(_answer(report, found, paths))
    else:
        summary.show(found)
        if paths:
            click.echo(f"report: {paths['html'].absolute()}")
    if not found.scored and app.json:
        raise click.exceptions.Exit(Failed.exit_code)  # the answer has been given, and there is only one
    if not found.scored:
        raise Failed("no run was scored")


def _answer(report: Report, found: Summary, paths: dict[str, Path]) -> dict[str, Any]:
    return {
        "experiment_id": report.experiment_id,
        "report": plain(report),
        "scored": found.scored,
        "agents": [asdict(row) for row in found.rows],
        "files": {form: str(path.absolute()) for form, path in paths.items()},
    }
