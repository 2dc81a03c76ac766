# ruff: noqa: PLC0415 - what is heavy is imported by the command that needs it, so that the CLI starts fast
"""`firetrial pilots`: runners as jobs of a cluster's scheduler."""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from firetrial_kit.errors import FiretrialError
    from firetrial_runner.pilots.fleet import Round
    from firetrial_runner.pilots.starting import Pilot

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_BYTES = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_PATH = click.Path(path_type=Path)
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


def _option(name: str, told: str, **how: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    return click.option(*name.split(), help=told, show_default="default" in how, **how)


@click.command("pilots")
@_option("--scheduler", "The cluster's scheduler.", type=click.Choice(_SCHEDULERS), required=True)
@_option("--pool", "The pool whose work the runners take.", required=True)
@_option("--max most", "Pilots at most, queued ones too.", type=click.IntRange(1, 1000), required=True)
@_option("--min least", "Pilots at least, without work too.", type=click.IntRange(0, 1000), default=0)
@_option("--slots", "Runs at a time in one. [default: the settings']", type=click.IntRange(1, 256))
@_option("--beside", "Runs that the pool's other runners have room for.", type=click.IntRange(0), default=0)
@_option("--wall-time wall_s", "A job's time.", default="4h", callback=_seconds)
@_option("--idle idle_s", "Time without work after which one ends.", default="5m", callback=_seconds)
@_option("--cpus", "Cores of a job.", type=click.IntRange(1, 4096), default=1)
@_option(
    "--memory memory_bytes", "Memory of a job, such as 16G; 0: the site's.", default="0", callback=_bytes
)
@_option("--gpus", "GPUs of a job.", type=click.IntRange(0, 64), default=0)
@_option("--partition queue", "The partition or queue. [default: the site's]")
@_option("--account", "The account (Slurm, PBS), project (LSF) or bank (Flux).")
@_option("--attribute attributes", "An option of the scheduler: NAME=VALUE.", multiple=True, callback=_pairs)
@_option("--env-file", "The runners' settings: a file of mode 600 that nodes see.", type=_PATH)
@_option("--folder", "Where jobs start; nodes see it.", type=_PATH, default=Path())
@_option("--every every_s", "Time between two looks.", default="10s", callback=_seconds)
@_option(
    "--targets scraped", "A file to tell Prometheus in which of the pool's runners are there.", type=_PATH
)
@_option("--once", "Look and act once, then end: for cron.", is_flag=True)
@_option("--json as_json", "Tell of each round in a line of JSON.", is_flag=True)
def pilots(
    pool: str,
    most: int,
    least: int,
    beside: int,
    *,
    every_s: float,
    scraped: Path | None,
    once: bool,
    as_json: bool,
    **given: Any,
) -> None:
    """Keep as many runners in a cluster as a pool has work for, and never more than --max.

    Each is a job that takes runs until it is idle, or until a run would not end within its time. One that is
    ended early gives back what it has in hand. Settings are those of a runner, from the environment and
    --env-file; this process needs the broker only.
    """
    from firetrial_kit import logs
    from firetrial_kit.errors import FiretrialError, check
    from firetrial_kit.settings import SettingsError
    from firetrial_runner.pilots.course import Aim
    from firetrial_runner.pilots.watching import watch

    if every_s < 1:
        raise click.UsageError(f"--every {every_s:g}s asks the scheduler too often: 1s or more")
    if least > most:
        raise click.UsageError(f"--min {least} is more than --max {most}")
    try:
        pilot, environ = _pilot(pool, **given)
        check("the job", pilot.job("ft", 0).faults())
    except (SettingsError, FiretrialError) as error:
        raise click.UsageError(str(error)) from error
    logs.configure(environ.get("FIRETRIAL_LOG_LEVEL") or "info")
    aim, told = Aim(most, least, pilot.slots, beside), _Tell(pool, most, as_json=as_json)
    try:
        asyncio.run(watch(pilot, aim, environ, every_s=every_s, once=once, told=told, scraped=scraped))
    except FiretrialError as error:
        raise click.ClickException(error.message) from error


def _pilot(
    pool: str, env_file: Path | None, folder: Path, slots: int | None, wall_s: float, **given: Any
) -> tuple[Pilot, dict[str, str]]:
    """What jobs are made of, and the settings that they will find. Raises SettingsError, and INVALID."""
    from firetrial_kit.settings import CommonSettings
    from firetrial_runner.config import RunnerSettings
    from firetrial_runner.pilots.starting import Pilot, read
    from firetrial_runner.pilots.stay import MARGIN_S

    env_file = env_file.absolute() if env_file else None
    environ = {**(read(env_file) if env_file else {}), **os.environ, "FIRETRIAL_RUNNER_POOL": pool}
    settings, common = RunnerSettings.from_env(environ, "runner"), CommonSettings.from_env(environ, "runner")
    if (needed := settings.default().wall_s + common.drain + MARGIN_S) > wall_s:
        raise click.UsageError(
            f"--wall-time is {wall_s:g} s, in which no run that states no time could end: with the "
            f"drain it may take {needed:g} s. Ask for more, or set FIRETRIAL_RUNNER_MAX_WALL_S to less"
        )
    given |= {"queue": given["queue"] or "", "account": given["account"] or ""}
    slots = slots or settings.slots
    return Pilot(
        pool, slots=slots, wall_s=wall_s, folder=folder.absolute(), env_file=env_file, **given
    ), environ


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
