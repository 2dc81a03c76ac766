"""Commands that the analyzer adds to `firetrial`."""

import json
from pathlib import Path
from typing import NoReturn

import click

NOT_YET = 3


@click.command("process-metrics")
@click.argument("file", type=click.Path(dir_okay=False, allow_dash=True, path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Answer in JSON.")
def process_metrics(file: Path, as_json: bool) -> NoReturn:
    """How an agent explored and improved, from FILE. Not yet: exits with 3."""
    message = f"process metrics are not computed yet, {file.name} was not read"
    if as_json:
        click.echo(json.dumps({"error": {"reason": "NOT_YET", "message": message}}))
    else:
        click.echo(message, err=True)
    raise SystemExit(NOT_YET)


commands: list[click.Command] = [process_metrics]
