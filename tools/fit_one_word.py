"""Fit the weights of verdicts in one word on labelled pairs that the model is asked about.

    python tools/local_model.py run .venv/bin/python tools/fit_one_word.py PAIRS.jsonl

Prints the two regressions for firetrial_judge/one_word.py, and how right they are on each fifth of the
premises when they are fitted on the other four. How right they are on pairs that nothing was fitted on is for
`firetrial judge calibrate` to tell.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from firetrial_judge.offline import load
from firetrial_judge.one_word import WORDS, Examined, OneWord, features
from firetrial_kit.models import Endpoint, ModelClient

_RIDGE = 1.0  # keeps weights small where the pairs are few; the bias is left free
_FOLDS = 5
_NEWTON = 50  # steps; it is done after ten

Table = NDArray[np.float64]


async def table(one_word: OneWord, all_examined: Sequence[Examined]) -> Table:
    """Shape (pairs, features)."""
    environ = os.environ
    url, name = environ["FIRETRIAL_JUDGE_MODEL_URL"], environ["FIRETRIAL_JUDGE_MODEL_NAME"]
    client = ModelClient(Endpoint(url, name, timeout=3600, patience=3600))
    rows = []
    for examined in all_examined:
        choice = await client.choose(one_word.messages(examined), WORDS)
        rows.append(features(choice.chances, examined.offline.verdict))
        print(f"{len(rows)} of {len(all_examined)} pairs", end="\r", file=sys.stderr)
    await client.aclose()
    return np.array(rows)


def fitted(rows: Table, wanted: Table) -> Table:
    """The weights of a logistic regression with a ridge, by Newton's method."""
    weights = np.zeros(rows.shape[1])
    ridge = np.diag([1e-3] + [_RIDGE] * (rows.shape[1] - 1))
    for _ in range(_NEWTON):
        chance = 1 / (1 + np.exp(-rows @ weights))
        slope = rows.T @ (chance - wanted) + ridge @ weights
        weights -= np.linalg.solve((rows.T * (chance * (1 - chance))) @ rows + ridge, slope)
    return weights


def crossed(rows: Table, wanted: Table, folds: NDArray[np.int64]) -> float:
    """The share that is right when each fold is decided by the others."""
    right = 0
    for fold in range(_FOLDS):
        out = folds == fold
        right += int((((rows[out] @ fitted(rows[~out], wanted[~out])) > 0) == wanted[out]).sum())
    return right / len(rows)


def main(file: str) -> None:
    pairs: list[dict[str, Any]] = [json.loads(line) for line in Path(file).read_text().splitlines()]
    one_word = OneWord(load().judge)
    examined = one_word.examine([(pair["id"], pair["hypothesis"], pair["premise"]) for pair in pairs])
    # Where no sentence is near, the judge asks nothing.
    pairs = [pair for pair, one in zip(pairs, examined, strict=True) if one.passage]
    rows = asyncio.run(table(one_word, [one for one in examined if one.passage]))
    labels = np.array([pair["label"] for pair in pairs])
    premises = sorted({pair["premise"] for pair in pairs})
    folds = np.array([premises.index(pair["premise"]) % _FOLDS for pair in pairs])
    rest = labels != "entailed"
    for name, some, label in (
        ("ENTAILMENT", rest | ~rest, "entailed"),
        ("CONTRADICTION", rest, "contradiction"),
    ):
        wanted = (labels[some] == label).astype(float)
        weights = ", ".join(f"{w:.2f}" for w in fitted(rows[some], wanted))
        print(f"{name} = ({weights})  # crossed: {crossed(rows[some], wanted, folds[some]):.3f} right")


if __name__ == "__main__":
    main(*sys.argv[1:])
