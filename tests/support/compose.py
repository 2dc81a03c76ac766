"""Docker Compose: the plugin of a Docker that has one, or the program by itself."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from support import servers

LEAST = (2, 24)


def program() -> list[str]:
    """How it is called here, or nothing."""
    for found in (["docker", "compose"], [str(servers.BIN / "docker-compose")], ["docker-compose"]):
        if shutil.which(found[0]) and _version(found) >= LEAST:
            return found
    return []


def _version(found: list[str]) -> tuple[int, ...]:
    told = subprocess.run([*found, "version", "--short"], capture_output=True, text=True)
    numbers = told.stdout.strip().removeprefix("v").split("-")[0].split(".")
    return tuple(int(number) for number in numbers) if all(map(str.isdigit, numbers)) else ()


def argv(file: Path, *options: str) -> list[str]:
    """A call of it on one file."""
    return [*program(), "-f", str(file), *options]
