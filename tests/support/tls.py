"""Secrets and certificates as an installation has them: made by the script that its one-shot job runs."""

from __future__ import annotations

import subprocess
from pathlib import Path

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"


def secrets(folder: Path, *hosts: str) -> Path:
    """A folder with a folder for each part; clients reach the endpoint as localhost, or by `hosts`."""
    argv = ["sh", str(DEPLOY / "compose" / "secrets.sh"), str(folder), *hosts]
    subprocess.run(argv, check=True, capture_output=True, timeout=60)
    return folder
