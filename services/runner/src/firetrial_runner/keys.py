"""Where the runner's objects lie in the `runs` bucket: each key is built here and nowhere else."""

from __future__ import annotations

BUCKET = "runs"


def task(task_id: str) -> str:
    return f"tasks/{task_id}/task.json"


def proposal(proposal_id: str) -> str:
    """The mark that the parser sets of a proposal."""
    return f"proposals/{proposal_id}.json"


def bundle(agent_id: str) -> str:
    return f"agents/{agent_id}/bundle.tar"


def of_run(run_id: str, name: str) -> str:
    return f"runs/{run_id}/{name}"


def of_runs(start: str) -> str:
    """What the keys begin with of all whose ids begin so."""
    return f"runs/{start}"


def uri(key: str) -> str:
    return f"{BUCKET}/{key}"
