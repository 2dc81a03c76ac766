# ruff: noqa: PLC0415 - what is heavy is imported by the command that needs it, so that the CLI starts fast
"""`firetrial tasks new` and `firetrial tasks check`: tasks in folders of their own. They need no server."""

from __future__ import annotations

import json
import shutil
from importlib.resources import as_file, files
from pathlib import Path

import click

KINDS = ("repository", "follow-up")
"""Each has a folder to begin with in `scaffolds/`."""


@click.command("new")
@click.argument("folder", type=click.Path(path_type=Path), metavar="DIR")
@click.option("--kind", type=click.Choice(KINDS), required=True, help="What is asked of an agent.")
@click.option("--json", "as_json", is_flag=True, help="Answer in JSON.")
def new(folder: Path, kind: str, *, as_json: bool) -> None:
    """Begin a task in DIR, which must not exist: a small one that is valid and can be run, to be changed."""
    if folder.exists():
        raise click.UsageError(f"{folder} exists: name a folder that does not")
    with as_file(files("firetrial_parser.kinds") / "scaffolds" / kind) as begun:
        shutil.copytree(begun, folder, ignore=shutil.ignore_patterns("__pycache__"))
    made = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    told = f"{folder}: {', '.join(made)}\nchange it, then `firetrial tasks check {folder}`"
    click.echo(json.dumps({"folder": str(folder), "kind": kind, "files": made}) if as_json else told)


@click.command("check")
@click.argument("folder", type=click.Path(path_type=Path), metavar="DIR")
@click.option("--json", "as_json", is_flag=True, help="Answer in JSON.")
def check(folder: Path, *, as_json: bool) -> None:
    """Say everything that is wrong with the task in DIR. Nothing of it is run."""
    from firetrial_kit import errors
    from firetrial_parser.kinds import folder_wire

    header = folder_wire.read(folder)
    errors.check("the task", folder_wire.faults(folder, header))
    click.echo(json.dumps({"valid": True, "slug": header.slug}) if as_json else f"{header.slug} is valid")
