# ruff: noqa: PLC0415 - what is heavy is imported by the command that needs it, so that the CLI starts fast
"""Commands of the parser. All work without a server."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from firetrial_parser.catalogue_cli import tasks
from firetrial_parser.fml.cli import fml
from firetrial_parser.kinds import cli as kinds_cli
from firetrial_parser.soundness.cli import proposals
from firetrial_parser.tree_cli import parse, trees

if TYPE_CHECKING:
    from firetrial_parser.firebench import ImportedTask
    from firetrial_parser.leaks.listing import Entail

ORIGIN = "firebench"


@click.group("import")
def import_() -> None:
    """Take in tasks that were made elsewhere."""


@import_.command("firebench")
@click.argument("path", type=click.Path(path_type=Path))
@click.option(
    "--ratings",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="JSON that gives tasks, by folder, their difficulty and their paper's date.",
)
@click.option("--check-leaks", is_flag=True, help="List what each instruction gives away; store nothing.")
@click.option("--json", "as_json", is_flag=True, help="A JSON list instead of a table.")
@click.pass_context
def firebench(
    context: click.Context, path: Path, *, ratings: Path | None, check_leaks: bool, as_json: bool
) -> None:
    """Read the official benchmark's repository at PATH, say what is broken in each task, and store them.

    Without a server nothing is stored.
    """
    from firetrial_parser.firebench import read_firebench
    from firetrial_parser.rating import read_ratings

    submit = None if check_leaks else (context.obj or {}).get("submit_task")
    rated = read_ratings(ratings.read_text("utf-8", "replace")) if ratings else {}
    found = read_firebench(path, rated)
    reports = [_imported(task, submit) for task in found]
    if check_leaks:
        _add_leaks(found, reports, (context.obj or {}).get("entail", lambda: None)())
    elif submit is None:
        click.echo("nothing was stored: no server answers (start one with `firetrial up`)", err=True)
    click.echo(json.dumps(reports, ensure_ascii=False) if as_json else "\n".join(_listed(reports)))


def _imported(task: ImportedTask, submit: Callable[..., tuple[str, str]] | None) -> dict[str, Any]:
    """What is told of a task, once it is stored where that can be done."""
    id_, version, stored = task.id, task.version, False
    if submit is not None and task.runnable:
        with _packed(task) as data:
            id_, version = submit(
                slug=task.slug,
                question=task.question,
                instruction=task.instruction,
                ground_truth=task.ground_truth,
                broken=list(task.broken),
                origin=ORIGIN,
                data=data,
                difficulty=asdict(task.rating.difficulty) if task.rating.difficulty else None,
                published=task.rating.published,
            )
        stored = True
    return {
        "id": id_,
        "version": version,
        "name": task.name,
        "question": task.question,
        "has_truth": bool(task.ground_truth),
        "runnable": task.runnable,
        "stored": stored,
        "broken": list(task.broken),
    }


def _add_leaks(found: list[ImportedTask], reports: list[dict[str, Any]], entail: Entail | None) -> None:
    """Put into each report what its task gives away, by words alone where no judge answers."""
    import asyncio

    from firetrial_parser.instruction import public_part
    from firetrial_parser.leaks.listing import listed, told

    if entail is None:
        click.echo("words alone were looked at: no judge answers (start one with `firetrial up`)", err=True)
    parts = [(public_part(task.question, task.instruction), task.ground_truth) for task in found]
    for report, check in zip(reports, asyncio.run(listed(parts, entail)), strict=True):
        report["leak_check"] = told(check)


@contextmanager
def _packed(task: ImportedTask) -> Iterator[Path | None]:
    """The task's data as the tar that its version was counted with."""
    from firetrial_parser.firebench import pack_data

    if task.data is None:
        yield None
        return
    with tempfile.NamedTemporaryFile(suffix=".tar") as file:
        pack_data(task.data, file)
        file.flush()
        yield Path(file.name)


def _listed(reports: list[dict[str, Any]]) -> Iterator[str]:
    for report in reports:
        yield click.style(report["id"], bold=True) + ("" if report["runnable"] else "  cannot be run")
        yield from (f"    {defect}" for defect in report["broken"])
        for leak in (report.get("leak_check") or {}).get("leaks", ()):
            yield f"    {click.style(leak['kind'].lower().replace('_', ' '), fg='red')} {leak['sentence']}"
    without = sum("no data folder" in report["broken"] for report in reports)
    stored = sum(report["stored"] for report in reports)
    yield f"\n{len(reports)} tasks, {without} without a data folder, {stored} stored"


import_.add_command(fml)
tasks.add_command(kinds_cli.new)
tasks.add_command(kinds_cli.check)
commands: list[click.Command] = [parse, trees, import_, tasks, proposals]
