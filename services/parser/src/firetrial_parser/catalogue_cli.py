# ruff: noqa: PLC0415 - what is heavy is imported by the command that needs it, so that the CLI starts fast
"""`firetrial tasks catalogue` and `firetrial tasks export`: the tasks that ship here. They need no server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from firetrial_parser.catalogue.entries import Entry


@click.group("tasks")
def tasks() -> None:
    """Tasks that agents can be run on."""


@tasks.command("catalogue")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--with-truth", is_flag=True, help="Show the findings, too: keep them from whoever is tested.")
@click.option("--json", "as_json", is_flag=True, help="A JSON list.")
def catalogue(*, names: tuple[str, ...], with_truth: bool, as_json: bool) -> None:
    """List the benchmark's core tasks that ship here, or show those with these names."""
    from firetrial_parser.catalogue.entries import named, read_catalogue

    entries = named(names) if names else read_catalogue()
    if as_json:
        shown = [entry.to_json(with_truth=with_truth) for entry in entries]
        click.echo(json.dumps(shown, ensure_ascii=False))
    elif names:
        click.echo("\n\n".join("\n".join(_told(entry, with_truth=with_truth)) for entry in entries))
    else:
        click.echo("\n".join(_rows(entries)))


@tasks.command("export")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--all", "everything", is_flag=True, help="All tasks of the catalogue.")
@click.option("--json", "as_json", is_flag=True, help="The same: this command always prints JSON.")
def export(*, names: tuple[str, ...], everything: bool, as_json: bool) -> None:  # noqa: ARG001 - one form only
    """Print tasks of the catalogue as a JSON list that `firetrial submit tasks` takes, findings included."""
    from firetrial_parser.catalogue.entries import named, read_catalogue

    if bool(names) == everything:
        raise click.UsageError("give either names of tasks or --all")
    entries = read_catalogue() if everything else named(names)
    click.echo(json.dumps([entry.submission() for entry in entries], ensure_ascii=False, indent=1))


def _rows(entries: list[Entry]) -> Iterator[str]:
    width = max(len(entry.name) for entry in entries)
    for entry in entries:
        name = click.style(entry.name.ljust(width), bold=True)
        yield f"{name}  {entry.level:6}  {entry.published}  {entry.question}"


def _told(entry: Entry, *, with_truth: bool) -> Iterator[str]:
    yield click.style(entry.name, bold=True)
    yield f"paper       {entry.title} ({entry.venue} {entry.year}, arXiv:{entry.arxiv})"
    rated = entry.difficulty
    axes = (rated.conceptual_decomposition, rated.confound_control, rated.analysis_complexity)
    yield f"difficulty  {entry.level} ({' + '.join(map(str, axes))} = {sum(axes)})"
    yield from (f"cutoff      {side} that of {model}" for model, side in entry.sides.items())
    yield f"question    {entry.question}"
    yield from (f"scope       {line}" for line in entry.scope)
    yield from (f"lacks       {line}" for line in entry.lacks)
    if with_truth:
        yield from (f"finding     {finding}" for finding in entry.findings)
    else:
        yield f"findings    {len(entry.findings)}, shown with --with-truth"
