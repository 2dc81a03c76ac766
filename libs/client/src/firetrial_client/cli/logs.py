"""`firetrial logs`: the trajectory of a run as text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import click

from firetrial_client.cli.app import App, answering
from firetrial_client.cli.text import safe


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
                for line in lines(step):
                    click.echo(line)


def lines(step: dict[str, Any]) -> Iterator[str]:
    """A step as lines of text."""
    text = step.get("text")
    rest = {key: value for key, value in step.items() if key not in ("text", "step", "kind", "seconds")}
    head = [str(step.get("step", "")), safe(str(step.get("kind", "")))]
    if isinstance(step.get("seconds"), int | float):
        head.insert(1, f"{step['seconds']:.1f}s")
    prefix = " ".join(filter(None, head))
    if not isinstance(text, str):
        yield f"{prefix}  {json.dumps(rest, ensure_ascii=True)}"
        return
    for line in text.splitlines() or [""]:
        yield f"{prefix}  {safe(line, keep=chr(9))}"
