"""Asking a scheduler by its own commands."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Sequence
from typing import Any

from firetrial_runner.schedulers.port import SchedulerError

ASKED_S = 60.0
"""Seconds in which a scheduler answers, or is taken for away."""
_SAID = 500
# What commands say when it is not the request that is wrong; the job may have been taken all the same.
_AWAY = re.compile(
    r"time[d-]* ?out|contact|connect|unreachable|temporar|try again|socket|communication|not respond|"
    r"cannot allocate|too many open files",
    re.IGNORECASE,
)


async def ask(*argv: str, within_s: float = ASKED_S) -> str:
    """What the command prints. Raises SchedulerError where it fails, is missing, or does not end in time."""
    try:
        process = await asyncio.create_subprocess_exec(
            *argv,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
    except OSError as error:
        raise SchedulerError(f"{argv[0]} could not be started: {error}", refused=True) from error
    try:
        async with asyncio.timeout(within_s):
            out, err = await process.communicate()
    except TimeoutError:
        raise SchedulerError(f"{argv[0]} did not answer within {within_s:g} s", refused=False) from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        raise failed(argv[0], (err or out).decode(errors="replace"))
    return out.decode(errors="replace")


async def ask_json(*argv: str) -> dict[str, Any]:
    """The object that the command prints. Raises SchedulerError."""
    said = await ask(*argv)
    try:
        found = json.loads(said)
    except ValueError as error:
        raise SchedulerError(f"{argv[0]} printed no JSON: {error}", refused=False) from error
    if not isinstance(found, dict):
        raise SchedulerError(f"{argv[0]} printed no JSON object", refused=False)
    return found


def failed(program: str, said: str) -> SchedulerError:
    """What a command that failed has said: that the scheduler is away, else that it refused."""
    told = " ".join(said.split())[:_SAID] or "it said nothing"
    return SchedulerError(f"{program} failed: {told}", refused=not _AWAY.search(said))


def lines(said: str, separator: str = "|") -> list[Sequence[str]]:
    """The fields of each line."""
    return [line.split(separator) for line in said.splitlines() if line.strip()]
