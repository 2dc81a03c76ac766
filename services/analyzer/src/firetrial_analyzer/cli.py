# ruff: noqa: PLC0415 - what is heavy is imported by the command that needs it, so that the CLI starts fast
"""Commands that the analyzer adds to `firetrial`."""

import json

import click

from firetrial_analyzer import data_cli
from firetrial_analyzer.terminal import Refused
from firetrial_kit.errors import Fault, FiretrialError, check, invalid

_MAX_BYTES = 256 * 1024 * 1024


@click.command("process-metrics")
@click.argument("file")
@click.option("--json", "as_json", is_flag=True, help="Answer in JSON.")
def process_metrics(file: str, *, as_json: bool) -> None:
    """How an agent explored and improved, from FILE (or -).

    FILE holds {"embeddings": [[…], …], "baseline_embedding": […]}, one vector a step, or
    {"val_primary_metrics": […], "baseline_primary_metric", "direction": "higher" or "lower", "p_best",
    "p_worst": a number or "baseline"}, where null is a failed step, or both together.
    """
    from firetrial_analyzer.process_cli import lines, measure, read

    try:
        found = measure(read(_text(file)))
    except FiretrialError as error:
        raise Refused(error) from error
    click.echo(json.dumps(found) if as_json else "\n".join(lines(found)))


@click.group("integrity")
def integrity() -> None:
    """Whether what a conclusion says was really done and found."""


@integrity.command("check")
@click.option("--conclusion", required=True, metavar="FILE", help="What was concluded.")
@click.option("--trajectory", required=True, metavar="FILE", help="Steps as JSON lines, or gzip of them.")
@click.option("--files", metavar="PATH", help="What the run left: a folder, a tar or a tar.gz.")
@click.option("--instruction", metavar="FILE", help="What the agent was told.")
@click.option("--paper-title", default="", help="Title of the source paper, which must not be contacted.")
@click.option("--paper-arxiv", default="", metavar="ID", help="Its arXiv id, such as 2307.03172.")
@click.option("--json", "as_json", is_flag=True, help="Answer in JSON: firetrial.integrity/1.")
def check_integrity(*, as_json: bool, **given: str | None) -> None:
    """Look up every number of a conclusion in what was run.

    Exit code 0 also where numbers are untraced: that is the answer, and no failure.
    """
    from firetrial_analyzer.integrity.commands import Given, checked, lines
    from firetrial_analyzer.integrity.export import to_json

    try:
        found = checked(Given(**given))  # type: ignore[arg-type] # click fills in what Given has
    except FiretrialError as error:
        raise Refused(error) from error
    click.echo(json.dumps(to_json(found)) if as_json else "\n".join(lines(found)))


def _text(file: str) -> str:
    """The text of a file or of standard input. Raises INVALID where it cannot be read or is too large."""
    try:
        with click.open_file(file, "rb") as stream:
            data = stream.read(_MAX_BYTES + 1)
    except OSError as error:
        raise invalid("the file", [Fault("FILE", file, f"must be readable: {error.strerror}")]) from error
    over = len(data) > _MAX_BYTES
    check("the file", [Fault("FILE", file, f"must have at most {_MAX_BYTES} bytes")] if over else [])
    return str(data, "utf-8", "replace").removeprefix("\ufeff")


commands: list[click.Command] = [process_metrics, integrity, *data_cli.commands]
