# ruff: noqa: INP001 - a program that is run by its path, not a module of the package
"""Train on data/train.csv and write the probabilities of the classes to probabilities.csv, a row an input.

    python3 predict.py           of the points of data/validation.csv
    python3 predict.py --test    of those of data/unseen.csv

What an agent changed runs here, where no result is made.
"""

import csv
import os
import sys
from pathlib import Path

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")  # one core, whatever the machine has

import numpy as np

CLASSES = 3


def table(name: str) -> np.ndarray:
    """The rows of a file in data/, their ids first."""
    with Path("data", name).open(newline="") as file:
        return np.array(list(csv.reader(file))[1:], dtype=np.float64)


def main() -> None:
    """Train, guess, write."""
    from loop import train  # type: ignore[import-not-found]  # noqa: PLC0415 - beside it, where it runs

    seen = table("train.csv")
    asked = table("unseen.csv" if "--test" in sys.argv else "validation.csv")
    found = train(seen[:, 1:3], seen[:, 3].astype(np.int64), CLASSES)(asked[:, 1:3])
    with Path("probabilities.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerows([int(id_), *map(float, row)] for id_, row in zip(asked[:, 0], found, strict=True))


if __name__ == "__main__":
    main()
