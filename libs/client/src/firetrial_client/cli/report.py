"""`firetrial report`: the report of an experiment in one format."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from firetrial_client.cli.app import App, answering
from firetrial_client.cli.output import show_json

# As in the SDK, which is not imported for --help.
FORMATS = ("html", "md", "json", "csv", "latex", "parquet")


@click.command()
@click.argument("experiment", required=False)
@click.option(
    "--compare",
    type=(str, str),
    multiple=True,
    metavar="A B",
    help="Set B beside A instead; given again with the same A, more of them.",
)
@click.option("--format", "form", type=click.Choice(FORMATS), help="Default: that of --out, else md.")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="Write to a file.")
@click.option(
    "--tables",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Write the tables of repository tasks as CSV into DIR instead.",
)
@answering
def report(
    app: App,
    experiment: str | None,
    compare: Sequence[tuple[str, str]],
    form: str | None,
    out: Path | None,
    *,
    tables: Path | None,
) -> None:
    """Print the report of EXPERIMENT over the runs that have ended so far, or compare experiments.

    With --json the report is JSON; together with --out, a word on what was written.
    """
    experiment, others = _asked(experiment, compare)
    if tables is not None:
        _tables(app, experiment, tables)
        return
    chosen = form or _by_ending(out) or ("json" if app.json else "md")
    if app.json and out is None and chosen != "json":
        raise click.UsageError(f"--json prints JSON: give --format json, or --out for {chosen}")
    if out is None and chosen == "parquet" and sys.stdout.isatty():
        raise click.UsageError("parquet is no text: give --out FILE")
    with app.client() as client:
        body = client.render_report(experiment, chosen, compare_with=others)
        known = client.get_report(experiment)
    if out is None:
        click.echo(body, nl=False)
    else:
        write(out, body)
        if app.json:
            show_json({"experiment_id": experiment, "format": chosen, "path": str(out), "size": len(body)})
    if not known.complete and not app.json:
        click.echo(f"covers {known.ended_runs} of {known.expected_runs} runs", err=True)


def _tables(app: App, experiment: str, folder: Path) -> None:
    """One file for each of the report's tables that is named so."""
    with app.client() as client:
        told = json.loads(client.render_report(experiment, "json")).get("improvements") or {}
    found = {name: rows for name, rows in told.items() if name.startswith("table_")}
    if not found:
        raise click.ClickException(f"experiment {experiment} has no run of a repository task that counts")
    for name, rows in found.items():
        text = io.StringIO()
        writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        write(folder / f"{name}.csv", text.getvalue().encode())
    paths = [str(folder / f"{name}.csv") for name in found]
    if app.json:
        show_json({"experiment_id": experiment, "paths": paths})
    else:
        click.echo("\n".join(paths))


def _asked(experiment: str | None, compare: Sequence[tuple[str, str]]) -> tuple[str, list[str]]:
    """The experiment to report on, and those to set beside it."""
    bases = {base for base, _ in compare} | ({experiment} if experiment else set())
    if len(bases) != 1:
        raise click.UsageError("give one EXPERIMENT, or --compare A B (with the same A each time)")
    return bases.pop(), [other for _, other in compare]


def write(path: Path, body: bytes) -> None:
    """Whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(path.name + ".part")
    aside.write_bytes(body)
    aside.replace(path)


def _by_ending(out: Path | None) -> str | None:
    endings = {
        ".html": "html",
        ".md": "md",
        ".json": "json",
        ".csv": "csv",
        ".tex": "latex",
        ".parquet": "parquet",
    }
    return endings.get(out.suffix) if out else None
