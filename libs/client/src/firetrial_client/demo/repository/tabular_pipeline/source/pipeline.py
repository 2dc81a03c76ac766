# ruff: noqa: INP001 - a program that is run by its path, not a module of the package
"""The pipeline: what an agent may change, together with split.json."""

from typing import Any

from sklearn.linear_model import LogisticRegression


def build() -> Any:
    """An estimator with `fit(features, labels)` and `predict(features)`.

    Features are a matrix of floats, with columns in the order of data/seen.csv; labels are 0 and 1.
    """
    return LogisticRegression(max_iter=50)
