"""One machine's Firetrial as people use it: a home folder, and the command line with it."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from support import servers

FIRETRIAL = str(servers.BIN / "firetrial")


class Machine:
    """One home, and the command line with it."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.environ = {**os.environ, "FIRETRIAL_HOME": str(home), "FIRETRIAL_ACK_WAIT": "3"}
        self.environ.pop("FIRETRIAL_ENDPOINT", None)

    def run(self, *argv: str, seconds: float = 120) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [FIRETRIAL, *argv], env=self.environ, capture_output=True, text=True, timeout=seconds
        )

    def start(self, *argv: str) -> subprocess.Popen[bytes]:
        with (self.home.parent / "foreground.log").open("wb") as log:
            return subprocess.Popen([FIRETRIAL, *argv], env=self.environ, stdout=log, stderr=log)

    def json(self, *argv: str) -> Any:
        ended = self.run(*argv, "--json")
        assert ended.returncode == 0, ended.stderr + ended.stdout
        return json.loads(ended.stdout)

    def processes(self) -> list[str]:
        """Every process that carries this home in its command line or environment."""
        found = []
        for folder in Path("/proc").iterdir():
            if not folder.name.isdigit() or int(folder.name) == os.getpid():
                continue
            try:
                known = (folder / "cmdline").read_bytes() + (folder / "environ").read_bytes()
                state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
            except OSError:
                continue
            if str(self.home).encode() in known and state != "Z":
                found.append(f"{folder.name} {known[:200]!r}")
        return found

    def mounts(self) -> list[str]:
        return [line for line in Path("/proc/mounts").read_text().splitlines() if str(self.home) in line]

    def sleepers(self) -> int:
        """Agent processes that live: sandboxes have a clean environment, so by what they run."""
        return sum(
            b"sleep\x00300" in folder.read_bytes()
            for folder in Path("/proc").glob("[0-9]*/cmdline")
            if folder.exists()
        )
