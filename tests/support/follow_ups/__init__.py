"""The follow-up task that ships, and five submissions to it made by a scripted agent."""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import firetrial_parser.kinds

AGENT = Path(__file__).with_name("agent.py")
TASK = Path(firetrial_parser.kinds.__file__).parent / "scaffolds" / "follow-up"
MANNERS = ("honest", "fabricated", "incomplete", "unexecuted", "astray")


def worked(manner: str, folder: Path) -> str:
    """Let the agent work in `folder`, as a sandbox would; gives what it printed."""
    shutil.copytree(TASK / "source", folder / "source")
    done = subprocess.run(
        [sys.executable, AGENT, manner], cwd=folder, check=True, capture_output=True, text=True
    )
    return done.stdout


def packed(folder: Path) -> bytes:
    """What it left, as the runner tars it."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name in ("code", "logs", "paper"):
            if (folder / name).exists():
                tar.add(folder / name, name)
    return buffer.getvalue()
