"""`firetrial watch` and `firetrial cancel`."""

from __future__ import annotations

import asyncio
import re
from datetime import UTC

import click
from google.protobuf.message import Message

from firetrial.parser.v1.paper_pb2 import PaperState
from firetrial.runner.v1.run_pb2 import Outcome, Run, RunState
from firetrial_client.cli import summary
from firetrial_client.cli.app import DURATION, App, answering
from firetrial_client.cli.board import Board
from firetrial_client.cli.display import display
from firetrial_client.cli.follow import Failed, Follower
from firetrial_client.cli.output import show_json, word
from firetrial_client.cli.run import finish
from firetrial_client.cli.text import safe


@click.command()
@click.argument("experiment")
@click.option("--timeout", type=DURATION, metavar="TIME", help="Stop watching after TIME.")
@click.option("--facts", is_flag=True, help="A line for each thing that any service tells, as it is told.")
@answering
def watch(app: App, experiment: str, timeout: float | None, *, facts: bool) -> None:
    """Follow EXPERIMENT to its end and print the table. Ctrl-C ends the watching only.

    With --json: a line {"run": …} for each change of a run, then one {"report": …}.
    """
    if facts:
        _facts(app, experiment, timeout)
    else:
        asyncio.run(_watch(app, experiment, timeout))


def _facts(app: App, experiment: str, timeout: float | None) -> None:
    with app.client() as client:
        for told in client.watch_experiment(experiment, timeout=timeout):
            if app.json:
                show_json(told)
                continue
            at = f"{told.told_at.ToDatetime(UTC).astimezone():%H:%M:%S}" if told.fact else " " * 8
            done = f"{told.ended_runs} of {told.expected_runs} runs" if told.expected_runs else ""
            what = " ".join(part for part in (told.service, told.fact, told.key, told.detail) if part)
            click.echo(safe(f"{at}  {done:>16}  {what}".rstrip()))


async def _watch(app: App, experiment_id: str, timeout: float | None) -> None:
    def told(run: Run) -> None:
        if app.json:
            show_json({"run": run})

    async with app.async_client() as client:
        board = Board(experiment_id)
        with display(board, quiet=app.json) as show:
            report = await Follower(client, board, show, timeout=timeout).experiment(0.0, told)
        if not app.json:
            await finish(app, client, report, None)
            return
        show_json({"report": report})
        found = summary.summarize(await client.render_report(experiment_id, "json"))
        if not found.scored:
            raise click.exceptions.Exit(Failed.exit_code)


@click.command()
@click.argument("id", metavar="EXPERIMENT|RUN|PAPER")
@answering
def cancel(app: App, id: str) -> None:  # noqa: A002 - what it is
    """Cancel an experiment with all its runs, one run, or a paper that is not a task yet.

    What has ended stays as it is.
    """
    with app.client() as client:
        if id.startswith("r-"):
            answer: Message
            run = client.cancel_run(id)
            asked = "cancelling" if run.cancel_requested else word(RunState, run.state)
            answer, state = run, word(Outcome, run.outcome) or asked
        elif re.fullmatch(r"[0-9a-f]{64}", id):
            paper = client.cancel_paper(id)
            answer, state = paper, word(PaperState, paper.state)
        else:
            experiment = client.cancel_experiment(id)
            answer, state = experiment, "ended" if experiment.ended else "cancelling"
    show_json(answer) if app.json else click.echo(f"{id}: {state}")
