"""`firetrial agents`, and what may be given as --agent."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from pathlib import Path

import click

from firetrial_client import demo, shipped
from firetrial_client.aio import AsyncFiretrial
from firetrial_client.bundles import slug
from firetrial_client.cli.app import App, answering
from firetrial_client.cli.output import columns, show_json, when


@click.group()
def agents() -> None:
    """Agents that were registered."""


@agents.command("list")
@answering
def list_agents(app: App) -> None:
    """All agents."""
    with app.client() as client:
        found = list(client.list_agents())
    if app.json:
        show_json(found)
        return
    columns(
        ("AGENT", "SUBMITTED", "COMMAND", "DESCRIPTION"),
        ((a.id, when(a.submitted_at), shlex.join(a.command), a.description) for a in found),
    )


def shipped_agents() -> dict[str, Path]:
    """Folders of all agents that ship with Firetrial, by name."""
    return {**shipped.agents(), **demo_agents(), **demo_improvers()}


def demo_agents() -> dict[str, Path]:
    """Folders of the scripted agents of the demo study, by name."""
    return _named(demo.agents())


def demo_improvers() -> dict[str, Path]:
    """Folders of the scripted agents of the demo's repositories, by name."""
    return _named(demo.improvers())


def _named(folders: Sequence[Path]) -> dict[str, Path]:
    return {json.loads((path / "agent.json").read_text())["name"]: path for path in folders}


def parse_files(values: Sequence[str]) -> dict[str, Path]:
    """`SRC` or `SRC:DEST` to the path under /agent and its source. Raises a usage error with every fault."""
    found, faults = {}, []
    for value in values:
        source, _, destination = value.rpartition(":")
        if Path(value).exists() or not source:
            source, destination = value, Path(value).name
        if not Path(source).exists():
            faults.append(f"--file {value}: {source} does not exist")
        found[destination] = Path(source)
    if faults:
        raise click.UsageError("\n".join(faults))
    return found


async def register(
    client: AsyncFiretrial,
    named: Sequence[str],
    commands: Sequence[str],
    files: Sequence[str],
    *,
    name: str = "",
) -> list[str]:
    """The ids of all agents, registered where they were not; order as given, each once.

    `name` is that of the commands; without it each is named by its words. Raises INVALID, NOT_FOUND for an
    id that is not known, a usage error for a command line that cannot be split.
    """
    bundle = parse_files(files)
    lines = [_split(command) for command in commands]
    ids = [await _resolve(client, *_chosen(wanted)) for wanted in named]
    ids += [
        (await client.submit_agent(name=name or slug(argv), command=argv, files=bundle)).id for argv in lines
    ]
    return list(dict.fromkeys(ids))


def _split(command: str) -> list[str]:
    """The words of a command line, without a shell's other magic."""
    try:
        return shlex.split(command)
    except ValueError as error:
        raise click.UsageError(f"the command {command!r} cannot be split into words: {error}") from None


def _chosen(wanted: str) -> tuple[str, Path | None, dict[str, Path | bytes]]:
    """(id, folder, files for it) that --agent means; no folder for an id. Raises a usage error."""
    name, given, path = wanted.partition("=")
    ships = shipped_agents()
    if Path(wanted).is_dir():
        return wanted, Path(wanted), {}
    if given and name in shipped.GIVEN:
        return wanted, ships[name], shipped.files(name, Path(path))
    if wanted in ships and wanted not in shipped.GIVEN:
        return wanted, ships[wanted], {}
    if "@" in wanted:
        return wanted, None, {}
    names = ", ".join(f"{name}=FILE" if name in shipped.GIVEN else name for name in ships)
    raise click.UsageError(
        f"--agent {wanted}: no such folder, and no agent of that name ships with Firetrial; give a folder "
        f"with agent.json, an id from `firetrial agents list`, or one of {names}"
    )


async def _resolve(
    client: AsyncFiretrial, agent_id: str, folder: Path | None, files: dict[str, Path | bytes]
) -> str:
    return (await (client.submit_agent(folder, files=files) if folder else client.get_agent(agent_id))).id
