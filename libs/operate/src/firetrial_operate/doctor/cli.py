"""`firetrial doctor`."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict
from typing import Any

import click

from firetrial_kit import logs
from firetrial_kit.errors import Fault, FiretrialError, check
from firetrial_operate import printing
from firetrial_operate.doctor import broker, contributed, fleet, machine, objects, services
from firetrial_operate.doctor.checks import Check, Finding, State, chosen, is_below, run
from firetrial_operate.doctor.installation import SERVICES, Installation, find
from firetrial_operate.doctor.sights import Sights

_COLOURS = {State.FAIL: "red", State.WARN: "yellow", State.SKIP: "white", State.OK: "green"}
_MEND = "mend these variables"
_CONTRIBUTED_S = 12.0


@click.command()
@click.option("--home", metavar="DIR", help="Of `firetrial up` (default: $FIRETRIAL_HOME).")
@click.option("--service", "names", multiple=True, type=click.Choice(SERVICES),
              help="By this service's credentials alone, as where it runs; may be repeated.")  # fmt: skip
@click.option("--only", multiple=True, metavar="CHECK",
              help='Checks of this name or below it, such as "broker"; may be repeated.')  # fmt: skip
@printing.as_json
def doctor(home: str | None, names: tuple[str, ...], only: tuple[str, ...], as_json: bool) -> None:
    """Look at everything that Firetrial rests on here, and say what is broken and what to do.

    This machine, and the installation that the environment or the `firetrial up` of this machine names, by
    the credentials of the operator and of each service that the environment has some of. Nothing is changed,
    and no call is made that costs anything. Exits with 1 where something is broken.
    """
    if home:
        os.environ["FIRETRIAL_HOME"] = home  # also for what others contribute
    found = printing.run(look(os.environ, names, only))
    if as_json:
        printing.show_json([_shown(finding) for finding in found])
    else:
        _print(found)
    if not all(finding.ok for finding in found):
        raise SystemExit(1)


async def look(environ: Mapping[str, str], names: tuple[str, ...], only: Sequence[str]) -> list[Finding]:
    """What all checks find, in their order. Raises INVALID for one that is asked for and not known."""
    bad: list[Finding] = []
    try:
        installation = find(environ, names)
    except FiretrialError as error:
        installation = Installation(environ=environ)
        bad = [Finding("settings", State.FAIL, error.message, _MEND)]
    async with AsyncExitStack() as stack:
        checks = _checks(Sights(installation, stack))
        here, others = await asyncio.gather(run(chosen(checks, only)), _contributed(checks, only))
    found = [*(bad or _settings(installation)), *here, *others]
    _known(only, [*(one.name for one in checks), *(one.name for one in found)])
    return [one for one in found if not only or any(is_below(one.name, each) for each in only)]


def _known(only: Sequence[str], known: Sequence[str]) -> None:
    """Raises INVALID for a name that nothing here has: what was not looked at is not well."""
    check(
        "--only",
        [
            Fault("only", name, f"must be a check of this installation: {', '.join(sorted({*known}))}")
            for name in only
            if not any(is_below(one, name) for one in known)
        ],
    )


def _checks(sights: Sights) -> list[Check]:
    found = sights.installation
    checks = list(services.checks(sights))
    if found.who:
        checks = [*broker.checks(sights), *objects.checks(sights), *checks, *fleet.checks(sights)]
    return [*checks, *machine.checks(found)]


async def _contributed(checks: Sequence[Check], only: Sequence[str]) -> list[Finding]:
    """Not asked where all that is wanted is ours: what others have is known when they have looked."""
    known = ["settings", *(check.name for check in checks)]
    if only and all(any(is_below(name, one) for name in known) for one in only):
        return []
    return await contributed.findings(_CONTRIBUTED_S)


def _settings(found: Installation) -> list[Finding]:
    if found.none:
        return [Finding("settings", State.OK, found.none)]
    well = [Finding(f"settings.{one.name}", State.OK, _told(one.settings.nats_url)) for one in found.who]
    bad = found.problems.items()
    return [*well, *(Finding(f"settings.{name}", State.FAIL, "; ".join(told), _MEND) for name, told in bad)]


def _told(url: str) -> str:
    return f"as told, for the broker at {logs.masked(url)}"


def _shown(finding: Finding) -> dict[str, Any]:
    told = {name: logs.masked(value) for name, value in asdict(finding).items()}
    return {**told, "ok": finding.ok}


def _print(found: Sequence[Finding]) -> None:
    """What is broken first, with its cure below it."""
    order = list(State)
    width = max((len(finding.name) for finding in found), default=0)
    for finding in sorted(found, key=lambda finding: order.index(finding.state)):
        told = {name: printing.safe(value) for name, value in _shown(finding).items()}
        mark = click.style(f"{finding.state:<4}", fg=_COLOURS[finding.state])
        click.echo(f"{mark}  {told['name']:<{width}}  {told['detail']}")
        if finding.cure:
            click.echo(f"{'':<{width + 6}}  → {told['cure']}")
    counts = [f"{sum(one.state is state for one in found)} {state}" for state in order]
    click.echo(", ".join(counts))
