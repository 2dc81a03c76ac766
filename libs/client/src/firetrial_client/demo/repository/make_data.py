# ruff: noqa: INP001 - a program that is run by its path, not a module of the package
"""The data of the two repository tasks, made from seeds: python make_data.py writes it anew, byte for byte.

`tabular_pipeline` asks whether an order is returned, by nine columns of unlike scales. What decides it is a
wave over age, two regions, and two pairs of columns that matter only together: no line through the columns
separates the classes. The rule that it was drawn by is right on 83 % of the rows of the test.

`training_loop` has points on three arms of a spiral: their angle is blurred, and every tenth label is drawn.

Rows are split by their order: the first are seen by agents, the rest are sealed.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
COLUMNS = ("age", "income", "hours", "distance", "visits", "region", "a", "b", "c")
SEEN_ORDERS, ORDERS = 500, 1400
TRAINED_POINTS, SEEN_POINTS, POINTS = 240, 300, 1000


def orders() -> list[list[object]]:
    """(features…, label) of each order."""
    draw = np.random.default_rng(2024)
    age = draw.integers(18, 80, 1500)
    income = np.exp(draw.normal(10, 0.8, 1500))
    hours, distance = draw.normal(38, 9, 1500), draw.exponential(12, 1500)
    visits, region = draw.poisson(4, 1500), draw.integers(0, 5, 1500)
    more = draw.normal(0, 1, (1500, 3))
    score = 0.9 * np.sin(age / 9) + 0.8 * ((region == 2) | (region == 4))
    score += -0.7 * (np.log(income) - 10) * np.where(visits > 4, 1, -1)
    score += 1.2 * more[:, 0] * more[:, 1] - 0.25 * (distance > 15)
    returned = draw.random(1500) < 1 / (1 + np.exp(-2.2 * (score - 0.2)))
    return [
        [int(age[n]), round(float(income[n]), 2), round(float(hours[n]), 1), round(float(distance[n]), 2),
         int(visits[n]), int(region[n]), *(round(float(value), 3) for value in more[n]), int(returned[n])]
        for n in range(ORDERS)
    ]  # fmt: skip


def points() -> list[list[object]]:
    """(x, y, arm) of each point."""
    draw = np.random.default_rng(7)
    arm, along = draw.integers(0, 3, POINTS), draw.random(POINTS)
    angle = along * 3.2 + arm * 2 * np.pi / 3 + draw.normal(0, 0.5, POINTS)
    x, y = along * np.cos(angle), along * np.sin(angle)
    told = np.where(draw.random(POINTS) < 0.1, draw.integers(0, 3, POINTS), arm)
    return [[round(float(x[n]), 4), round(float(y[n]), 4), int(told[n])] for n in range(POINTS)]


def write(path: Path, head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """A CSV whose rows are numbered."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["id", *head])
        writer.writerows([n, *row] for n, row in enumerate(rows))


def split(
    task: str, head: Sequence[str], rows: list[list[object]], seen: Sequence[tuple[str, int, int]]
) -> None:
    """Seen rows with their labels; those behind them without, and their labels apart."""
    source, sealed = HERE / task / "source" / "data", HERE / task / "sealed"
    for name, first, last in seen:
        write(source / name, [*head, "label"], rows[first:last])
    unseen = rows[seen[-1][2] :]
    write(sealed / "files" / "data" / "unseen.csv", head, [row[:-1] for row in unseen])
    write(sealed / "score" / "data" / "labels.csv", ["label"], [row[-1:] for row in unseen])


def main() -> None:
    """Write all files."""
    split("tabular_pipeline", COLUMNS, orders(), [("seen.csv", 0, SEEN_ORDERS)])
    trained = [("train.csv", 0, TRAINED_POINTS), ("validation.csv", TRAINED_POINTS, SEEN_POINTS)]
    split("training_loop", ("x", "y"), points(), trained)


if __name__ == "__main__":
    main()
