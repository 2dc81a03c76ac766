# ruff: noqa: INP001 - a program that is run by its path, not a module of the package
"""Replay: the commands of a recorded trajectory once more, in their order, and the conclusion it came to.

The steps are in steps.jsonl beside this file. Whether a command ends as it did is told; its output is
recorded anew. Edits that were recorded as a diff and calls of other tools cannot be repeated, and are
counted. Standard library only.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

CONCLUSION = Path("conclusion.md")
COMMAND_S = 3600.0
OUTPUT_BYTES = 1024 * 1024
"""Of one command; its beginning is kept."""
_SHELLS = {None, "bash", "Bash", "shell"}
"""Tools whose command is what one would type."""


def tell(kind: str, text: str = "", **fields: Any) -> None:
    """A line of the stream."""
    known = {name: value for name, value in fields.items() if value is not None}
    print(json.dumps({"type": kind, "text": text, **known}), flush=True)


def steps(path: Path) -> Iterator[dict[str, Any]]:
    """The recorded steps, their pieces joined."""
    held: dict[str, Any] | None = None
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            step = json.loads(line)
            if held is not None:
                step = {**held, "text": held["text"] + step["text"], "continued": step.get("continued")}
            held = step if step.get("continued") else None
            if held is None:
                yield step


def again(step: dict[str, Any], call: str) -> bool:
    """Run a command step; whether it ended as it had."""
    command = step["text"]
    argv = ["python3", "-c", command] if step.get("tool") == "python" else ["bash", "-c", command]
    tell("command", command, call=call, tool=step.get("tool"))
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            code: int | None = process.wait(timeout=COMMAND_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            code = None
        output.seek(0)
        said = output.read(OUTPUT_BYTES).decode(errors="replace")
    tell("result", said, call=call, exit_code=code, failed=True if code is None else None)
    recorded = step.get("exit_code", 0 if not step.get("failed") else code)
    if code != recorded:
        tell("event", f"command {call} ended with {code}; recorded was {recorded}")
    return code == recorded


def main() -> int:
    ran = differed = skipped = 0
    concluded = ""
    for step in steps(Path(__file__).with_name("steps.jsonl")):
        if step["kind"] == "command" and step.get("tool") in {*_SHELLS, "python"} and not step.get("cut"):
            ran += 1
            differed += not again(step, str(ran))
        elif step["kind"] in {"command", "edit"}:
            skipped += 1
        elif step["kind"] == "conclusion":
            concluded = step["text"]
    told = f"replayed {ran} commands, {differed} of which ended otherwise"
    tell("event", f"{told}; {skipped} steps cannot be repeated")
    if concluded and not CONCLUSION.exists():
        CONCLUSION.write_text(concluded, encoding="utf-8")
        tell("conclusion", concluded, source="the recorded conclusion")
    return 0


if __name__ == "__main__":
    sys.exit(main())
