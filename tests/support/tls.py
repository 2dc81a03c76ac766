"""Secrets and certificates as an installation has them: made by the script that its one-shot job runs."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"


def secrets(folder: Path, *hosts: str, webhooks: str = "") -> Path:
    """A folder with a folder for each part; clients reach the endpoint as localhost, or by `hosts`.

    `webhooks` are the names of endpoints that facts are sent to.
    """
    argv = ["sh", str(DEPLOY / "compose" / "secrets.sh"), str(folder), *hosts]
    environ = {**os.environ, "WEBHOOKS": webhooks}
    subprocess.run(argv, check=True, capture_output=True, timeout=60, env=environ)
    return folder
