# ruff: noqa: INP001 - a program that is run by its path, not a module of the package
"""Fit the pipeline and write its guesses to guesses.csv, as lines of id and label.

    python3 predict.py           fits some rows of data/seen.csv and guesses the others, as split.json has it
    python3 predict.py --test    fits all rows of data/seen.csv and guesses those of data/unseen.csv

What an agent changed runs here, where no result is made.
"""

import csv
import json
import os
import sys
import warnings
from pathlib import Path

# Before NumPy is loaded, which reads them then: one core, whatever the machine has.
os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")

import numpy as np

warnings.simplefilter("ignore")  # of a solver that is not done


def table(name: str) -> np.ndarray:
    """The rows of a file in data/, their ids first."""
    with Path("data", name).open(newline="") as file:
        return np.array(list(csv.reader(file))[1:], dtype=np.float64)


def parts(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows to fit and rows to guess."""
    if "--test" in sys.argv:
        return rows, table("unseen.csv")
    told = json.loads(Path("split.json").read_text())
    order = np.random.default_rng(int(told["val_seed"])).permutation(len(rows))
    held = round(len(rows) * float(told["val_share"]))
    return rows[order[held:]], rows[order[:held], :-1]


def main() -> None:
    """Fit, guess, write."""
    from pipeline import build  # type: ignore[import-not-found]  # noqa: PLC0415 - beside it, where it runs

    seen, asked = parts(table("seen.csv"))
    guesses = build().fit(seen[:, 1:-1], seen[:, -1]).predict(asked[:, 1:])
    with Path("guesses.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerows((int(id_), int(guess)) for id_, guess in zip(asked[:, 0], guesses, strict=True))


if __name__ == "__main__":
    main()
