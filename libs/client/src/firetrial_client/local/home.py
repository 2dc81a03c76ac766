"""The folder in which one machine's Firetrial keeps what it knows and what it runs."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Home:
    """Names of everything under the home folder."""

    path: Path

    @property
    def endpoints(self) -> Path:
        """{"parser": "host:port", …}: where clients find the services."""
        return self.path / "endpoints.json"

    @property
    def operator(self) -> Path:
        """{"FIRETRIAL_NATS_URL": …, …}: how those who operate it reach the broker and the objects."""
        return self.run / "operator.json"

    @property
    def objects(self) -> Path:
        return self.path / "objects"

    @property
    def logs(self) -> Path:
        return self.path / "logs"

    @property
    def run(self) -> Path:
        """What belongs to the running system only: ports, settings, the lock."""
        return self.path / "run"

    @property
    def lock(self) -> Path:
        return self.run / "lock"

    def prepare(self) -> None:
        """Make the folders, closed to other users of the machine."""
        for folder in (self.path, self.objects, self.logs, self.run):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)


def default_home(environ: Mapping[str, str]) -> Home:
    """$FIRETRIAL_HOME, else firetrial under the user's state folder."""
    if named := environ.get("FIRETRIAL_HOME"):
        return Home(Path(named).absolute())
    state = environ.get("XDG_STATE_HOME") or Path(environ.get("HOME", "/")) / ".local" / "state"
    return Home(Path(state) / "firetrial")


def take_lock(home: Home) -> int | None:
    """The lock of the one supervisor, as an open descriptor that must be kept; None where it is taken."""
    descriptor = os.open(home.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    os.ftruncate(descriptor, 0)
    os.write(descriptor, str(os.getpid()).encode())
    return descriptor


def holder(home: Home) -> int | None:
    """The process id of the supervisor that runs, or None. The lock, not the number in it, says whether."""
    if not home.lock.exists():
        return None
    with home.lock.open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            text = file.read().strip()
            return int(text) if text.isdigit() else None
    return None


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """Replace the file in one step, readable by its owner only."""
    aside = path.with_suffix(".new")
    aside.touch(mode=0o600)
    aside.write_text(json.dumps(value, indent=2))
    aside.replace(path)
