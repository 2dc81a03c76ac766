"""A long trajectory, made up, in the chunks that the runner stores."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Iterator

_WORDS = (
    "accuracy",
    "epoch",
    "model",
    "layer",
    "noise",
    "batch",
    "evaluating",
    "dataset",
    "seed",
    "neighbour",
)
_CHUNK = 1_000_000


def chunks(steps: int) -> dict[str, bytes]:
    """Key → gzipped JSON lines of about 100 characters of text.

    Each ninth step is a command, half of which fail; each 50,000th is a line of 200,000 characters.
    """
    found: dict[str, bytes] = {}
    rows: list[str] = []
    first = size = 0
    for number, row in enumerate(_rows(steps), start=1):
        first = first if rows else number
        rows.append(row)
        size += len(row)
        if size > _CHUNK or number == steps:
            name = f"runs/r-1/trajectory/{first:010d}.jsonl.gz"
            found[name] = gzip.compress("\n".join(rows).encode(), 1)
            rows, size = [], 0
    return found


def _rows(steps: int) -> Iterator[str]:
    chance = random.Random(1)  # noqa: S311 - made-up data
    for number in range(1, steps + 1):
        told: dict[str, object] = {"step": number, "offset_s": round(number * 0.09, 3)}
        if number % 9 == 0:
            told |= {"kind": "command", "exit_code": number % 2, "text": f"python run.py --seed {number % 7}"}
        else:
            told |= {"kind": "output", "stream": "stderr" if number % 13 == 0 else "stdout"}
            words = " ".join(chance.choices(_WORDS, k=12))
            line = f"[{number:06d}] {words} {chance.random():.6f}"
            told["text"] = "x" * 200_000 if number % 50_000 == 0 else line
        yield json.dumps(told)
