# ruff: noqa: PLC0415 - what is heavy is imported by the command that needs it, so that the CLI starts fast
"""Commands on the analyzer's data: knowledge cutoffs, and exports that are to be trusted."""

from __future__ import annotations

import json
from pathlib import Path

import click

from firetrial_analyzer.terminal import Refused
from firetrial_kit.errors import FiretrialError


@click.command("cutoffs")
@click.argument("file", required=False, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="As a file that can be edited and handed in.")
def cutoffs(file: Path | None, *, as_json: bool) -> None:
    """The models' knowledge cutoffs that ship here, or those of FILE, checked.

    An analyzer takes a table of its own from FIRETRIAL_ANALYZER_CUTOFFS.
    """
    from firetrial_analyzer.cutoffs import SCHEMA, read, shipped

    try:
        table = read(file.read_text("utf-8", "replace")) if file else shipped()
    except FiretrialError as error:
        raise Refused(error) from error
    days = {model: cutoff.day.isoformat() if cutoff.day else None for model, cutoff in table.items()}
    if as_json:
        models = {model: {"cutoff": days[model], "source": table[model].source} for model in table}
        click.echo(json.dumps({"schema": SCHEMA, "models": models}))
        return
    width = max(map(len, table), default=0)
    for model in sorted(table):
        click.echo(f"{model.ljust(width)}  {days[model] or 'unknown   '}  {table[model].source}")


@click.command("leaderboard-check")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Answer in JSON.")
def leaderboard_check(file: Path, *, as_json: bool) -> None:
    """Whether FILE is a leaderboard as it was exported: its schema and its checksum."""
    from firetrial_analyzer.leaderboard import verify

    try:
        verify(file.read_bytes())
    except FiretrialError as error:
        raise Refused(error) from error
    click.echo(json.dumps({"path": str(file), "unchanged": True}) if as_json else f"{file}: unchanged")


commands: list[click.Command] = [cutoffs, leaderboard_check]
