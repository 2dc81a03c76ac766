# ruff: noqa: PLC0415 - what is heavy is imported by the command that needs it, so that the CLI starts fast
"""`judge cache stats` and `judge cache prune`: the local folder of what was paid for once."""

from __future__ import annotations

import json
import os
from pathlib import Path

import click

from firetrial_judge.terminal import JSON_OPTION, refusals
from firetrial_kit.errors import Fault, check, invalid

CACHE_VARIABLE = "FIRETRIAL_JUDGE_CACHE_DIR"
_MIB = 1024 * 1024
_FOLDER = click.option(
    "--dir", "folder", default="", metavar="FOLDER", help=f"The folder; by default {CACHE_VARIABLE}."
)


@click.group("cache")
def cache_group() -> None:
    """Look at and empty the folder in front of the judge's cache. What is pruned there stays in the store."""


@cache_group.command("stats")
@_FOLDER
@JSON_OPTION
def stats(*, folder: str, as_json: bool) -> None:
    """How many answers the folder holds, and their bytes."""
    from firetrial_kit.cache import LocalTier

    with refusals():
        where = _existing(folder)
        held = LocalTier(where, 0).stats()
    _tell(where, held.entries, held.size, as_json=as_json)


@cache_group.command("prune")
@_FOLDER
@click.option("--keep-mib", type=click.IntRange(0), default=0, show_default=True, help="What may stay.")
@JSON_OPTION
def prune(*, folder: str, keep_mib: int, as_json: bool) -> None:
    """Remove answers, those unread for longest first, and say what is left."""
    from firetrial_kit.cache import LocalTier

    with refusals():
        where = _existing(folder)
        left = LocalTier(where, 0).prune(keep_mib * _MIB)
    _tell(where, left.entries, left.size, as_json=as_json)


def _existing(folder: str) -> Path:
    named = folder or os.environ.get(CACHE_VARIABLE, "")
    if not named:
        raise invalid("--dir", [Fault("--dir", "", f"must name the folder, or set {CACHE_VARIABLE}")])
    path = Path(named)
    check("--dir", [] if path.is_dir() else [Fault("--dir", named, "must be a folder that exists")])
    return path


def _tell(folder: Path, entries: int, size: int, *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps({"dir": str(folder), "entries": entries, "bytes": size}))
    else:
        click.echo(f"{folder}: {entries} answers, {size / _MIB:.1f} MiB")
