# ruff: noqa: PLC0415 - what is heavy is imported by the command that needs it, so that the CLI starts fast
"""`firetrial import fml`: FML-bench's task definitions. It works without a server."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from firetrial_parser.fml.task import Definition
    from firetrial_parser.kinds.parcel import Parcel

Submit = Callable[[dict[str, Any], Path | None], tuple[str, str]]


@click.command("fml")
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--dry-run", is_flag=True, help="Read and tell; store nothing.")
@click.option("--json", "as_json", is_flag=True, help="A JSON list instead of a table.")
@click.pass_context
def fml(context: click.Context, path: Path, *, dry_run: bool, as_json: bool) -> None:
    """Read FML-bench's task definitions at PATH, say what each lacks to be run, and store them.

    A task is stored with its repository where that and all files that its commands name lie at PATH, and as a
    definition that cannot be run where they do not. Without a server nothing is stored.
    """
    from firetrial_parser.fml.reading import read_fml

    submit: Submit | None = None if dry_run else (context.obj or {}).get("submit_header")
    reports = [_imported(path, told, submit) for told in read_fml(path)]
    if submit is None and not dry_run:
        click.echo("nothing was stored: no server answers (start one with `firetrial up`)", err=True)
    click.echo(json.dumps(reports, ensure_ascii=False) if as_json else "\n".join(_listed(reports)))


def _imported(root: Path, told: Definition, submit: Submit | None) -> dict[str, Any]:
    from firetrial_parser.fml.packing import pack
    from firetrial_parser.fml.submission_wire import as_json, header, shown, version
    from firetrial_parser.kinds.parcel import unpack

    with tempfile.TemporaryDirectory(prefix="firetrial-fml-") as folder:
        tar: Path | None = None
        parts: dict[str, str] = {}
        if told.complete:
            tar = Path(folder) / "parts.tar"
            with tar.open("wb") as file:
                pack(root, told, file)
            parcel: Parcel = unpack(tar, Path(folder))
            parts = parcel.hashes
        hash_ = version(told, parts)
        id_, stored = f"{told.slug}-{hash_}", submit is not None
        if submit is not None:
            id_, hash_ = submit(as_json(header(told)), tar)
    answer = {"id": id_, "version": hash_, **shown(told)}
    return answer | {"runnable": told.complete, "stored": stored, "broken": list(told.lacks)}


def _listed(reports: list[dict[str, Any]]) -> Iterator[str]:
    for report in reports:
        metric = report["metric"]
        yield click.style(report["id"], bold=True) + ("" if report["runnable"] else "  cannot be run")
        yield f"    {metric['key']} of {', '.join(metric['datasets'])}, {metric['direction']} is better"
        yield from (f"    {defect}" for defect in report["broken"])
    runnable = sum(report["runnable"] for report in reports)
    stored = sum(report["stored"] for report in reports)
    yield f"\n{len(reports)} tasks, {runnable} with all that their runs need, {stored} stored"
