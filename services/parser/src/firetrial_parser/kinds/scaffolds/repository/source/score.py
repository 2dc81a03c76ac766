"""Compare guesses.csv with data/labels.csv and write the mean absolute error to results.json.

It runs in a sandbox that nothing of an agent has been in, and takes the guesses as data of a stranger.
"""

import json
import math
from pathlib import Path


def numbers(path: Path) -> list[float]:
    """A finite number a line."""
    found = [float(line) for line in path.read_text().split()]
    if not all(map(math.isfinite, found)):
        raise SystemExit(f"{path} holds what is no finite number")
    return found


guesses, labels = numbers(Path("guesses.csv")), numbers(Path("data/labels.csv"))
if len(guesses) != len(labels):
    raise SystemExit(f"{len(guesses)} guesses for {len(labels)} labels")
error = sum(abs(guess - label) for guess, label in zip(guesses, labels, strict=True)) / len(labels)
Path("results.json").write_text(json.dumps({"numbers": {"means": {"error_mean": error}}}))
