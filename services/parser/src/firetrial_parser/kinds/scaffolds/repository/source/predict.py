"""Fit the model to data/train.csv and write a guess for each line of data/inputs.csv to guesses.csv.

It runs what an agent changed, so it sees no label that counts and writes no result.
"""

import csv
from pathlib import Path

from model import Model  # type: ignore[import-not-found]  # beside it, where it runs


def column(name: str, number: int) -> list[float]:
    """The numbers of a column of a file in data/."""
    with Path("data", name).open(newline="") as file:
        return [float(row[number]) for row in csv.reader(file)]


model = Model()
model.fit(column("train.csv", 0), column("train.csv", 1))
guesses = [f"{model.guess(number)}\n" for number in column("inputs.csv", 0)]
Path("guesses.csv").write_text("".join(guesses))
