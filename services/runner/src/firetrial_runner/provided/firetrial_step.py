"""Hands in a step of this run: the text of the target files, which are then validated where no agent comes.

    python3 /opt/firetrial/step.py --idea "a wider network"

    from firetrial_step import hand_in
    answer = hand_in("a wider network")      # {"step": 3, "state": "valid", "metric": 0.93, ...}

"state" is valid, failed (it broke: see "reason" and "output") or void (something was changed that may not be:
see "findings"). Steps are made one at a time and count against the task's number of them and against the
run's time. Needs Python's standard library only.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_EXITS = {"valid": 0, "failed": 1, "void": 1}
_TRIES = 5


class StepError(RuntimeError):
    """What was handed in is no step; `status` is the HTTP status, 0 where nobody answered."""

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


def target_files() -> dict[str, str]:
    """The text of the target files as they lie in this workspace."""
    repository = Path(os.environ["FIRETRIAL_REPOSITORY"])
    targets = json.loads(os.environ["FIRETRIAL_TARGETS"])
    return {name: (repository / name).read_text() for name in targets if (repository / name).is_file()}


def hand_in(idea: str = "", files: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Validate the target files as they lie here, or these texts by path. Raises StepError.

    A validation that was lost by no fault of the agent is asked for again.
    """
    body = json.dumps({"idea": idea, "files": dict(files or target_files())}).encode()
    headers = {
        "authorization": f"Bearer {os.environ['FIRETRIAL_STEP_TOKEN']}",
        "content-type": "application/json",
    }
    request = urllib.request.Request(os.environ["FIRETRIAL_STEP_URL"], body, headers)  # noqa: S310 -- the runner's own
    for attempt in range(1, _TRIES + 1):
        try:
            with urllib.request.urlopen(request) as answer:  # noqa: S310 -- as above
                told: dict[str, Any] = json.load(answer)
                return told
        except urllib.error.HTTPError as error:
            fault = StepError(_told(error.read(65536)), error.code)
            if error.code not in {429, 503} or attempt == _TRIES:
                raise fault from None
        except OSError as error:
            raise StepError(f"no answer: {error}") from error
        time.sleep(attempt)
    raise AssertionError


def main() -> int:
    """0 for a valid step, 1 for a failed or void one, 2 for what is none."""
    parser = argparse.ArgumentParser(description="Hand in the target files as a step of this run.")
    parser.add_argument("--idea", default="", help="what is tried, in the agent's own words")
    try:
        told = hand_in(parser.parse_args().idea)
    except StepError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    sys.stdout.write(json.dumps(told, indent=2) + "\n")
    return _EXITS.get(str(told.get("state")), 1)


def _told(data: bytes) -> str:
    try:
        return str(json.loads(data)["error"])
    except (ValueError, KeyError, TypeError):
        return data.decode(errors="replace")
