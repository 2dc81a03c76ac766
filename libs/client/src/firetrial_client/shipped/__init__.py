"""The agents that ship with Firetrial, each a folder as it is handed in."""

from pathlib import Path

_HERE = Path(__file__).parent
# By name: those that want a model, and those that measure what runs cost and come to without one.
_FOLDERS = ("codex", "claude_code", "reference", "oracle", "no_op", "replay")


def agents() -> dict[str, Path]:
    """The folders by the agents' names."""
    return {name.replace("_", "-"): _HERE / name for name in _FOLDERS}
