"""`firetrial up`, `down` and `doctor`: the system on this machine."""

from __future__ import annotations

import json
import os
import platform
import shutil
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.metadata import entry_points
from pathlib import Path

import click

from firetrial_client import local
from firetrial_client.local.home import default_home, holder
from firetrial_client.local.processes import program
from firetrial_client.local.supervisor import Supervisor

_ROOM = 2 * 1024**3


def _home(value: str | None) -> local.Home:
    return local.Home(Path(value).absolute()) if value else default_home(os.environ)


HOME = click.option("--home", metavar="DIR", help="Where everything is kept (default: $FIRETRIAL_HOME).")
JSON = click.option("--json", "as_json", is_flag=True, help="Answer in JSON.")


@click.command()
@HOME
@click.option("-d", "--detach", is_flag=True, help="Return once it answers; `firetrial down` ends it.")
@click.option("--split", is_flag=True, help="Each service in a process of its own.")
@click.option("--s3", is_flag=True, help="Keep objects on an S3 server (SeaweedFS) instead of in files.")
@click.option("--address", default="127.0.0.1:0", show_default=True, help="Where the services answer.")
@JSON
def up(*, home: str | None, detach: bool, split: bool, s3: bool, address: str, as_json: bool) -> None:
    """Start Firetrial on this machine: broker, store and the four services.

    In the foreground until Ctrl-C, or with -d in the background.
    """
    options = local.Options(home=str(_home(home).path), split=split, s3=s3, address=address)
    try:
        if not detach:
            raise SystemExit(Supervisor(options, lambda line: click.echo(line, err=True)).run())
        local.up(options)
    except local.StartError as error:
        raise click.ClickException(str(error)) from None
    endpoints = json.loads(_home(home).endpoints.read_text())
    if as_json:
        click.echo(json.dumps({"home": options.home, "endpoints": endpoints}))
    else:
        click.echo(f"up: {', '.join(sorted(set(endpoints.values())))} (home {options.home})")


@click.command()
@HOME
@JSON
def down(*, home: str | None, as_json: bool) -> None:
    """End what `firetrial up` started, with every run that is still going."""
    place = _home(home)
    try:
        ended = local.down(place)
    except local.StartError as error:
        raise click.ClickException(str(error)) from None
    if as_json:
        click.echo(json.dumps({"home": str(place.path), "was_up": ended}))
    else:
        click.echo("down" if ended else f"nothing is running in {place.path}")


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at. `cure` says what to do where it is not ok."""

    name: str
    ok: bool
    detail: str
    cure: str = ""


@click.command()
@HOME
@JSON
def doctor(*, home: str | None, as_json: bool) -> None:
    """See whether this machine has what Firetrial needs, and say what to do where it has not."""
    place = _home(home)
    findings = [_python(), _broker(), _room(place), _running(place)]
    # Each service knows best what it needs: functions that give (name, ok, detail, cure).
    for point in entry_points(group="firetrial.doctor"):
        checks: Callable[[], list[tuple[str, bool, str, str]]] = point.load()
        findings += [Finding(*found) for found in checks()]
    if as_json:
        click.echo(json.dumps([asdict(finding) for finding in findings]))
    for finding in findings if not as_json else ():
        mark = click.style("ok  ", fg="green") if finding.ok else click.style("bad ", fg="red")
        click.echo(f"{mark} {finding.name}: {finding.detail}")
        if not finding.ok:
            click.echo(f"     {finding.cure}")
    if not all(finding.ok for finding in findings):
        raise SystemExit(1)


def _python() -> Finding:
    ok = sys.version_info >= (3, 11)
    return Finding("python", ok, platform.python_version(), "install Python 3.11 or newer")


def _broker() -> Finding:
    try:
        return Finding("nats-server", True, program("nats-server"))
    except local.StartError as error:
        return Finding("nats-server", False, "not found", str(error))


def _room(home: local.Home) -> Finding:
    folder = next(parent for parent in (home.path, *home.path.parents) if parent.exists())
    free = shutil.disk_usage(folder).free
    detail = f"{free / 1024**3:.1f} GiB free under {home.path}"
    return Finding("disk", free >= _ROOM, detail, "free 2 GiB there, or set FIRETRIAL_HOME to another disk")


def _running(home: local.Home) -> Finding:
    pid = holder(home)
    if pid is None:
        return Finding("services", True, "not running; `firetrial up` starts them")
    cure = f"see {home.logs / 'supervisor.log'}; `firetrial down` and `firetrial up` start anew"
    return Finding("services", local.is_up(home), f"supervisor is process {pid}", cure)


commands = [up, down, doctor]
