"""`firetrial logs`: the trajectory of a run as text."""

from __future__ import annotations

import json
from typing import Any

import click

from firetrial_client.cli.app import App, answering
from firetrial_client.cli.text import safe

_SOURCES = {"stdout": "out", "stderr": "err"}


@click.command()
@click.argument("run")
@click.option("-f", "--follow", is_flag=True, help="Also what is to come, until the run has ended.")
@click.option("--from-step", type=click.IntRange(min=1), default=1, help="Begin at this step.")
@answering
def logs(app: App, run: str, follow: bool, from_step: int) -> None:
    """What RUN did, step by step. Control codes of its output are spelled out.

    With --json: the steps as JSON lines.
    """
    with app.client() as client:
        for step in client.trajectory(run, follow=follow, from_step=from_step):
            if app.json:
                click.echo(json.dumps(step))
            else:
                click.echo(line(step))


def line(step: dict[str, Any]) -> str:
    """A step as one line: seconds since the start, where it comes from, its text; "…" where it goes on."""
    source = _SOURCES.get(str(step.get("stream")), safe(str(step.get("kind", ""))))
    text = safe(str(step.get("text", "")), keep="\t")
    return f"{step.get('offset_s', 0.0):>9.3f}  {source:5}  {text}{'…' if step.get('continued') else ''}"
