# ruff: noqa: PLC0415 - what is heavy is imported by the command that needs it, so that the CLI starts fast
"""Commands of the runner that need no server: `sandbox`, `programs` and `kubernetes-job`."""

from __future__ import annotations

import asyncio
import json
import os
from typing import TYPE_CHECKING

import click

from firetrial_runner.kubernetes_cli import kubernetes_job
from firetrial_runner.pilots.cli import pilots

if TYPE_CHECKING:
    from firetrial_runner.programs import Program, Shelf

AS_JSON = click.option("--json", "as_json", is_flag=True, help="Answer in JSON.")


@click.command("sandbox")
@AS_JSON
def sandbox_command(*, as_json: bool) -> None:
    """Tell which sandbox works on this machine, and what holds each limit; exit code 1 where none does."""
    from firetrial_kit.settings import SettingsError
    from firetrial_runner.config import RunnerSettings
    from firetrial_runner.sandbox import SandboxError

    try:
        settings = RunnerSettings.from_env(os.environ, "runner")
    except SettingsError as error:
        raise click.UsageError(str(error)) from error

    async def probe() -> tuple[str, dict[str, str]]:
        sandbox = await settings.open_sandbox()
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


@click.group()
def programs() -> None:
    """Agent programs that runners start in sandboxes: which there are, and how they are installed."""


@programs.command("list")
@AS_JSON
def list_programs(*, as_json: bool) -> None:
    """Every program that is known, and whether it is installed here."""
    from firetrial_runner.programs import KNOWN

    shelf = _shelf()
    told = [_told(program, shelf) for program in KNOWN.values()]
    if as_json:
        click.echo(json.dumps({"programs": told}))
        return
    for program in told:
        click.echo(f"{program['program']:24} {program['place'] or program['how']}")


@programs.command("install")
@click.argument("names", nargs=-1, required=True, metavar="NAME…")
@AS_JSON
def install_programs(names: tuple[str, ...], *, as_json: bool) -> None:
    """Install programs from npm, each in the one version that this release is made for."""
    from firetrial_kit.errors import FiretrialError
    from firetrial_runner.programs.install import install

    shelf = _shelf()
    for program in [_known(name) for name in names]:
        if not as_json:
            click.echo(f"installing {program.told} …", err=True)
        try:
            install(program, shelf)
        except FiretrialError as error:
            raise click.ClickException(error.message) from error
        told = _told(program, shelf)
        click.echo(json.dumps(told) if as_json else f"{program.told}: {told['place']}")


@programs.command("recipe")
@click.argument("name")
@click.option("--base", default="python:3.12-slim-bookworm", show_default=True, help="What to add it to.")
def recipe_for(name: str, base: str) -> None:
    """Print a Dockerfile that adds a program to an image, for sandboxes that cannot mount it.

    Its first line names the folder to build it in. Tell the runner by FIRETRIAL_RUNNER_PROGRAMS_IN_IMAGE.
    """
    from firetrial_kit.errors import FiretrialError
    from firetrial_runner.programs.install import locked, recipe

    program = _known(name)
    try:
        click.echo(f"# docker build -f - {locked(program)}\n{recipe(program, base)}", nl=False)
    except FiretrialError as error:
        raise click.ClickException(error.message) from error


def _shelf() -> Shelf:
    from firetrial_kit.settings import SettingsError
    from firetrial_runner.config import RunnerSettings

    try:
        return RunnerSettings.from_env(os.environ, "runner").shelf()
    except SettingsError as error:
        raise click.UsageError(str(error)) from error


def _known(name: str) -> Program:
    from firetrial_runner.programs import KNOWN

    if name not in KNOWN:
        raise click.UsageError(f"{name} is not known; there are {', '.join(KNOWN)}")
    return KNOWN[name]


def _told(program: Program, shelf: Shelf) -> dict[str, object]:
    how = "not installed" if program.package else "in the agent's own bundle"
    if program.package and program.package.by == "pip":
        how = f"in an image: firetrial programs recipe {program.name}"
    place = str(shelf.place(program.told)) if program.package and shelf.has(program.told) else ""
    return {"program": program.told, "installed": bool(place), "place": place, "how": "" if place else how}


commands: list[click.Command] = [sandbox_command, programs, kubernetes_job, pilots]
