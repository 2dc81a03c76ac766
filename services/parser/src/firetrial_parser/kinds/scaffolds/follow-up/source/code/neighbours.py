"""Averages over neighbours: `python3 neighbours.py POINTS.csv K NOISE` prints the error on the test rows."""

import csv
import math
import random
import sys
from pathlib import Path

Points = list[tuple[float, float]]


def points(path: str, part: str) -> Points:
    with Path(path).open(newline="", encoding="utf-8") as file:
        return [(float(row["x"]), float(row["y"])) for row in csv.DictReader(file) if row["part"] == part]


def noisy(train: Points, noise: float, seed: int = 1) -> Points:
    generator = random.Random(seed)
    return [(x, y + generator.gauss(0, noise)) for x, y in train]


def average(train: Points, x: float, k: int) -> float:
    nearest = sorted(train, key=lambda point: abs(point[0] - x))[:k]
    return sum(y for _, y in nearest) / k


def rmse(train: Points, test: Points, k: int) -> float:
    return math.sqrt(sum((average(train, x, k) - y) ** 2 for x, y in test) / len(test))


if __name__ == "__main__":
    path, k, noise = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    error = rmse(noisy(points(path, "train"), noise), points(path, "test"), k)
    print(f"weights=equal k={k} noise={noise} rmse={error:.4f}")
