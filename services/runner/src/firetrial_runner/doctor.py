"""What the runner needs of the machine and of the models behind its gateway, for `firetrial doctor`."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from firetrial_kit import listing
from firetrial_kit.listing import Found
from firetrial_kit.settings import SettingsError
from firetrial_runner.config import RunnerSettings
from firetrial_runner.gateway.exchange import Tokens
from firetrial_runner.gateway.prices import Prices
from firetrial_runner.gateway.settings import GatewaySettings
from firetrial_runner.gateway.upstream import Upstream
from firetrial_runner.gpus.device import listed, visible
from firetrial_runner.gpus.nvml import Nvml
from firetrial_runner.programs import KNOWN
from firetrial_runner.sandbox import SandboxError


def checks() -> list[Found]:
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


def gateway() -> list[Found]:
    """The gateway's file, each upstream by its list of models, and whether what agents ask has a price."""
    try:
        path = RunnerSettings.from_env(os.environ, "runner").gateway
    except SettingsError:
        return []  # told by `checks`
    if path is None:
        return [("gateway", True, "none is named: agents reach no model", "")]
    try:
        settings = GatewaySettings.load(path)
        upstreams = settings.opened(os.environ)
    except SettingsError as error:
        cure = "mend the file, and set the variables that it names"
        return [("gateway", False, "; ".join(error.problems), cure)]
    unpriced = list(_unpriced(upstreams, Prices(settings.prices_by_model())))
    with ThreadPoolExecutor(len(upstreams)) as several:
        return [_told(path, upstreams, unpriced), *several.map(_asked, upstreams)]


def _told(path: Path, upstreams: list[Upstream], unpriced: list[str]) -> Found:
    detail = f"{path}: {len(upstreams)} upstreams"
    if unpriced:
        cure = "give them prices in the file: what they cost is unknown, and no budget in USD holds"
        return "gateway", None, f"{detail}; no price of {', '.join(unpriced)}", cure
    return "gateway", True, detail, ""


def _asked(upstream: Upstream) -> Found:
    return listing.asked(f"gateway.{upstream.name}", upstream.url, upstream.dialect, upstream.key, "its key")


def _unpriced(upstreams: list[Upstream], prices: Prices) -> Iterator[str]:
    """Those that are named in full: the beginning of a name may be that of many."""
    for upstream in upstreams:
        for model in upstream.models:
            known = prices.cost(model, upstream.provider, upstream.url, Tokens(1, 1))
            if not model.endswith("*") and known is None:
                yield model


def _sandbox(settings: RunnerSettings) -> Found:
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
