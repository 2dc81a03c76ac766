# ruff: noqa: PLC0415 - what is heavy is imported by the command that needs it, so that the CLI starts fast
"""Commands of the runner that need no server: `sandbox`."""

from __future__ import annotations

import asyncio
import json
import os

import click


@click.command("sandbox")
@click.option("--json", "as_json", is_flag=True, help="Answer in JSON.")
def sandbox_command(*, as_json: bool) -> None:
    """Tell which sandbox works on this machine, and what holds each limit; exit code 1 where none does."""
    from firetrial_kit.settings import SettingsError
    from firetrial_runner.config import RunnerSettings
    from firetrial_runner.sandbox import SandboxError, named

    try:
        settings = RunnerSettings.from_env(os.environ, "runner")
    except SettingsError as error:
        raise click.UsageError(str(error)) from error

    async def probe() -> tuple[str, dict[str, str]]:
        sandbox = await named(settings.sandbox, **settings.docker(), unsafe_host=settings.unsafe_host)
        await sandbox.aclose()
        return sandbox.name, dict(sandbox.enforcement())

    try:
        name, enforcement = asyncio.run(probe())
    except SandboxError as error:
        if as_json:
            click.echo(json.dumps({"sandbox": None, "why": error.why, "cure": error.cure}))
            raise SystemExit(1) from error
        raise click.ClickException(str(error)) from error
    if as_json:
        click.echo(json.dumps({"sandbox": name, "enforcement": enforcement}))
        return
    click.echo(f"sandbox: {name}")
    for limit, how in enforcement.items():
        click.echo(f"  {limit:14} {how}")


commands: list[click.Command] = [sandbox_command]
