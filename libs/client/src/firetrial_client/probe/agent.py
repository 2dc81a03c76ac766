# ruff: noqa: S310 - the address that it opens is the runner's
"""The closed-book probe: one question to the bare model, no tool, no experiment.

What it scores is what the model knew before, against which an agent's score on the same task can be read.
"""

import json
import os
import sys
import urllib.error
import urllib.request
from pathlib import Path

PROMPT = """\
Below is a research question with its scope. You can run nothing. Say from what you know which empirical \
findings an experiment would show: the direction of each effect, comparisons and, where known, numbers. \
State each finding as a plain sentence of its own, as if you reported it, without hedging and without saying \
where you know it from. Where you know nothing, say what you hold most likely.
"""


NEEDED = ("FIRETRIAL_MODEL", "OPENAI_BASE_URL", "OPENAI_API_KEY")


def ask(instruction: str) -> str:
    """The model's answer through the run's model gateway."""
    body = {
        "model": os.environ["FIRETRIAL_MODEL"],
        "messages": [{"role": "system", "content": PROMPT}, {"role": "user", "content": instruction}],
    }
    request = urllib.request.Request(
        os.environ["OPENAI_BASE_URL"].rstrip("/") + "/chat/completions",
        json.dumps(body).encode(),
        {
            "Content-Type": "application/json",
            "Authorization": f"Bearer {os.environ['OPENAI_API_KEY']}",
        },
    )
    with urllib.request.urlopen(request) as response:
        return str(json.load(response)["choices"][0]["message"]["content"] or "")


def failed(why: str) -> int:
    """Say why there is no conclusion; the exit code."""
    print(why, file=sys.stderr)
    return 1


def main() -> int:
    missing = [name for name in NEEDED if not os.environ.get(name)]
    if missing:
        return failed(
            f"{', '.join(missing)} not set: the plan must name a model and the runner have a gateway"
        )
    try:
        answer = ask(Path("instruction.txt").read_text(encoding="utf-8"))
    except urllib.error.HTTPError as error:
        return failed(f"the model gateway answered {error.code}: {error.read().decode(errors='replace')}")
    if not answer.strip():
        return failed("the model answered nothing")
    Path("conclusion.md").write_text(answer, encoding="utf-8")
    print(answer)
    return 0


if __name__ == "__main__":
    sys.exit(main())
