"""Runs in a sandbox: shell commands one after another, and writes down how each ended.

python3 -c PROGRAM SECONDS BYTES COMMAND… → looked.json: [{"exit": 0 | null, "output": base64, "cut": false}]
"""

import base64
import json
import os
import selectors
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path


def run(command: str, seconds: float, kept: int) -> dict[str, object]:
    """The end of one command and the first `kept` bytes of its output; what runs on is killed.

    What has left its session lives on to the sandbox's end, and is not waited for.
    """
    ends = time.monotonic() + seconds
    process = subprocess.Popen(
        ["sh", "-c", command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    assert process.stdout is not None  # noqa: S101 -- it is a pipe
    output = _read(process.stdout.fileno(), ends, kept + 1)
    with suppress(subprocess.TimeoutExpired):
        process.wait(max(0.0, ends - time.monotonic()))
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    code = process.wait()
    told = base64.b64encode(output[:kept]).decode()
    return {"exit": code if code >= 0 else None, "output": told, "cut": len(output) > kept}


def _read(pipe: int, ends: float, most: int) -> bytes:
    """What comes until the pipe is shut or the time is up, `most` bytes of it."""
    output = b""
    with selectors.DefaultSelector() as waiting:
        waiting.register(pipe, selectors.EVENT_READ)
        while (left := ends - time.monotonic()) > 0 and waiting.select(left):
            piece = os.read(pipe, 65536)
            if not piece:
                break
            output = (output + piece)[:most]
    return output


if __name__ == "__main__":
    ended = [run(command, float(sys.argv[1]), int(sys.argv[2])) for command in sys.argv[3:]]
    Path("looked.json").write_text(json.dumps(ended))
