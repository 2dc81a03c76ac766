"""`firetrial admin delete`, `retention` and `gc`: what goes for good."""

from __future__ import annotations

import os
import re
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Any

import click

from firetrial_operate import printing
from firetrial_operate.access import Access, opened
from firetrial_operate.admin.collecting import collect
from firetrial_operate.admin.deleting import Deleting
from firetrial_operate.admin.retention import check, deleted, old
from firetrial_operate.progress import progress

_UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}


@click.group()
def delete() -> None:
    """Take something away for good."""


@delete.command()
@click.argument("experiment")
@click.option("--despite-release", is_flag=True, help="Also one whose scores a release rests on.")
@printing.destructive
def experiment(experiment: str, *, despite_release: bool, yes: bool, dry_run: bool, as_json: bool) -> None:
    """Delete an experiment and all that is its alone, and prove it.

    Its tasks, agents and what was paid for once stay, for others use them. The proof is a document: every
    object with its sha256, every record and fact, what remains and why, and that nothing was found when all
    was listed again. It is stored as results/deletions/EXPERIMENT/proof.json. Cut off, it is finished by
    being called again.
    """

    async def go() -> dict[str, Any]:
        async with opened(os.environ, progress(quiet=as_json)) as access:
            deleting = await Deleting.open(access)
            plan = await deleting.plan(experiment, despite_release=despite_release)
            if dry_run:
                return asdict(plan)
            printing.confirm(f"Delete {experiment}: {plan.short}?", sure=yes)
            return await deleting.delete(plan)

    told = printing.run(go())
    if as_json:
        printing.show_json(told)
    elif dry_run:
        printing.tree(told)
    else:
        _show(told)


def _show(proof: dict[str, Any]) -> None:
    """A proof in short."""
    removed = proof["removed"]
    size, facts = printing.size(removed["bytes"]), sum(removed["facts"].values())
    click.echo(
        f"{proof['experiment']} is deleted: {len(removed['objects'])} objects ({size}), "
        f"{len(removed['records'])} records, {facts} facts, {len(removed['dead_letters'])} dead letters"
    )
    for one in proof["remains"]:
        click.echo(f"  stays: {printing.safe(one['what'])}: {printing.safe(one['why'])}")
    click.echo(f"  proof: results/deletions/{proof['experiment']}/proof.json, sha256 {proof['sha256']}")


def _age(_: click.Context, __: click.Parameter, value: str) -> timedelta:
    match = re.fullmatch(r"(\d{1,5})([hdw])", value)
    if match is None:
        raise click.BadParameter("must be a number and h, d or w, for example 90d")
    return int(match[1]) * _UNITS[match[2]]


@click.command()
@click.option(
    "--older-than", required=True, callback=_age, metavar="AGE", help="Since their end: 48h, 90d, 12w."
)
@click.option("--keep-releases/--with-releases", default=True, show_default=True,
              help="Leave or take those whose scores a release rests on.")  # fmt: skip
@printing.destructive
def retention(*, older_than: timedelta, keep_releases: bool, yes: bool, dry_run: bool, as_json: bool) -> None:
    """Delete experiments that ended long ago, each with its proof.

    One that fails keeps no other; it is told, and the exit code says so.
    """

    async def go() -> list[dict[str, Any]]:
        async with opened(os.environ, progress(quiet=as_json)) as access:
            deleting = await Deleting.open(access)
            before = datetime.now(UTC) - older_than
            with access.progress.of("experiments looked at") as part:
                told, plans = await old(deleting, before, part, keep_releases=keep_releases)
            if not dry_run and plans:
                printing.confirm(f"Delete {len(plans)} experiments?", sure=yes)
                with access.progress.of("experiments deleted", len(plans)) as part:
                    for plan in plans:
                        told[plan.experiment] |= await part.after(deleted(deleting, plan))
            return list(told.values())

    told = printing.run(go())
    if as_json:
        printing.show_json(told)
    else:
        rows = [(one["experiment"], one["done"], one["ended"], one["why"]) for one in told]
        printing.table(["EXPERIMENT", "", "ENDED", "WHY"], rows)
    check(told)


@click.command()
@click.option("--grace", type=click.FloatRange(min=0), default=10.0, show_default=True,
              help="Seconds after which everything is looked at again.")  # fmt: skip
@printing.destructive
def gc(*, grace: float, yes: bool, dry_run: bool, as_json: bool) -> None:
    """Remove what nothing refers to: parts of tables that were merged, runners that are long gone."""

    async def go() -> dict[str, Any]:
        async with opened(os.environ, progress(quiet=as_json)) as access:
            return await _collect(access, grace, yes=yes, dry_run=dry_run)

    told = printing.run(go())
    if as_json:
        printing.show_json(told)
        return
    verb = "would be removed" if dry_run else "removed"
    click.echo(f"{len(told['objects'])} objects, {printing.size(told['bytes'])}: {verb}")
    click.echo(f"{len(told['runners'])} runners that are gone: {verb}")


async def _collect(access: Access, grace: float, *, yes: bool, dry_run: bool) -> dict[str, Any]:
    found = await collect(access, grace)
    if not dry_run and (found.objects or found.runners):
        printing.confirm(f"Remove {len(found.objects)} objects that nothing refers to?", sure=yes)
        await found.remove(access)
    return {"objects": list(found.objects), "bytes": found.size, "runners": list(found.runners)}
