"""`firetrial calibrate`: measure the judge that serves against people's labels."""

from __future__ import annotations

from typing import BinaryIO

import click

from firetrial_client.cli.app import App, answering
from firetrial_client.cli.output import fields, show_json
from firetrial_client.plans import make_judge


@click.command()
@click.argument("labels", type=click.File("rb"))
@click.option("--judge", type=click.Choice(["offline", "model"]), help="Default: as the judge is set up.")
@click.option("--judge-model", default="", metavar="MODEL", help="The model that judges.")
@click.option("--judge-panel", multiple=True, metavar="MODEL", help="A further model that votes.")
@answering
def calibrate(
    app: App, labels: BinaryIO, judge: str | None, judge_model: str, judge_panel: tuple[str, ...]
) -> None:
    """Measure the judge that serves against people's LABELS (or -), and keep that as its calibration.

    LABELS are as `firetrial judge calibrate` takes them, which measures without a server and keeps nothing.
    """
    config = make_judge(judge or "", judge_model, panel=judge_panel)
    with app.client() as client:
        made = client.calibrate(labels.read(), config=config)
    if app.json:
        show_json(made)
        return
    shown = f"{made.accuracy.value:.3f} ({made.accuracy.low:.3f} to {made.accuracy.high:.3f})"
    fields([("calibration", made.id), ("labels", made.items), ("accuracy", shown)])
