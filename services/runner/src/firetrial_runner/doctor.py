"""What the runner needs of the machine, for `firetrial doctor`."""

from __future__ import annotations

import asyncio
import os

from firetrial_kit.settings import SettingsError
from firetrial_runner.config import RunnerSettings
from firetrial_runner.gpus.device import listed, visible
from firetrial_runner.gpus.nvml import Nvml
from firetrial_runner.programs import KNOWN
from firetrial_runner.sandbox import SandboxError


def checks() -> list[tuple[str, bool, str, str]]:
    """(name, ok, detail, cure) of each thing that was looked at."""
    try:
        settings = RunnerSettings.from_env(os.environ, "runner")
    except SettingsError as error:
        return [("runner settings", False, "; ".join(error.problems), "mend these variables")]
    return [
        _sandbox(settings),
        ("gpus", True, _gpus(settings), ""),
        ("agent programs", True, _programs(settings), ""),
    ]


def _sandbox(settings: RunnerSettings) -> tuple[str, bool, str, str]:
    try:
        return "sandbox", True, asyncio.run(_probe(settings)), ""
    except SandboxError as error:
        return "sandbox", False, error.why, error.cure


def _gpus(settings: RunnerSettings) -> str:
    """Which there are, and which of them runs may be given: there need be none."""
    sight = Nvml().look()
    mine = listed(visible(sight.gpus, settings.wanted_gpus(os.environ)))
    return f"none: {sight.why_none}" if sight.why_none else f"{listed(sight.gpus)}; for runs: {mine}"


def _programs(settings: RunnerSettings) -> str:
    """Which are installed: none has to be."""
    shelf = settings.shelf()
    packaged = [program for program in KNOWN.values() if program.package]
    there = [program.told for program in packaged if not list(shelf.faults(program.told))]
    installable = [program for program in packaged if program.package and program.package.by != "pip"]
    missing = [program.name for program in installable if program.told not in there]
    told = ", ".join(there) or "none is installed"
    return f"{told}; firetrial programs install {' '.join(missing)}" if missing else told


async def _probe(settings: RunnerSettings) -> str:
    sandbox = await settings.open_sandbox()
    await sandbox.aclose()
    held = ", ".join(f"{limit} by {how}" for limit, how in sorted(sandbox.enforcement().items()))
    return f"{sandbox.name}; {held}"
