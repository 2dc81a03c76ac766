"""`firetrial tasks`: what agents are run on, how it is made of papers, and what it gives away."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import click

from firetrial.parser.v1.candidate_pb2 import Candidate
from firetrial.parser.v1.leak_pb2 import LeakCheck, LeakKind
from firetrial.parser.v1.task_pb2 import (
    TASK_STATE_BLOCKED,
    TASK_VARIANT_REDISCOVERY,
    TASK_VARIANT_REPLICATION,
    Difficulty,
    Task,
    TaskState,
    TaskVariant,
)
from firetrial_client import task_folders
from firetrial_client.cli.app import App, answering
from firetrial_client.cli.output import columns, fields, show_json, when, word
from firetrial_client.cli.planning import Wanted, plan_options
from firetrial_client.cli.text import safe

_EASY, _MEDIUM = 4, 6


@click.group()
def tasks() -> None:
    """Tasks that agents can be run on."""


@tasks.command("list")
@answering
def list_tasks(app: App) -> None:
    """All tasks, with what is known to be wrong with them and what blocks them."""
    with app.client() as client:
        found = list(client.list_tasks())
    if app.json:
        show_json(found)
        return
    columns(
        ("TASK", "ORIGIN", "TRUTH", "BROKEN", "LEAKS", "QUESTION"),
        (
            (
                t.id,
                t.origin,
                "yes" if t.has_truth else "no",
                len(t.broken) or "",
                "blocked" if t.state == TASK_STATE_BLOCKED else len(t.leak_check.leaks) or "",
                " ".join(t.question.split()),
            )
            for t in found
        ),
    )


@tasks.command("show")
@click.argument("task")
@answering
def show_task(app: App, task: str) -> None:
    """One task: what an agent is told. The ground truth cannot be read."""
    with app.client() as client:
        found = client.get_task(task)
    if app.json:
        show_json(found)
        return
    fields(_fields(found))
    click.echo(f"\n{safe(found.question, keep=chr(10))}\n\n{safe(found.instruction, keep=chr(10))}")


@tasks.command("candidates")
@click.argument("paper")
@answering
def candidates(app: App, paper: str) -> None:
    """The leaves of a PAPER's tree as targets of tasks, with the reasons for each one's rank."""
    with app.client() as client:
        found = client.list_candidates(paper)
    if app.json:
        show_json(found)
    else:
        click.echo("\n".join(line for candidate in found for line in _ranked(candidate)))


@tasks.command("make")
@click.argument("paper")
@click.option("--leaf", default="", metavar="PATH", help="A leaf's place in the tree (default: the best).")
@click.option("--replication", is_flag=True, help="Give the method, too, and withhold the result alone.")
@plan_options
@answering
def make(app: App, paper: str, *, leaf: str, replication: bool, wanted: Wanted) -> None:
    """Make a task of one leaf of a PAPER's tree; with agents, run them on it. Prints the ids."""
    variant = TASK_VARIANT_REPLICATION if replication else TASK_VARIANT_REDISCOVERY

    async def work() -> None:
        async with app.async_client() as client:
            plan = None if wanted.empty else await wanted.plan(client)
            answer = await client.make_task(paper, leaf_path=leaf, variant=variant, plan=plan)
        if app.json:
            show_json(answer)
            return
        click.echo("\n".join(filter(None, [answer.task.id, answer.experiment_id])))
        if answer.task.state == TASK_STATE_BLOCKED:
            click.echo("\n".join(["blocked:", *map(_leak, answer.task.leak_check.leaks)]), err=True)

    asyncio.run(work())


@tasks.command("submit")
@click.argument("folder", type=click.Path(path_type=Path, exists=True, file_okay=False), metavar="DIR")
@plan_options
@answering
def submit_folder(app: App, folder: Path, *, wanted: Wanted) -> None:
    """Hand in the task in DIR, of whatever kind; with agents, run them on it. Prints the ids."""
    header = task_folders.read(folder)

    async def work() -> None:
        async with app.async_client() as client:
            if not wanted.empty:
                header.plan.CopyFrom(await wanted.plan(client))
            with task_folders.packed(folder) as parts:
                answer = await client.submit_header(header, parts)
        if app.json:
            show_json(answer)
        else:
            click.echo("\n".join(filter(None, [answer.task.id, answer.experiment_id])))

    asyncio.run(work())


@tasks.command("overrule")
@click.argument("task")
@click.option("--by", required=True, metavar="NAME", help="Who answers for it.")
@click.option("--reason", required=True, help="Why it is published all the same; stays with the task.")
@answering
def overrule(app: App, task: str, *, by: str, reason: str) -> None:
    """Publish a TASK that is blocked for what it gives away; what waited for it begins."""
    with app.client() as client:
        answer = client.overrule_leak(task, by=by, reason=reason)
    if app.json:
        show_json(answer)
    else:
        click.echo("\n".join([answer.task.id, *answer.experiment_ids]))


def _fields(task: Task) -> Iterator[tuple[str, object]]:
    yield from (
        ("task", task.id),
        ("version", task.version),
        ("state", word(TaskState, task.state)),
        ("variant", word(TaskVariant, task.variant)),
        ("origin", task.origin),
        ("paper", task.paper_id),
        ("published", task.published),
        ("difficulty", _level(task.difficulty) if task.HasField("difficulty") else ""),
        ("data", f"{task.data.size} bytes" if task.HasField("data") else "none"),
        ("ground truth", "kept secret" if task.has_truth else "none: runs cannot be judged"),
        ("created", when(task.created_at)),
    )
    if task.HasField("leak_check"):
        yield from _checked(task.leak_check)
    yield from (("broken", line) for line in task.broken)


def _checked(check: LeakCheck) -> Iterator[tuple[str, object]]:
    by_words = check.depth == LeakCheck.DEPTH_WORDS
    yield "leak check", "words only" if by_words else f"words, and {check.claims} claims by the judge"
    yield from (("leak", _leak(leak)) for leak in check.leaks)
    if check.HasField("overruling"):
        told = check.overruling
        yield "overruled", f"by {told.by}, {when(told.at)}: {told.reason}"


def _leak(leak: object) -> str:
    kind, sentence, words = (getattr(leak, name) for name in ("kind", "sentence", "words"))
    named = word(LeakKind, kind).removeprefix("leak_kind_").replace("_", " ")
    shown = f" ({safe(words)})" if words and words != sentence else ""
    return f"{named}{shown}: {safe(sentence)}"


def _level(rated: Difficulty) -> str:
    total = rated.conceptual_decomposition + rated.confound_control + rated.analysis_complexity
    level = "easy" if total <= _EASY else "medium" if total <= _MEDIUM else "hard"
    return f"{level} ({total} of 9{f', by {rated.rated_by}' if rated.rated_by else ''})"


def _ranked(candidate: Candidate) -> Iterator[str]:
    place = f"{candidate.rank:3}." if candidate.rank else "   -"
    level = f"  {_level(candidate.difficulty)}" if candidate.HasField("difficulty") else ""
    yield click.style(f"{place} {safe(candidate.evidence)}", bold=True) + (
        f"  leaf {candidate.leaf_path}  {candidate.score:g} points{level}"
    )
    yield f"       {safe(candidate.title)}"
    yield from (f"     {reason.points:+3g}  {safe(reason.why)}" for reason in candidate.reasons)
    yield from (f"      no  {safe(why)}" for why in candidate.against)
