"""A small repository task, once with its score made apart and once in one process, and its sealed parts."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from support.tars import tarred

BASELINE = "def predict(xs):\n    return [0.0 for _ in xs]\n"
BETTER = "def predict(xs):\n    return [1.5 * x for x in xs]\n"
BEST = "def predict(xs):\n    return [2.0 * x for x in xs]\n"
BROKEN = "def predict(xs):\n    raise RuntimeError('no such layer')\n"
OVERFIT = "def predict(xs):\n    return [2.0 * x if x > 0 else 0.0 for x in xs]\n"

_PREDICT = """\
import json
import model
xs = json.load(open("data/inputs.json"))
json.dump(list(model.predict(xs)), open("predictions.json", "w"))
"""
_SCORE = """\
import json
ys = json.load(open("data/labels.json"))
found = [float(x) for x in json.load(open("predictions.json"))]
assert len(found) == len(ys)
error = sum(abs(y - x) for x, y in zip(found, ys)) / len(ys)
json.dump({"line": {"means": {"mae_mean": error}}}, open("results.json", "w"))
"""
_WHOLE = """\
import json
import model
xs, ys = (json.load(open(f"data/{name}.json")) for name in ("inputs", "labels"))
error = sum(abs(y - x) for x, y in zip(model.predict(xs), ys)) / len(ys)
json.dump({"line": {"means": {"mae_mean": error}}}, open("results.json", "w"))
"""
SPLIT = {"val_ratio": 0.5, "val_seed": 42}
_VALIDATION, _TEST = [1.0, 2.0, 3.0], [-10.0, -20.0, -30.0]


def _data(xs: list[float]) -> dict[str, bytes]:
    told = {"inputs": xs, "labels": [2 * x for x in xs]}
    return {f"data/{name}.json": json.dumps(values).encode() for name, values in told.items()}


@dataclass(frozen=True, slots=True)
class Made:
    """A task's parts: a tar of its source, its specification, and tars of the sealed files."""

    source: bytes
    spec: dict[str, Any]
    sealed: bytes
    score_sealed: bytes | None
    test: dict[str, Any]


def made(*, apart: bool = True, **spec: Any) -> Made:
    """A line to be fitted by `model.py`: mae 4 as it stands by validation and 40 by test, 0 at best."""
    data, test = _data(_VALIDATION), _data(_TEST)
    code = {"predict.py": _PREDICT, "score.py": _SCORE} if apart else {"evaluate.py": _WHOLE}
    files = {**{name: text.encode() for name, text in code.items()}, **data}
    files |= {
        "model.py": BASELINE.encode(),
        "split.json": json.dumps(SPLIT).encode(),
        "lib/nets.py": b"N = 1\n",
    }
    commands: dict[str, Any] = {"validation_command": ["python3", "evaluate.py"]}
    sealed: dict[str, Any] = {"command": ["python3", "evaluate.py"]}
    if apart:
        two = {"score_command": ["python3", "score.py"], "outputs": ["predictions.json"]}
        commands = {"validation_command": ["python3", "predict.py"], **two}
        sealed = {"command": ["python3", "predict.py"], **two}
    told = {
        "target_files": ["model.py", "split.json"],
        **commands,
        "metric": {
            "key": "mae_mean", "datasets": ["line"], "direction": "DIRECTION_LOWER", "best": 0,
            "results_file": "results.json",
        },
        "baseline_validation": 4.0,
        "baseline_test": 40.0,
        "split": {
            "file": "split.json",
            "fields": [
                {"name": "val_ratio", "default": 0.5, "least": 0.05, "most": 0.9},
                {"name": "val_seed", "default": 42, "least": 0, "most": 1000, "whole": True},
            ],
        },
        "max_steps": 20,
        "step_time": "30s",
        "has_test": True,
        **spec,
    }  # fmt: skip
    inputs, labels = ([(name, test[name])] for name in ("data/inputs.json", "data/labels.json"))
    first = inputs if apart else [*inputs, *labels]
    return Made(
        source=tarred(*files.items()),
        spec=told,
        sealed=tarred(*first),
        score_sealed=tarred(*labels) if apart else None,
        test={**sealed, "results_file": "results.json", "time": "30s"},
    )
