# ruff: noqa: INP001 - a program that is run by its path, not a module of the package
"""Compare guesses.csv with labels and write the share that is right to results.json.

Nothing that an agent changed runs here; its guesses are data of a stranger. In the test the labels are those
of data/labels.csv, and each of its rows must be guessed; else they are those of data/seen.csv, and enough of
them must be guessed for a share to say something.
"""

import csv
import json
from pathlib import Path

FEWEST = 50


def numbers(path: Path) -> dict[int, int]:
    """Id → label, the first and the last of a line's numbers."""
    with path.open(newline="") as file:
        rows = [row for row in csv.reader(file) if row and row[0] != "id"]
    found = {int(row[0]): int(row[-1]) for row in rows}
    if len(found) != len(rows):
        raise SystemExit(f"{path} has an id twice")
    return found


test = Path("data/labels.csv")
labels = numbers(test if test.exists() else Path("data/seen.csv"))
guesses = numbers(Path("guesses.csv"))
if not guesses.keys() <= labels.keys() or len(guesses) < (len(labels) if test.exists() else FEWEST):
    raise SystemExit(f"{len(guesses)} guesses are not what is asked for")
right = sum(labels[id_] == guess for id_, guess in guesses.items()) / len(guesses)
Path("results.json").write_text(json.dumps({"orders": {"means": {"accuracy_mean": right}}}))
