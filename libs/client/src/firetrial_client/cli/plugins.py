"""Commands that the installed services contribute, through the entry points `firetrial.commands`.

A command tells what went wrong by the services' FiretrialError, or by a ClickException that is raised from
one: the exception decides the words and the exit code, the error behind it the reason and the faults.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import cache
from importlib.metadata import entry_points
from typing import Any

import click

from firetrial_client.errors import FiretrialError, reason_of

GROUP = "firetrial.commands"
_ERRORS = "firetrial_kit.errors"


@cache
def commands() -> dict[str, list[click.Command]]:
    """Each contributed command by its name; more than one where several services add to a group.

    A service whose commands cannot be loaded is told on standard error and left out.
    """
    found: dict[str, list[click.Command]] = {}
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        try:
            contributed: list[click.Command] = point.load()
        except (ImportError, AttributeError) as error:
            click.echo(f"firetrial: the commands of {point.name!r} cannot be loaded: {error}", err=True)
            continue
        for command in contributed:
            found.setdefault(command.name or "", []).append(command)
    return found


def merged(several: Sequence[click.Command]) -> click.Command:
    """One command out of at least one of the same name: groups share subcommands, else the first counts."""
    groups = [command for command in several if isinstance(command, click.Group)]
    if len(groups) < 2 or groups[0] is not several[0]:
        return several[0]
    first = groups[0]
    subcommands: dict[str, click.Command] = {}
    for group in groups:
        for name, command in group.commands.items():
            subcommands.setdefault(name, command)
    return click.Group(
        first.name, commands=subcommands, help=first.help, params=first.params, callback=first.callback
    )


def errors() -> tuple[type[Any], ...]:
    """The exceptions to explain: ours, and that of the services where a plugin has brought it along.

    The client cannot import the services' errors, and need not: who raises one has loaded them.
    """
    kit = sys.modules.get(_ERRORS)
    return (FiretrialError, *([kit.FiretrialError] if kit else []))


def told(error: Any) -> dict[str, Any]:
    """`{"reason", "message", "faults"}` of one of `errors()`.

    A fault has a field and a description; found on this machine, also the value and the cure.
    """
    if isinstance(error, FiretrialError):
        return error.to_json()
    faults = [
        {"field": fault.field, "description": str(fault), "value": fault.value, "cure": fault.cure}
        for fault in error.faults
    ]
    return {"reason": str(error.reason), "message": error.message, "faults": faults}


def told_by_click(error: click.ClickException) -> dict[str, Any]:
    """The same of an exception of click's: with what it was raised from, where that is one of `errors()`."""
    cause = error.__cause__
    if isinstance(cause, errors()):
        return told(cause)
    return {"reason": reason_of(error.exit_code), "message": error.format_message(), "faults": []}
