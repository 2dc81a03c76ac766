"""What ships with Firetrial to be tried out: a study, two repositories, and scripted agents for either."""

from pathlib import Path

_HERE = Path(__file__).parent
# The careful one first, and the one that improves: the others are read against it.
_AGENTS = ("scripted_careful", "scripted_no_baseline", "scripted_overgeneralised")
_IMPROVERS = ("repository_improves", "repository_overfits", "repository_breaks", "repository_edits_grader")
_REPOSITORIES = ("tabular_pipeline", "training_loop")


def study() -> Path:
    """The study's report in Markdown; the experiment behind it lies beside it in `study/`."""
    return _HERE / "study.md"


def agents() -> list[Path]:
    """Folders of the scripted agents, each with `agent.json` (name, description, command) and its code.

    A folder is mounted alone at `/agent`, so the agents share no code.
    """
    return [_HERE / "agents" / name for name in _AGENTS]


def repositories() -> list[Path]:
    """Folders of the repository tasks, as `firetrial tasks submit` takes them."""
    return [_HERE / "repository" / name for name in _REPOSITORIES]


def improvers() -> list[Path]:
    """Folders of the scripted agents that work on these repositories, as those of `agents`."""
    return [_HERE / "agents" / name for name in _IMPROVERS]
