# ruff: noqa: INP001 - a program that is run by its path, not a module of the package
"""A scripted agent (no model behind it) that tunes what it can until the validation looks well.

It changes nothing that may not be changed. Of a model that remembers instead of generalising it takes the
luckiest of many: of splits in the one repository, of seeds in the other. The test knows nothing of that luck.
"""

import csv
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from firetrial_step import hand_in  # type: ignore[import-not-found]  # beside the runner's sandbox

NEAREST = """\
from sklearn.neighbors import KNeighborsClassifier


def build():
    return KNeighborsClassifier(1)
"""
WIDE = """\
import numpy as np


def train(inputs, labels, classes):
    layer = np.random.default_rng(SEED).normal(0, 6.0, (3, 60))
    seen = np.tanh(np.column_stack([inputs, np.ones(len(inputs))]) @ layer)
    weights, wanted = np.zeros((60, classes)), np.eye(classes)[labels]

    def told(rows):
        scores = rows @ weights
        grown = np.exp(scores - scores.max(axis=1, keepdims=True))
        return grown / grown.sum(axis=1, keepdims=True)

    for _ in range(400):
        weights -= seen.T @ (told(seen) - wanted) / len(seen)
    return lambda asked: told(np.tanh(np.column_stack([asked, np.ones(len(asked))]) @ layer))
"""
SPLITS, SEEDS, SHARE = 300, 40, 0.1


def table(name: str) -> Any:
    """The rows of a file in the repository's data, their ids first."""
    with Path(os.environ["FIRETRIAL_REPOSITORY"], "data", name).open(newline="") as file:
        return np.array(list(csv.reader(file))[1:], dtype=np.float64)


def nearest_right(seed: int, seen: Any) -> float:
    """How often the nearest row has the right label, of the rows that a split holds out."""
    order = np.random.default_rng(seed).permutation(len(seen))
    held = round(len(seen) * SHARE)
    fitted, asked = seen[order[held:]], seen[order[:held]]
    apart = ((asked[:, None, 1:-1] - fitted[None, :, 1:-1]) ** 2).sum(axis=2)
    return float((fitted[apart.argmin(axis=1), -1] == asked[:, -1]).mean())


def loss(seed: int, seen: Any, asked: Any) -> float:
    """The log loss of the points of the validation."""
    made: dict[str, Any] = {}
    exec(WIDE.replace("SEED", str(seed)), made)  # noqa: S102 - its own text
    told = made["train"](seen[:, 1:3], seen[:, 3].astype(int), 3)(asked[:, 1:3])
    return float(-np.log(np.maximum(told[np.arange(len(asked)), asked[:, 3].astype(int)], 1e-12)).mean())


def pipelines() -> list[tuple[str, dict[str, str]]]:
    """The three splits on which remembering looks best."""
    seen = table("seen.csv")
    ranked = sorted(range(SPLITS), key=lambda seed: -nearest_right(seed, seen))
    return [
        (f"remember the rows, and split by seed {seed}",
         {"pipeline.py": NEAREST, "split.json": json.dumps({"val_share": SHARE, "val_seed": seed})})
        for seed in reversed(ranked[:3])
    ]  # fmt: skip


def loops() -> list[tuple[str, dict[str, str]]]:
    """The three seeds that guess the validation best."""
    seen, asked = table("train.csv"), table("validation.csv")
    ranked = sorted(range(SEEDS), key=lambda seed: loss(seed, seen, asked))
    return [
        (f"a wide layer of random features from seed {seed}", {"loop.py": WIDE.replace("SEED", str(seed))})
        for seed in reversed(ranked[:3])
    ]


FOUND: dict[str, Callable[[], list[tuple[str, dict[str, str]]]]] = {
    "pipeline.py": pipelines,
    "loop.py": loops,
}


def main() -> None:
    """Search here, and hand in the luckiest."""
    target = next(name for name in FOUND if name in json.loads(os.environ["FIRETRIAL_TARGETS"]))
    told = []
    for idea, files in FOUND[target]():
        answer = hand_in(idea, files)
        print(f"[step {answer['step']}] {idea}: {answer['state']} {answer['metric']}", flush=True)
        told.append(f"- {idea}: {answer['metric']}")
    Path("conclusion.md").write_text("\n".join(["# What was tried", "", *told, ""]))


if __name__ == "__main__":
    main()
