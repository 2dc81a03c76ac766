"""The group `firetrial webhooks`: it sends, and has subcommands, which are loaded when they are run."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import click

from firetrial_operate.admin.cli import Deferred

CONFIG = "FIRETRIAL_WEBHOOKS_CONFIG"
_PLACE = "firetrial_operate.webhooks.commands"
# Name → what help says of it.
_COMMANDS = {
    "dead": "Events that an endpoint did not take.",
    "test": "Send an endpoint a signed ping, once.",
    "verify": "Say whether a body was signed so.",
}


class _Webhooks(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return sorted(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        told = _COMMANDS.get(cmd_name)
        return Deferred(cmd_name, f"{_PLACE}:{cmd_name}", told) if told else None


@click.group(cls=_Webhooks, invoke_without_command=True)
@click.option(
    "--config", type=click.Path(path_type=Path), envvar=CONFIG, metavar="FILE", help=f"Endpoints ({CONFIG})."
)  # fmt: skip
@click.pass_context
def webhooks(ctx: click.Context, config: Path | None) -> None:
    """Send facts to HTTP endpoints, signed, until told to stop; or look after those that were given up.

    Reaches the broker by FIRETRIAL_NATS_URL and its credentials, or that of `firetrial up` on this machine.
    """
    ctx.obj = config
    if ctx.invoked_subcommand is None:
        import_module(_PLACE).serve(config)
