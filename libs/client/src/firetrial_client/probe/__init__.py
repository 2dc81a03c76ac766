"""The closed-book probe that ships with Firetrial."""

from pathlib import Path


def folder() -> Path:
    """The agent's folder: `agent.json` and its program."""
    return Path(__file__).parent
