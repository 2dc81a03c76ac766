"""The group `firetrial admin`: subcommands by name and help, loaded when they are run.

To add one, name it in the table.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import click

# Name → where its click command is, and what help says of it.
_COMMANDS = {
    "backup": ("firetrial_operate.admin.backup_cli:backup", "Back up streams, state and objects."),
    "audit": ("firetrial_operate.audit_cli:audit", "Who called what, and what came of it."),
    "consumers": (
        "firetrial_operate.admin.broker_cli:consumers",
        "Who reads the streams.",
    ),
    "dead": ("firetrial_operate.admin.dead_cli:dead", "Messages that were given up."),
    "delete": ("firetrial_operate.admin.deleting_cli:delete", "Delete an experiment, with proof."),
    "drain": ("firetrial_operate.admin.runners_cli:drain", "Have runners take nothing new, and end."),
    "gc": ("firetrial_operate.admin.deleting_cli:gc", "Remove what nothing refers to any more."),
    "rebuild-state": (
        "firetrial_operate.admin.rebuild_cli:rebuild_state",
        "Make the state again.",
    ),
    "restore": ("firetrial_operate.admin.backup_cli:restore", "Put a backup into an empty installation."),
    "retention": ("firetrial_operate.admin.deleting_cli:retention", "Delete old experiments."),
    "runners": ("firetrial_operate.admin.runners_cli:runners", "Runners that are there."),
    "tokens": ("firetrial_operate.tokens_cli:tokens_group", "Make tokens, and look at their file."),
    "streams": ("firetrial_operate.admin.broker_cli:streams", "What the broker keeps."),
}


class Deferred(click.Command):
    """A command that is known by name and help until it is run; `place` is module:attribute."""

    def __init__(self, name: str, place: str, short_help: str) -> None:
        super().__init__(name, short_help=short_help)
        self._place = place

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        module, _, attribute = self._place.partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command.make_context(*args, **extra)


class _Admin(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return sorted(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        found = _COMMANDS.get(cmd_name)
        return Deferred(cmd_name, *found) if found else None


@click.group(cls=_Admin)
def admin() -> None:
    """Look after a Firetrial: what waits, what failed, what is kept and what goes.

    Reaches the broker and the objects by FIRETRIAL_NATS_URL, FIRETRIAL_OBJECTS_URL and their credentials, or
    those of `firetrial up` on this machine. What destroys asks first (or takes --yes), and shows what it
    would do with --dry-run.
    """
