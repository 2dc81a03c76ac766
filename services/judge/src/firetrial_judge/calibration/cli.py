# ruff: noqa: PLC0415 - what is heavy is imported by the command that needs it, so that the CLI starts fast
"""`firetrial judge calibrate`: how right a judge is, without a server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from firetrial_judge.terminal import JSON_OPTION, asking_options, backend_options, read_bytes, refusals

if TYPE_CHECKING:
    from firetrial_judge.calibration.agreement import Agreement
    from firetrial_judge.calibration.labels import Item


@click.command("calibrate")
@click.argument("file", metavar="LABELS")
@backend_options("offline")
@asking_options
@JSON_OPTION
def calibrate(file: str, *, as_json: bool, **options: Any) -> None:
    """Measure a judge against people's labels.

    LABELS (or -) is CSV with the columns id, reference, claim, label and perhaps rater, or JSON lines: such
    rows, {"id", "conclusion", "claims"} or {"id", "claims", "others", "matches"}.
    """
    from firetrial_judge.calibration.labels import read_labels
    from firetrial_judge.calibration.report import as_dict, lines

    with refusals():
        items = read_labels(read_bytes(file))
        found, told = asyncio.run(_measured(items, options))
    if as_json:
        click.echo(json.dumps(as_dict(found) | {"judge": told}))
    else:
        click.echo("\n".join(lines(found)))


async def _measured(items: list[Item], options: Mapping[str, Any]) -> tuple[Agreement, dict[str, str]]:
    from firetrial_judge.calibration.measuring import measured
    from firetrial_judge.cli import open_judge

    async with open_judge(**options) as judge:
        config = judge.config
        told = {
            "backend": config.backend,
            "model": config.model,
            "prompts": config.prompts,
            "config_hash": config.hash,
        }
        return await measured(judge, items), told
