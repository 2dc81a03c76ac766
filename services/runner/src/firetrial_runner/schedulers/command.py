"""Asking a scheduler by its own commands."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from firetrial_runner.schedulers.port import SchedulerError

ASKED_S = 60.0
"""Seconds in which a scheduler answers, or is taken for away."""
_DEAD_S = 5.0
"""Seconds in which a command that was killed is gone; one that hangs in the file system may take for ever."""
_SAID = 500
# What commands say when it is not the request that is wrong; the job may have been taken all the same.
_AWAY = re.compile(
    r"time[d-]* ?out|contact|connect|unreachable|temporar|try again|socket|communication|not respond|"
    r"zero bytes|broken pipe|end of file|network|no route|is down|please wait|"
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
            start_new_session=True,
        )
    except OSError as error:
        raise _not_started(argv[0], error) from error
    ended = asyncio.create_task(process.communicate())
    try:
        async with asyncio.timeout(within_s):
            out, err = await asyncio.shield(ended)
    except TimeoutError:
        raise _silent(argv[0], within_s) from None
    finally:
        if not ended.done():
            _kill(process.pid)
            await asyncio.wait([ended], timeout=_DEAD_S)
    _check(argv[0], process.returncode or 0, err or out)
    return out.decode(errors="replace")


def ask_here(argv: Sequence[str], within_s: float = ASKED_S) -> str:
    """The same for a thread that may be held up."""
    try:
        process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        raise _not_started(argv[0], error) from error
    with process:
        try:
            out, err = process.communicate(timeout=within_s)
        except subprocess.TimeoutExpired:
            _kill(process.pid)
            raise _silent(argv[0], within_s) from None
    _check(argv[0], process.returncode, err or out)
    return out.decode(errors="replace")


def _kill(leader: int) -> None:
    """With all that it has started: sites put scripts of theirs before a scheduler's commands."""
    with suppress(ProcessLookupError):
        os.killpg(leader, signal.SIGKILL)


def _not_started(program: str, error: OSError) -> SchedulerError:
    return SchedulerError(f"{program} could not be started: {error}", refused=True)


def _silent(program: str, within_s: float) -> SchedulerError:
    return SchedulerError(f"{program} did not answer within {within_s:g} s", refused=False)


def _check(program: str, code: int, said: bytes) -> None:
    """Raises SchedulerError where it failed; of one that was killed nobody knows how far it came."""
    if code < 0:
        raise SchedulerError(f"{program} was ended by signal {-code}", refused=False)
    if code:
        raise failed(program, said.decode(errors="replace"))


async def ask_json(*argv: str) -> dict[str, Any]:
    """The object that the command prints. Raises SchedulerError."""
    said = await ask(*argv)
    try:
        found = json.loads(said, strict=False)
    except (ValueError, RecursionError) as error:
        raise SchedulerError(f"{argv[0]} printed no JSON: {error}", refused=False) from error
    if not isinstance(found, dict):
        raise SchedulerError(f"{argv[0]} printed no JSON object", refused=False)
    return found


def failed(program: str, said: str) -> SchedulerError:
    """What a command that failed has said: that the scheduler is away, else that it refused."""
    told = " ".join(said.split())[:_SAID] or "it said nothing"
    return SchedulerError(f"{program} failed: {told}", refused=not _AWAY.search(said))


@contextmanager
def understood(program: str) -> Iterator[None]:
    """Raises SchedulerError where what the program printed is not what it prints."""
    try:
        yield
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        told = f"{program} printed what makes no sense: {type(error).__name__}: {error}"
        raise SchedulerError(told, refused=False) from error


def lines(said: str, separator: str = "|") -> list[Sequence[str]]:
    """The fields of each line."""
    return [line.split(separator) for line in said.splitlines() if line.strip()]
