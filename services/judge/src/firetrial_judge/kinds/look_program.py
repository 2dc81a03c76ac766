"""Runs in a sandbox: shell commands one after another, and writes down how each ended.

python3 -c PROGRAM SECONDS BYTES COMMAND… → looked.json: [{"exit": 0 | null, "output": base64, "cut": false}]
"""

import base64
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path


def run(command: str, seconds: float, kept: int) -> dict[str, object]:
    """The end of one command and the first `kept` bytes of its output; what runs on is killed."""
    process = subprocess.Popen(
        ["sh", "-c", command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    clock = threading.Timer(seconds, os.killpg, (process.pid, signal.SIGKILL))
    clock.start()
    assert process.stdout is not None  # noqa: S101 -- it is a pipe
    output = process.stdout.read(kept + 1)
    while process.stdout.read(65536):
        pass
    code = process.wait()
    clock.cancel()
    told = base64.b64encode(output[:kept]).decode()
    return {"exit": code if code >= 0 else None, "output": told, "cut": len(output) > kept}


if __name__ == "__main__":
    ended = [run(command, float(sys.argv[1]), int(sys.argv[2])) for command in sys.argv[3:]]
    Path("looked.json").write_text(json.dumps(ended))
