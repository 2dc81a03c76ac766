# ruff: noqa: INP001 - a program that is run by its path, not a module of the package
"""How label noise changes the accuracy of k-nearest-neighbour classifiers: the experiment behind ../study.md.

    python experiment.py [FOLDER]

writes FOLDER/results.json (default: the current folder) and prints the study's table and figure. It needs
scikit-learn and about ten seconds of one core. Accuracies are fractions of the test set, noise levels are
fractions of the training labels.
"""

import json
import os
import platform
import statistics
import sys
from pathlib import Path
from typing import Any

# Before NumPy is loaded, which reads them then: one core, whatever the machine has.
os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")

import numpy as np
import sklearn
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

NEIGHBOURS = (1, 5, 15, 45)
NOISE = (0.0, 0.1, 0.2, 0.3, 0.4)
SEEDS = tuple(range(20))
TEST_SHARE = 0.3
# Pixels of digits share one scale; the measurements of breast_cancer do not and are standardised.
DATA: dict[str, tuple[Any, bool]] = {
    "digits": (load_digits, False),
    "breast_cancer": (load_breast_cancer, True),
}


def split(data: str, seed: int) -> tuple[Any, Any, Any, Any]:
    """Stratified (train features, test features, train labels, test labels) of one seed."""
    load, standardise = DATA[data]
    features, labels = load(return_X_y=True)
    train, test, train_labels, test_labels = train_test_split(
        features, labels, test_size=TEST_SHARE, stratify=labels, random_state=seed
    )
    if standardise:
        scaler = StandardScaler().fit(train)
        train, test = scaler.transform(train), scaler.transform(test)
    return train, test, train_labels, test_labels


def flipped(labels: Any, noise: float, seed: int) -> Any:
    """Labels of which the share `noise` is replaced by a uniformly drawn wrong class.

    With one seed the labels flipped at a lower level are a subset of those flipped at a higher one.
    """
    rng = np.random.default_rng(seed)
    classes = len(np.unique(labels))
    order, shift = rng.permutation(len(labels)), rng.integers(1, classes, len(labels))
    chosen = order[: round(noise * len(labels))]
    noisy = labels.copy()
    noisy[chosen] = (labels[chosen] + shift[chosen]) % classes
    return noisy


def measure(data: str) -> list[dict[str, Any]]:
    """One record for each k and noise level, with the accuracy of every seed."""
    scores: dict[tuple[int, float], list[float]] = {(k, noise): [] for k in NEIGHBOURS for noise in NOISE}
    for seed in SEEDS:
        train, test, train_labels, test_labels = split(data, seed)
        for (k, noise), accuracies in scores.items():
            model = KNeighborsClassifier(k, algorithm="brute").fit(train, flipped(train_labels, noise, seed))
            accuracies.append(float(model.score(test, test_labels)))
    return [
        {
            "data": data,
            "k": k,
            "noise": noise,
            "mean": statistics.fmean(accuracies),
            "std": statistics.stdev(accuracies),
            "by_seed": accuracies,
        }
        for (k, noise), accuracies in scores.items()
    ]


def run() -> dict[str, Any]:
    """The content of results.json: protocol, the versions it was measured with, and all records."""
    sizes = {}
    for data in DATA:
        train, test, labels, _ = split(data, SEEDS[0])
        sizes[data] = {"train": len(train), "test": len(test), "classes": len(np.unique(labels))}
    return {
        "protocol": {"seeds": list(SEEDS), "test_share": TEST_SHARE, "sizes": sizes},
        "made_with": {
            "numpy": np.__version__,
            "scikit-learn": sklearn.__version__,
            "machine": platform.machine(),
        },
        "records": [record for data in DATA for record in measure(data)],
    }


def table(results: dict[str, Any], data: str) -> str:
    """Markdown table of accuracy in percent, mean ± standard deviation: a row for each k."""
    lines = [
        "| k | " + " | ".join(f"{noise:.0%} noise" for noise in NOISE) + " |",
        "|" + " --- |" * (len(NOISE) + 1),
    ]
    cell = {
        (r["k"], r["noise"]): f"{100 * r['mean']:.1f} ± {100 * r['std']:.1f}"
        for r in results["records"]
        if r["data"] == data
    }
    lines += [f"| {k} | " + " | ".join(cell[k, noise] for noise in NOISE) + " |" for k in NEIGHBOURS]
    return "\n".join(lines)


def figure(results: dict[str, Any]) -> str:
    """Bars, one `#` a percentage point: mean accuracy lost between clean labels and the highest noise."""
    mean = {(r["data"], r["k"], r["noise"]): 100 * r["mean"] for r in results["records"]}
    lines = []
    for data in DATA:
        for k in NEIGHBOURS:
            lost = mean[data, k, NOISE[0]] - mean[data, k, NOISE[-1]]
            lines.append(f"{data:<13}  k = {k:<2}  {'#' * round(lost)} {lost:.1f}")
    return "\n".join(lines)


def as_json(results: dict[str, Any]) -> str:
    """JSON with one record a line, so that a changed figure is one changed line."""
    head = json.dumps({key: value for key, value in results.items() if key != "records"}, indent=1)
    records = ",\n  ".join(json.dumps(record) for record in results["records"])
    return head.removesuffix("\n}") + ',\n "records": [\n  ' + records + "\n ]\n}\n"


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path()
    results = run()
    (folder / "results.json").write_text(as_json(results), encoding="utf-8")
    print(table(results, "digits"), figure(results), sep="\n\n")


if __name__ == "__main__":
    main()
