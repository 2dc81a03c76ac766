"""The demo study that ships with Firetrial, and the scripted agents that try to rediscover it."""

from pathlib import Path

_HERE = Path(__file__).parent
# The careful one first: the other two are read against it.
_AGENTS = ("scripted_careful", "scripted_no_baseline", "scripted_overgeneralised")


def study() -> Path:
    """The study's report in Markdown; the experiment behind it lies beside it in `study/`."""
    return _HERE / "study.md"


def agents() -> list[Path]:
    """Folders of the scripted agents, each with `agent.json` (name, description, command) and its code.

    A folder is mounted alone at `/agent`, so the agents share no code.
    """
    return [_HERE / "agents" / name for name in _AGENTS]
