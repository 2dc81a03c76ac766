"""`firetrial attributions`: why runs missed findings, what people say of that, and how far they agree."""

from __future__ import annotations

import getpass
from collections.abc import Iterable

import click

from firetrial.analyzer.v1.attribution_pb2 import Agreement, Attribution, Citation
from firetrial_client.cli.app import App, answering
from firetrial_client.cli.output import columns, fields, show_json


@click.group()
def attributions() -> None:
    """Why runs missed findings and stated false ones."""


@attributions.command("show")
@click.argument("run")
@answering
def show(app: App, run: str) -> None:
    """What is attributed to each wrong claim of RUN, with the steps that show it."""
    with app.client() as client:
        found = client.get_attribution(run)
    show_json(found) if app.json else _show(found)


@attributions.command("review")
@click.argument("run")
@click.argument("claim")
@click.option("--confirm", is_flag=True, help="What is attributed is right.")
@click.option("--type", "type_", metavar="TYPE", help="The type or kind that is right, such as LAZINESS.")
@click.option("--note", default="", help="Why, for others to read.")
@click.option("--reviewer", help="Who says so. Default: the user of this machine.")
@answering
def review(
    app: App, run: str, claim: str, *, confirm: bool, type_: str | None, note: str, reviewer: str | None
) -> None:
    """Confirm or correct what is attributed to CLAIM of RUN; the claim of a failed run is called "run".

    A later word of the same reviewer replaces the earlier.
    """
    if confirm == bool(type_):
        raise click.UsageError("give either --confirm or --type TYPE")
    with app.client() as client:
        found = client.review_attribution(
            run, claim, reviewer=reviewer or getpass.getuser(), type=(type_ or "").upper(), note=note
        )
    show_json(found) if app.json else _show_reviews(found)


@attributions.command("agreement")
@click.argument("experiment", required=False, default="")
@answering
def agreement(app: App, experiment: str) -> None:
    """How far attributions and people agree, in EXPERIMENT or in all."""
    with app.client() as client:
        found = client.get_agreement(experiment)
    if app.json:
        show_json(found)
        return
    sides = (("missed", found.missed), ("false", found.false_claims))
    columns(("CLAIMS", "REVIEWED", "CONFIRMED", "SHARE", "KAPPA"), (_line(name, one) for name, one in sides))
    confused = [
        (name, pair.attributed or "(nothing)", pair.reviewed, pair.count)
        for name, one in sides
        for pair in one.confusion
        if pair.attributed != pair.reviewed
    ]
    if confused:
        click.echo()
        columns(("CLAIMS", "ATTRIBUTED", "PEOPLE SAY", "TIMES"), confused)


def _show(found: Attribution) -> None:
    fields(
        [
            ("run", found.run_id),
            ("experiment", found.experiment_id),
            ("task", found.task_id),
            ("agent", found.agent_id),
            ("method", found.method),
            ("cost", f"${found.cost_usd:.4f}" if found.HasField("cost_usd") else "unknown"),
            ("tokens", found.tokens or ""),
            *(("note", note) for note in found.notes),
            *(("refused", refused) for refused in found.refused),
        ]
    )
    click.echo()
    columns(("CLAIM", "WHY", "BY", "STEPS", "TEXT"), _claims(found))
    if found.signals:
        click.echo()
        columns(
            ("SIGNAL", "PROVES", "STEPS", "STATEMENT"),
            ((one.name, one.settles, _steps(one.citations), one.statement) for one in found.signals),
        )
    if found.reviews:
        click.echo()
        _show_reviews(found)


def _claims(found: Attribution) -> Iterable[tuple[str, str, str, str, str]]:
    for missed in found.missed:
        why = f"{missed.stage}: {missed.type}" if missed.type else "(nothing settles it)"
        yield missed.claim_id, why, missed.settled_by, _steps(missed.citations), missed.text
    for false in found.false_claims:
        yield false.claim_id, false.kind, false.settled_by, _steps(false.citations), false.text


def _steps(citations: Iterable[Citation]) -> str:
    return ",".join(str(citation.step) for citation in citations)


def _show_reviews(found: Attribution) -> None:
    columns(
        ("CLAIM", "REVIEWER", "SAYS", "TYPE", "NOTE"),
        (
            (one.claim_id, one.reviewer, "confirmed" if one.confirmed else "corrected", one.type, one.note)
            for one in found.reviews
        ),
    )


def _line(name: str, found: Agreement) -> tuple[str, int, int, str, str]:
    share = (
        f"{100 * found.share:.1f}% ({100 * found.low:.1f} to {100 * found.high:.1f})"
        if found.HasField("share")
        else ""
    )
    kappa = f"{found.kappa:.2f}" if found.HasField("kappa") else ""
    return name, found.reviewed, found.confirmed, share, kappa
