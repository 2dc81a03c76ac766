"""What the runner needs of the machine, for `firetrial doctor`."""

from __future__ import annotations

import asyncio
import os

from firetrial_kit.settings import SettingsError
from firetrial_runner.config import RunnerSettings
from firetrial_runner.programs import KNOWN
from firetrial_runner.sandbox import SandboxError, named


def checks() -> list[tuple[str, bool, str, str]]:
    """(name, ok, detail, cure) of each thing that was looked at."""
    try:
        settings = RunnerSettings.from_env(os.environ, "runner")
    except SettingsError as error:
        return [("runner settings", False, "; ".join(error.problems), "mend these variables")]
    return [_sandbox(settings), ("agent programs", True, _programs(settings), "")]


def _sandbox(settings: RunnerSettings) -> tuple[str, bool, str, str]:
    try:
        return "sandbox", True, asyncio.run(_probe(settings)), ""
    except SandboxError as error:
        return "sandbox", False, error.why, error.cure


def _programs(settings: RunnerSettings) -> str:
    """Which are installed: none has to be."""
    shelf = settings.shelf()
    packaged = [program for program in KNOWN.values() if program.package]
    there = [program.told for program in packaged if not list(shelf.faults(program.told))]
    missing = [program.name for program in packaged if program.told not in there]
    told = ", ".join(there) or "none is installed"
    return f"{told}; firetrial programs install {' '.join(missing)}" if missing else told


async def _probe(settings: RunnerSettings) -> str:
    sandbox = await named(settings.sandbox, **settings.docker(), unsafe_host=settings.unsafe_host)
    await sandbox.aclose()
    held = ", ".join(f"{limit} by {how}" for limit, how in sorted(sandbox.enforcement().items()))
    return f"{sandbox.name}; {held}"
