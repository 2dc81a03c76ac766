"""The whole path once with a model that really generates: an agent's conclusion, its claims, their verdicts.

    python tools/local_model.py run .venv/bin/python tools/local_pipeline.py OUT

Starts a Firetrial whose gateway and judge ask the model that the environment names, runs the agent of
local_study on its paper, and tells what came out of it. The report is left in OUT.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

STUDY = Path(__file__).with_name("local_study")
FIRETRIAL = str(Path(sys.executable).with_name("firetrial"))
_GATEWAY = """\
[upstreams.local]
url = "{url}"
dialect = "openai"
models = ["{name}"]
limit_field = "max_tokens"
"""
# A small model on a busy machine is slow: every limit is one that only a hang would meet.
_JUDGE = {
    "FIRETRIAL_JUDGE_MODEL_TIMEOUT": "3600",
    "FIRETRIAL_JUDGE_MODEL_PATIENCE": "7200",
    "FIRETRIAL_JUDGE_MODEL_AT_ONCE": "1",
    "FIRETRIAL_JUDGE_MODEL_VERDICTS": "one-word",
}


def main(out: str) -> int:
    url, name = os.environ["FIRETRIAL_JUDGE_MODEL_URL"], os.environ["FIRETRIAL_JUDGE_MODEL_NAME"]
    with tempfile.TemporaryDirectory() as home:
        gateway = Path(home) / "gateway.toml"
        gateway.write_text(_GATEWAY.format(url=url, name=name))
        environ = {
            **os.environ,
            **_JUDGE,
            "FIRETRIAL_HOME": home,
            "FIRETRIAL_RUNNER_GATEWAY": str(gateway),
        }
        _firetrial(environ, "up", "--detach")
        try:
            return _studied(environ, name, out)
        finally:
            _firetrial(environ, "down")


def _studied(environ: Mapping[str, str], name: str, out: str) -> int:
    begun = time.monotonic()
    paper, agent = str(STUDY / "study.md"), str(STUDY / "agent")
    options = ["--judge", "model", "--model", name, "--wall-time", "1h", "--out", out]
    told = json.loads(_firetrial(environ, "run", "--paper", paper, "--agent", agent, *options, "--json"))
    print(Path(told["files"]["md"]).read_text())
    print(f"{time.monotonic() - begun:.0f} s from the paper to the report: {told['files']['html']}")
    return 0 if told["scored"] else 1


def _firetrial(environ: Mapping[str, str], *words: str) -> str:
    done = subprocess.run([FIRETRIAL, *words], env=environ, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"firetrial {words[0]} ended with {done.returncode}: {done.stdout}")
    return done.stdout


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
