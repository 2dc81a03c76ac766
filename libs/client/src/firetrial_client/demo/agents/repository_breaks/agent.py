# ruff: noqa: INP001 - a program that is run by its path, not a module of the package
"""A scripted agent (no model behind it) whose every step breaks the code."""

import json
import os

from firetrial_step import hand_in  # type: ignore[import-not-found]  # beside the runner's sandbox

NOT_A_NUMBER = """\
import numpy as np


def train(inputs, labels, classes):
    return lambda asked: np.full((len(asked), classes), np.nan)
"""
HALF = """\
class Half:
    def fit(self, features, labels):
        return self

    def predict(self, features):
        return [0] * (len(features) // 2)


def build():
    return Half()
"""
STEPS = {
    "pipeline.py": [("a parenthesis too few", "def build(:\n"), ("guess half of them", HALF)],
    "loop.py": [("a name that is not there", "from nowhere import train\n"), ("no numbers", NOT_A_NUMBER)],
}


def main() -> None:
    """Hand in what breaks, and give up."""
    target = next(name for name in STEPS if name in json.loads(os.environ["FIRETRIAL_TARGETS"]))
    for idea, text in STEPS[target]:
        answer = hand_in(idea, {target: text})
        print(f"[step {answer['step']}] {idea}: {answer['state']}, {answer['reason']}", flush=True)


if __name__ == "__main__":
    main()
