"""Averages over neighbours: `python3 neighbours.py POINTS.csv K NOISE` prints the error on the test rows."""

import csv
import math
import random
import sys


def points(path, part):
    with open(path, newline="", encoding="utf-8") as file:
        return [(float(row["x"]), float(row["y"])) for row in csv.DictReader(file) if row["part"] == part]


def noisy(train, noise, seed=1):
    generator = random.Random(seed)
    return [(x, y + generator.gauss(0, noise)) for x, y in train]


def average(train, x, k):
    nearest = sorted(train, key=lambda point: abs(point[0] - x))[:k]
    return sum(y for _, y in nearest) / k


def rmse(train, test, k):
    return math.sqrt(sum((average(train, x, k) - y) ** 2 for x, y in test) / len(test))


if __name__ == "__main__":
    path, k, noise = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    error = rmse(noisy(points(path, "train"), noise), points(path, "test"), k)
    print(f"weights=equal k={k} noise={noise} rmse={error:.4f}")
