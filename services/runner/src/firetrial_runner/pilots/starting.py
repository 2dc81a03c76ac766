"""What a pilot's job is: the program, its settings, and what the scheduler is asked for."""

from __future__ import annotations

import re
import stat
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from firetrial_kit.errors import Fault, invalid
from firetrial_runner.pilots import berth
from firetrial_runner.pilots.stay import NOTICE_S
from firetrial_runner.schedulers.port import JobSpec

_LINE = re.compile(r"(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)=(.*)")
_TOO_SHORT_S = 5 * NOTICE_S
"""Seconds of a job's time in which a notice of its end would come soon after its beginning."""


@dataclass(frozen=True, slots=True)
class Pilot:
    """Makes the jobs of a pool's pilots. `env_file` holds the runner's settings and credentials; see `read`.

    idle_s, wall_s: a pilot leaves when it is idle for so long, and has so long in all.
    """

    pool: str
    scheduler: str
    slots: int
    idle_s: float
    wall_s: float
    folder: Path
    env_file: Path | None = None
    cpus: int = 1
    memory_bytes: int = 0
    gpus: int = 0
    queue: str = ""
    account: str = ""
    attributes: Mapping[str, str] = field(default_factory=dict)

    def job(self, name: str, mark: int) -> JobSpec:
        """The pilot of that name; see `Ledger` for its mark."""
        read_from = ("--env-file", str(self.env_file)) if self.env_file else ()
        return JobSpec(
            name=name,
            argv=(sys.executable, "-m", "firetrial_runner.pilots.main", *read_from),
            folder=self.folder,
            wall_s=self.wall_s,
            cpus=self.cpus,
            memory_bytes=self.memory_bytes,
            gpus=self.gpus,
            queue=self.queue,
            account=self.account,
            attributes={**self._told_slurm(), **self.attributes},
            env={
                berth.VARIABLE: berth.shown(name, mark),
                "FIRETRIAL_RUNNER_POOL": self.pool,
                "FIRETRIAL_RUNNER_SLOTS": str(self.slots),
                "FIRETRIAL_RUNNER_IDLE": f"{self.idle_s:g}",
                "FIRETRIAL_RUNNER_WALL_TIME": f"{self.wall_s:g}",
            },
        )

    def _told_slurm(self) -> dict[str, str]:
        """Notice of the end, and no two jobs of one name at a time, whoever submits them."""
        if self.scheduler != "slurm":
            return {}
        notice = {"signal": f"B:USR1@{NOTICE_S:.0f}"} if self.wall_s > _TOO_SHORT_S else {}
        return {**notice, "dependency": "singleton", "open-mode": "append"}


def read(path: Path) -> dict[str, str]:
    """The variables in a file of NAME=value lines; # begins a comment, quotes around a value are left out.

    Raises INVALID for a file that others may read, or a line that is none.
    """
    try:
        mode, text = path.stat().st_mode, path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise invalid(
            "the file of settings", [Fault("--env-file", str(path), f"cannot be read: {error}")]
        ) from error
    faults = []
    if stat.S_IMODE(mode) & 0o077:
        faults.append(Fault("--env-file", str(path), "must be its owner's alone: chmod 600"))
    found: dict[str, str] = {}
    for number, line in enumerate(map(str.strip, text.splitlines()), 1):
        if not line or line.startswith("#"):
            continue
        if told := _LINE.fullmatch(line):
            found[told[1]] = _unquoted(told[2])
        else:  # the line is not shown: it may hold a secret
            faults.append(Fault(f"{path.name}:{number}", "a line", "must be NAME=value, or begin with #"))
    if faults:
        raise invalid("the file of settings", faults)
    return found


def _unquoted(value: str) -> str:
    value = value.strip()
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"" else value
