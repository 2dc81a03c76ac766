"""`firetrial submit`: hand in a paper, task, agent or experiment and return."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import TextIO

import click
from google.protobuf.json_format import ParseDict, ParseError
from google.protobuf.message import Message

from firetrial.parser.v1.parser_service_pb2 import TaskHeader
from firetrial_client.cli.agents import register
from firetrial_client.cli.app import App, answering
from firetrial_client.cli.output import show_json
from firetrial_client.cli.planning import Wanted, plan_options

FILE = click.Path(path_type=Path, exists=True, dir_okay=False)


@click.group()
def submit() -> None:
    """Hand something in, print its id, and return."""


def _told(app: App, answer: Message, *ids: str) -> None:
    if app.json:
        show_json(answer)
    else:
        click.echo("\n".join(filter(None, ids)))


@submit.command("paper")
@click.argument("paper", type=click.Path(path_type=Path))
@plan_options
@answering
def submit_paper(app: App, paper: Path, wanted: Wanted) -> None:
    """Hand in a PAPER: PDF, HTML, LaTeX, Markdown or text.

    With agents, runs follow by themselves; without, it is only parsed. Prints the paper's id and, with
    agents, the experiment's.
    """

    async def work() -> None:
        async with app.async_client() as client:
            plan = None if wanted.empty else await wanted.plan(client)
            answer = await client.submit_paper(paper, plan=plan, request_id=wanted.request_id)
            _told(app, answer, answer.paper.id, answer.experiment_id)

    asyncio.run(work())


@submit.command("task")
@click.argument("slug")
@click.option("--instruction", type=FILE, required=True, help="What the agent is told.")
@click.option("--question", default="", help="The question in a sentence (default: the instruction).")
@click.option("--truth", type=FILE, help="The findings to rediscover; without it runs cannot be judged.")
@click.option("--data", type=click.Path(path_type=Path, exists=True), help="A folder or tar for data/.")
@click.option(
    "--source",
    multiple=True,
    metavar="hf:ID|PATH",
    help="Data that the runners' operator provides: a Hugging Face id, or a path in the data folder.",
)
@answering
def submit_task(
    app: App,
    slug: str,
    *,
    instruction: Path,
    question: str,
    truth: Path | None,
    data: Path | None,
    source: tuple[str, ...],
) -> None:
    """Hand in a task made elsewhere. SLUG becomes the first part of its id, which is printed."""
    told = instruction.read_text(encoding="utf-8")
    with app.client() as client:
        answer = client.submit_task(
            slug,
            question=question or told,
            instruction=told,
            ground_truth=truth.read_text(encoding="utf-8") if truth else "",
            data=data,
            sources=source,
        )
    _told(app, answer, answer.task.id)


@submit.command("tasks")
@click.argument("file", type=click.File("r", encoding="utf-8"))
@answering
def submit_tasks(app: App, file: TextIO) -> None:
    """Hand in the tasks of FILE, a JSON list as `firetrial tasks export` prints it (- for standard input)."""
    headers = _headers(file.read())
    with app.client() as client:
        answers = [client.submit_header(header) for header in headers]
    if app.json:
        show_json([answer.task for answer in answers])
    else:
        click.echo("\n".join(answer.task.id for answer in answers))


def _headers(text: str) -> list[TaskHeader]:
    """Raises a usage error that names the task and what is wrong with it."""
    try:
        given = json.loads(text)
        if not isinstance(given, list):
            raise click.UsageError("FILE must hold a JSON list of tasks")
        return [ParseDict(task, TaskHeader()) for task in given]
    except (ValueError, ParseError) as error:
        raise click.UsageError(f"FILE is no list of tasks: {error}") from error


@submit.command("agent")
@click.argument("agent", required=False, metavar="[DIR|NAME]")
@click.option("--command", metavar="CMD", help="A command line instead of a folder.")
@click.option("--name", default="", help="The name of the command line (default: made from it).")
@click.option("--file", multiple=True, metavar="SRC[:DEST]", help="A file or folder for it, at /agent/DEST.")
@answering
def submit_agent(app: App, agent: str | None, command: str | None, name: str, file: tuple[str, ...]) -> None:
    """Register a folder with agent.json, an agent that ships here, or a command line; print its id."""
    if (agent is None) == (command is None):
        raise click.UsageError("give either DIR or --command CMD")
    if agent is not None and (name or file):
        raise click.UsageError("--name and --file go with --command; an agent's folder says both itself")

    async def work() -> None:
        async with app.async_client() as client:
            named = [agent] if agent else []
            ids = await register(client, named, [command] if command else [], file, name=name)
            _told(app, await client.get_agent(ids[0]), ids[0])

    asyncio.run(work())


@submit.command("experiment")
@click.option("--task", "tasks", multiple=True, required=True, metavar="ID", help="A task; may be repeated.")
@plan_options
@answering
def submit_experiment(app: App, tasks: tuple[str, ...], wanted: Wanted) -> None:
    """Start agents on tasks and print the experiment's id."""
    if wanted.empty:
        raise click.UsageError("give at least one --agent or --agent-command")

    async def work() -> None:
        async with app.async_client() as client:
            plan = await wanted.plan(client)
            experiment = await client.submit_experiment(tasks, plan, request_id=wanted.request_id)
            _told(app, experiment, experiment.id)

    asyncio.run(work())
