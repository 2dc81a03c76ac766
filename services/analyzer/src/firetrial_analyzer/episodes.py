"""Runs for those who train agents on them: (task, trajectory, reward), as JSON lines or Parquet.

One episode is `firetrial.episodes/1`: FIELDS, and `steps` as docs/trajectory.md describes them. `reward` is
the run's score, F1 in [0, 1] for rediscovery; a failed agent earns 0, and a run that does not count is no
episode. At most MAX_STEPS_BYTES of a trajectory go in; `steps_complete` says whether that is all of it.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from firetrial_analyzer.outcomes import Outcome
from firetrial_analyzer.report import Task
from firetrial_analyzer.trajectory import unpacked

SCHEMA = "firetrial.episodes/1"
MAX_STEPS_BYTES = 64 * 1024 * 1024
# Key → the bytes of a chunk.
Load = Callable[[str], Awaitable[bytes]]

_STEP: dict[str, pl.DataType] = {
    "step": pl.Int32(), "offset_s": pl.Float64(), "kind": pl.String(), "stream": pl.String(),
    "text": pl.String(), "tool": pl.String(), "call": pl.String(), "exit_code": pl.Int32(),
    "failed": pl.Boolean(), "path": pl.String(), "change": pl.String(), "continued": pl.Boolean(),
}  # fmt: skip
FIELDS: dict[str, pl.DataType] = {
    "schema": pl.String(), "run_id": pl.String(), "experiment": pl.String(), "task": pl.String(),
    "question": pl.String(), "instruction": pl.String(), "agent": pl.String(), "model": pl.String(),
    "repeat": pl.Int32(), "provenance": pl.String(), "outcome": pl.String(), "reward": pl.Float64(),
    "precision": pl.Float64(), "recall": pl.Float64(), "judge_config": pl.String(),
    "steps_complete": pl.Boolean(),
}  # fmt: skip
_COLUMNS: dict[str, pl.DataType] = FIELDS | {"steps": pl.List(pl.Struct(_STEP))}


def rewarded(ended: pl.DataFrame) -> list[dict[str, Any]]:
    """The runs that count, as the fields of their episodes that rows tell; ordered by slot."""
    reward = (
        pl.when(pl.col("outcome") == Outcome.AGENT_FAILED.value)
        .then(0.0)
        .otherwise(pl.coalesce("score", "f1"))
    )
    told = ended.with_columns(reward=reward, schema=pl.lit(SCHEMA)).drop_nulls("reward")
    counted = [outcome.value for outcome in Outcome if outcome.counts]
    named = [name for name in FIELDS if name in told.columns]
    return told.filter(pl.col("outcome").is_in(counted)).select(named).to_dicts()


async def line(
    run: Mapping[str, Any], task: Task, instruction: str, keys: Sequence[str], load: Load
) -> AsyncIterator[bytes]:
    """One episode as a JSON line, in pieces: a chunk of its trajectory is in memory at a time.

    `keys` are those of the trajectory's chunks, in order. Raises what `load` raises.
    """
    room, complete, comma = MAX_STEPS_BYTES, True, b""
    yield b'{"steps":['
    for key in keys:
        rows = list(_rows(await load(key)))
        room -= sum(map(len, rows))
        if room < 0:
            complete = False
            break
        if rows:
            yield comma + b",".join(rows)
            comma = b","
    told = {**run, "question": task.question, "instruction": instruction, "steps_complete": complete}
    yield b"]," + json.dumps(told, ensure_ascii=True, sort_keys=True).encode()[1:] + b"\n"


def _rows(chunk: bytes) -> Iterator[bytes]:
    """The steps of a chunk, each as a JSON object; what is none is left out."""
    try:
        lines = unpacked(chunk).split(b"\n")
    except (zlib.error, ValueError):
        return
    for row in lines:
        try:
            step = json.loads(row, parse_constant=_refused)
        except (ValueError, RecursionError):
            continue
        if isinstance(step, dict) and isinstance(step.get("step"), int):
            yield row


def _refused(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


def write_parquet(lines: Path, to: Path) -> None:
    """The same episodes as a Parquet file with a row for each; one is in memory at a time.

    Of a step the columns of the commonest fields are kept. For a thread of its own.
    """

    def episodes(*_: object) -> Iterator[pl.DataFrame]:
        with lines.open("rb") as file:
            for row in file:
                yield _table(json.loads(row))

    from polars.io.plugins import register_io_source  # noqa: PLC0415 - marked unstable: kept to this function

    register_io_source(episodes, schema=_COLUMNS).sink_parquet(to, row_group_size=1)


def _table(episode: Mapping[str, Any]) -> pl.DataFrame:
    steps = [_cells(step, _STEP) for step in episode["steps"]]
    return pl.DataFrame([_cells(episode, FIELDS) | {"steps": steps}], schema=_COLUMNS)


def _cells(told: Mapping[str, Any], types: Mapping[str, pl.DataType]) -> dict[str, Any]:
    """The fields that have a column; null for a value of another type, for an agent's log may hold any."""
    return {name: _AS[type(type_)](told.get(name)) for name, type_ in types.items()}


def _text(value: Any) -> str | None:
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else None


def _number(value: Any) -> float | None:
    return float(value) if type(value) in (int, float) and abs(value) < 2**53 else None


def _whole(value: Any) -> int | None:
    return value if type(value) is int and -(2**31) <= value < 2**31 else None


def _flag(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


_AS: dict[type[pl.DataType], Callable[[Any], Any]] = {
    pl.String: _text, pl.Float64: _number, pl.Int32: _whole, pl.Boolean: _flag,
}  # fmt: skip
