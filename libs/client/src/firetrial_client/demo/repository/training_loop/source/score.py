# ruff: noqa: INP001 - a program that is run by its path, not a module of the package
"""Hold probabilities.csv against the labels and write the mean log loss to results.json.

Nothing that an agent changed runs here; its probabilities are data of a stranger. In the test the labels are
those of data/labels.csv, else those of data/validation.csv; each row must be there once.
"""

import csv
import json
import math
from pathlib import Path

CLASSES = 3
LEAST = 1e-12


def rows(path: Path) -> dict[int, list[float]]:
    """Id → the numbers behind it."""
    with path.open(newline="") as file:
        found = [row for row in csv.reader(file) if row and row[0] != "id"]
    told = {int(row[0]): [float(cell) for cell in row[1:]] for row in found}
    if len(told) != len(found):
        raise SystemExit(f"{path} has an id twice")
    return told


def loss(given: list[float], label: int) -> float:
    """-log of the probability of the right class."""
    if len(given) != CLASSES or min(given) < 0 or not math.isclose(sum(given), 1, abs_tol=1e-6):
        raise SystemExit(f"{given} are no probabilities of {CLASSES} classes")
    return -math.log(max(given[label], LEAST))


test = Path("data/labels.csv")
labels = {
    id_: int(row[-1]) for id_, row in rows(test if test.exists() else Path("data/validation.csv")).items()
}
given = rows(Path("probabilities.csv"))
if given.keys() != labels.keys():
    raise SystemExit(f"{len(given)} rows for {len(labels)} points")
mean = sum(loss(given[id_], label) for id_, label in labels.items()) / len(labels)
Path("results.json").write_text(json.dumps({"spiral": {"means": {"log_loss_mean": mean}}}))
