"""Firetrial on one machine: `up` starts it, `down` ends it, `running` does both around what is inside."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from firetrial_client.local.home import Home, default_home, holder
from firetrial_client.local.processes import StartError
from firetrial_client.local.supervisor import Options, spawn

__all__ = ["Home", "Options", "StartError", "default_home", "down", "is_up", "running", "up"]
_START = 120.0
_STOP = 60.0


def is_up(home: Home) -> bool:
    """Whether a supervisor runs in `home` and its services answer."""
    return holder(home) is not None and home.endpoints.exists()


def up(options: Options) -> None:
    """Start everything in the background and return once it answers. Raises StartError."""
    home = Home(Path(options.home))
    if holder(home) is not None:
        raise StartError(f"it is running already in {home.path}; `firetrial down` ends it")
    log = home.logs / "supervisor.log"
    before = log.stat().st_size if log.exists() else 0
    process = spawn(options)
    until = time.monotonic() + _START
    while not is_up(home):
        if process.poll() is not None or time.monotonic() > until:
            with log.open() as file:
                file.seek(before)
                said = file.read().strip()
            raise StartError(said or f"the supervisor ended with {process.returncode}")
        time.sleep(0.05)


def down(home: Home) -> bool:
    """End everything that runs in `home`; False where nothing did. Raises StartError where it stays."""
    pid = holder(home)
    if pid is None:
        return False
    os.kill(pid, signal.SIGTERM)
    until = time.monotonic() + _STOP
    while holder(home) is not None:
        if time.monotonic() > until:
            # Its children are bound to its life, so nothing is left behind.
            os.kill(pid, signal.SIGKILL)
            time.sleep(1)
            if holder(home) is not None:
                raise StartError(f"process {pid} does not end; see {home.logs / 'supervisor.log'}")
        time.sleep(0.05)
    return True


@contextmanager
def running(options: Options) -> Iterator[bool]:
    """Have it up inside; what was up already stays up afterwards. Gives whether it was started here."""
    home = Home(Path(options.home))
    started = not is_up(home)
    if started:
        up(options)
    try:
        yield started
    finally:
        if started:
            down(home)
