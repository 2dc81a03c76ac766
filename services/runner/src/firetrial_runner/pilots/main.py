"""A pilot: the runner as a job of a scheduler, with its settings from a file that only its user can read."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from firetrial_kit import service
from firetrial_kit.errors import FiretrialError
from firetrial_runner.announce import SERVICE
from firetrial_runner.main import build
from firetrial_runner.pilots.berth import VARIABLE, is_taken
from firetrial_runner.pilots.starting import read


def main(argv: list[str]) -> None:
    """`--env-file FILE`, or nothing. What the job itself is given goes before what the file says."""
    told: dict[str, str] = {}
    if argv[:1] == ["--env-file"] and len(argv) == 2:
        try:
            told = read(Path(argv[1]))
        except FiretrialError as error:
            sys.stderr.write(f"{error.message}\n")
            sys.exit(2)
    elif argv:
        sys.stderr.write("usage: python -m firetrial_runner.pilots.main [--env-file FILE]\n")
        sys.exit(2)
    # Agents' sandboxes are made by this process: what it knows of the file stays out of its environment.
    service.main({SERVICE: pilot}, {**told, **os.environ})


async def pilot(parts: service.Parts) -> service.Service:
    """The runner; where its berth is another's it ends before it is one, and well."""
    if await is_taken(parts.state, parts.environ):
        parts.log.warning("leaving", why="another pilot has its name", berth=parts.environ[VARIABLE])
        sys.exit(0)
    return await build(parts)


if __name__ == "__main__":
    main(sys.argv[1:])
