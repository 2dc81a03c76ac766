"""The agents that ship with Firetrial, each a folder as it is handed in."""

from __future__ import annotations

import json
from pathlib import Path

from firetrial_client.errors import Fault, invalid

_HERE = Path(__file__).parent
_FOLDERS = ("codex", "claude_code", "opencode", "openhands", "reference", "oracle", "no_op", "replay")
GIVEN = {"oracle": "conclusion.md", "replay": "steps.jsonl"}
"""The file that an agent is given with, by its path under /agent."""
_REPLAYED = {"command", "edit", "conclusion"}


def agents() -> dict[str, Path]:
    """The folders by the agents' names."""
    return {name.replace("_", "-"): _HERE / name for name in _FOLDERS}


def files(name: str, given: Path) -> dict[str, Path | bytes]:
    """The files of an agent that is given with one: of a trajectory in JSON lines, what is run again.

    Raises INVALID for what is no file, or no trajectory.
    """
    if not given.is_file():
        raise invalid("the agent", [Fault(name, f"{given} is no file")])
    return {GIVEN[name]: _replayed(given) if name == "replay" else given}


def _replayed(trajectory: Path) -> bytes:
    """The steps that a replay needs."""
    kept = []
    with trajectory.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            try:
                kind = json.loads(line)["kind"]
            except (ValueError, TypeError, KeyError):
                cure = "is no step: give the lines of `firetrial logs RUN --json`"
                raise invalid("the agent", [Fault(f"{trajectory}:{number}", cure)]) from None
            if kind in _REPLAYED:
                kept.append(line)
    return b"".join(kept)
