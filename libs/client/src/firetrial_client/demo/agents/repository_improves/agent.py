# ruff: noqa: INP001 - a program that is run by its path, not a module of the package
"""A scripted agent (no model behind it) that improves either of the demo's repositories, a step at a time."""

import json
import os
from pathlib import Path

from firetrial_step import hand_in  # type: ignore[import-not-found]  # beside the runner's sandbox

SCALED = """\
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler


def build():
    return make_pipeline(StandardScaler(), LogisticRegression())
"""
FOREST = """\
from sklearn.ensemble import ExtraTreesClassifier


def build():
    return ExtraTreesClassifier(200, min_samples_leaf=3, random_state=0)
"""
BOOSTED = """\
from sklearn.ensemble import GradientBoostingClassifier


def build():
    return GradientBoostingClassifier(n_estimators=150, max_depth=3, random_state=0)
"""
LONGER = """\
import numpy as np


def train(inputs, labels, classes):
    weights, wanted = np.zeros((3, classes)), np.eye(classes)[labels]
    seen = np.column_stack([inputs, np.ones(len(inputs))])

    def told(rows):
        grown = np.exp(rows @ weights)
        return grown / grown.sum(axis=1, keepdims=True)

    for _ in range(2000):
        weights -= 0.5 * seen.T @ (told(seen) - wanted) / len(seen)
    return lambda asked: told(np.column_stack([asked, np.ones(len(asked))]))
"""
HIDDEN = """\
import numpy as np


def train(inputs, labels, classes):
    draw, width, rate, keep, decay = np.random.default_rng(0), 32, 0.3, 0.9, 2e-3
    first, second = draw.normal(0, 2.0, (3, width)), draw.normal(0, 0.3, (width + 1, classes))
    pace = [np.zeros_like(first), np.zeros_like(second)]
    seen, wanted = np.column_stack([inputs, np.ones(len(inputs))]), np.eye(classes)[labels]

    def forward(rows):
        hidden = np.column_stack([np.tanh(rows @ first), np.ones(len(rows))])
        scores = hidden @ second
        grown = np.exp(scores - scores.max(axis=1, keepdims=True))
        return hidden, grown / grown.sum(axis=1, keepdims=True)

    for _ in range(500):
        hidden, told = forward(seen)
        error = (told - wanted) / len(seen)
        back = (error @ second[:-1].T) * (1 - hidden[:, :-1] ** 2)
        for which, (part, slope) in enumerate(((first, seen.T @ back), (second, hidden.T @ error))):
            pace[which] = keep * pace[which] - rate * (slope + decay * part)
            part += pace[which]
    return lambda asked: forward(np.column_stack([asked, np.ones(len(asked))]))[1]
"""
STEPS = {
    "pipeline.py": [
        ("bring the columns to one scale", SCALED),
        ("trees, which need no scale and see pairs of columns", FOREST),
        ("boosted trees", BOOSTED),
    ],
    "loop.py": [
        ("train longer", LONGER),
        ("a hidden layer, momentum and weight decay", HIDDEN),
    ],
}


def main() -> None:
    """Hand in the steps of this repository, and conclude."""
    target = next(name for name in STEPS if name in json.loads(os.environ["FIRETRIAL_TARGETS"]))
    told = []
    for idea, text in STEPS[target]:
        answer = hand_in(idea, {target: text})
        print(f"[step {answer['step']}] {idea}: {answer['state']} {answer['metric']}", flush=True)
        told.append(f"- {idea}: {answer['metric']}")
    Path("conclusion.md").write_text("\n".join(["# What was tried", "", *told, ""]))


if __name__ == "__main__":
    main()
