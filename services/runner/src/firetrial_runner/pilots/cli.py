# ruff: noqa: PLC0415 - what is heavy is imported by the command that needs it, so that the CLI starts fast
"""`firetrial pilots`: runners as jobs of a cluster's scheduler."""

from __future__ import annotations

import asyncio
import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from firetrial_kit.errors import FiretrialError
    from firetrial_runner.pilots.fleet import Round

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_BYTES = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_SCHEDULERS = ("slurm", "pbs", "lsf", "flux", "local")


def _seconds(_: click.Context, __: click.Parameter, value: str) -> float:
    told = re.fullmatch(r"(\d+(?:\.\d+)?)([smhd])", value)
    if told is None or not float(told[1]):
        raise click.BadParameter(f"{value!r} is no time: a number and s, m, h or d, such as 90s or 4h")
    return float(told[1]) * _SECONDS[told[2]]


def _bytes(_: click.Context, __: click.Parameter, value: str) -> int:
    told = re.fullmatch(r"(\d+)([KMGT]?)(?:i?B)?", value)
    if told is None:
        raise click.BadParameter(f"{value!r} is no size: a number and K, M, G or T, such as 16G")
    return int(told[1]) * _BYTES[told[2]]


def _pairs(_: click.Context, __: click.Parameter, value: tuple[str, ...]) -> dict[str, str]:
    for pair in value:
        if "=" not in pair:
            raise click.BadParameter(f"{pair!r} must be NAME=VALUE, such as qos=low")
    return dict(pair.split("=", 1) for pair in value)


@click.command("pilots")
@click.option("--scheduler", type=click.Choice(_SCHEDULERS), required=True, help="The cluster's scheduler.")
@click.option("--pool", required=True, help="The pool whose work the runners take.")
@click.option(
    "--max", "most", type=click.IntRange(1, 1000), required=True, help="Pilots at most, queued ones too."
)
@click.option(
    "--min", "least", type=click.IntRange(0, 1000), default=0, help="Pilots at least, without work too."
)
@click.option("--slots", type=click.IntRange(1, 256), help="Runs at a time in one. [default: the settings']")
@click.option(
    "--beside", type=click.IntRange(0), default=0, help="Runs that other runners of the pool have room for."
)
@click.option("--wall-time", default="4h", show_default=True, callback=_seconds, help="A job's time.")
@click.option(
    "--idle",
    default="5m",
    show_default=True,
    callback=_seconds,
    help="Time without work after which one ends.",
)
@click.option("--cpus", type=click.IntRange(1, 4096), default=1, show_default=True, help="Cores of a job.")
@click.option(
    "--memory", default="0", callback=_bytes, help="Memory of a job, such as 16G. [default: the site's]"
)
@click.option("--gpus", type=click.IntRange(0, 64), default=0, show_default=True, help="GPUs of a job.")
@click.option("--partition", default="", help="The partition or queue.")
@click.option("--account", default="", help="The account (Slurm, PBS), project (LSF) or bank (Flux).")
@click.option(
    "--attribute",
    "attributes",
    multiple=True,
    callback=_pairs,
    help="An option of the scheduler: NAME=VALUE.",
)
@click.option(
    "--env-file",
    type=click.Path(path_type=Path),
    help="The runners' settings: a file of mode 600 that nodes see.",
)
@click.option(
    "--folder",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path(),
    help="Where jobs start; nodes see it.",
)
@click.option("--every", default="10s", show_default=True, callback=_seconds, help="Time between two looks.")
@click.option("--once", is_flag=True, help="Look and act once, then end: for cron.")
@click.option("--json", "as_json", is_flag=True, help="Tell of each round in a line of JSON.")
def pilots(
    scheduler: str, pool: str, most: int, least: int, folder: Path, *, once: bool, as_json: bool, **given: Any
) -> None:
    """Keep as many runners in a cluster as a pool has work for, and never more than --max.

    Each is a job that takes runs until it is idle, or until a run would not end within its time. One that is
    ended early gives back what it has in hand. Settings are those of a runner, from the environment and
    --env-file; this process needs the broker only.
    """
    from firetrial_kit import logs
    from firetrial_kit.errors import FiretrialError
    from firetrial_kit.settings import SettingsError
    from firetrial_runner.config import RunnerSettings
    from firetrial_runner.pilots.course import Aim
    from firetrial_runner.pilots.starting import Pilot, read
    from firetrial_runner.pilots.watching import watch

    if least > most:
        raise click.UsageError(f"--min {least} is more than --max {most}")
    env_file = given["env_file"] and given["env_file"].absolute()
    try:
        environ = {**(read(env_file) if env_file else {}), **os.environ, "FIRETRIAL_RUNNER_POOL": pool}
        slots = given["slots"] or RunnerSettings.from_env(environ, "runner").slots
    except (SettingsError, FiretrialError) as error:
        raise click.UsageError(str(error)) from error
    pilot = Pilot(
        pool=pool,
        scheduler=scheduler,
        slots=slots,
        idle_s=given["idle"],
        wall_s=given["wall_time"],
        folder=folder.absolute(),
        env_file=env_file,
        cpus=given["cpus"],
        memory_bytes=given["memory"],
        gpus=given["gpus"],
        queue=given["partition"],
        account=given["account"],
        attributes=given["attributes"],
    )
    logs.configure(environ.get("FIRETRIAL_LOG_LEVEL") or "info")
    aim = Aim(most, least, slots, given["beside"])
    tell = _Tell(pool, most, as_json=as_json)
    try:
        asyncio.run(watch(pilot, aim, environ, every_s=given["every"], once=once, told=tell))
    except SettingsError as error:
        raise click.UsageError(str(error)) from error
    except FiretrialError as error:
        raise click.ClickException(error.message) from error


class _Tell:
    """Says of each round what there is, to people only what is new."""

    def __init__(self, pool: str, most: int, *, as_json: bool) -> None:
        self._pool, self._most, self._as_json, self._said = pool, most, as_json, ""

    def __call__(self, told: Round | FiretrialError) -> None:
        from firetrial_kit.errors import FiretrialError

        line = self._trouble(told) if isinstance(told, FiretrialError) else self._round(told)
        if self._as_json or line != self._said:
            click.echo(line)
        self._said = line

    def _trouble(self, error: FiretrialError) -> str:
        if self._as_json:
            return json.dumps({"pool": self._pool, "error": error.reason, "message": error.message})
        return f"{self._pool}: waiting: {error.message}"

    def _round(self, round_: Round) -> str:
        course = round_.course
        counts = {
            "work": round_.work,
            "wanted": course.wanted,
            "max": self._most,
            "active": len(course.active),
            "queued": len(course.queued) - len(round_.cancelled),
            "intended": len(course.intended),
            "submitted": len(round_.submitted),
            "cancelled": len(round_.cancelled),
        }
        if self._as_json:
            told = {
                "pool": self._pool,
                **counts,
                "trouble": round_.trouble,
                "pause_s": round(round_.pause_s, 1),
            }
            return json.dumps(told)
        trouble = f"; not submitted: {round_.trouble}" if round_.trouble else ""
        return f"{self._pool}: " + ", ".join(f"{count} {name}" for name, count in counts.items()) + trouble
