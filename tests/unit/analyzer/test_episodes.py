"""Episodes hold what an agent was asked, did and earned, whatever its trajectory is like."""

from __future__ import annotations

import asyncio
import gzip
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from firetrial_analyzer import columns, episodes
from firetrial_analyzer.analysis import AnalysedRun
from firetrial_analyzer.outcomes import Outcome, RunOutcome
from firetrial_analyzer.report import Task

TASK = Task("t-1", "Does noise matter?")


def run(outcome: Outcome, f1: float | None = None, repeat: int = 1) -> AnalysedRun:
    return AnalysedRun(
        RunOutcome(
            run_id=f"r-{repeat}", experiment="e-1", task="t-1", agent="a@1", repeat=repeat, attempt=1,
            outcome=outcome, precision=f1, recall=f1, f1=f1, model="m",
        )
    )  # fmt: skip


def rows(*items: AnalysedRun) -> list[dict[str, Any]]:
    return episodes.rewarded(columns.frame(map(columns.row, items)))


def chunk(*steps: object) -> bytes:
    return gzip.compress(b"".join(json.dumps(step).encode() + b"\n" for step in steps))


def step(number: int, text: str = "x", **more: Any) -> dict[str, Any]:
    return {"step": number, "offset_s": 0.5 * number, "kind": "output", "text": text, **more}


def line(chunks: dict[str, bytes], row: dict[str, Any] | None = None) -> bytes:
    async def load(key: str) -> bytes:
        return chunks[key]

    async def whole() -> bytes:
        row_ = row or rows(run(Outcome.SCORED, 0.5))[0]
        return b"".join([part async for part in episodes.line(row_, TASK, "Find out.", sorted(chunks), load)])

    return asyncio.run(whole())


def test_what_counts_is_rewarded_and_what_does_not_is_no_episode() -> None:
    found = rows(
        run(Outcome.SCORED, 0.75), run(Outcome.AGENT_FAILED, repeat=2), run(Outcome.INFRA_FAILED, repeat=3),
        run(Outcome.JUDGE_FAILED, repeat=4), run(Outcome.CANCELLED, repeat=5), run(Outcome.SCORED, repeat=6),
    )  # fmt: skip
    assert [(row["run_id"], row["reward"]) for row in found] == [("r-1", 0.75), ("r-2", 0.0)]


def test_an_episode_is_one_line_of_json() -> None:
    data = line({"1": chunk(step(1), step(2, "y\nz", stream="stdout")), "2": chunk(step(3))})
    assert data.count(b"\n") == 1
    told = json.loads(data)
    assert [one["step"] for one in told["steps"]] == [1, 2, 3]
    assert told["steps"][1] == step(2, "y\nz", stream="stdout")
    assert (told["schema"], told["question"], told["instruction"]) == (
        episodes.SCHEMA,
        TASK.question,
        "Find out.",
    )
    assert (told["reward"], told["steps_complete"], told["agent"]) == (0.5, True, "a@1")
    assert set(told) == set(episodes.FIELDS) | {"steps"}


@pytest.mark.parametrize(
    "torn",
    [
        b"",
        b"no gzip",
        gzip.compress(b"\xff\nnull\n[]\n{}\n" + b"[" * 100_000 + b"\n"),
        gzip.compress(b"x")[:9],
        gzip.compress(b'{"step": 2, "offset_s": NaN}'),
    ],
)
def test_a_chunk_that_cannot_be_read_costs_its_own_steps_only(torn: bytes) -> None:
    told = json.loads(line({"1": chunk(step(1)), "2": torn, "3": chunk(step(9))}))
    assert [one["step"] for one in told["steps"]] == [1, 9]


def test_a_long_trajectory_is_cut_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(episodes, "MAX_STEPS_BYTES", 200)
    told = json.loads(line({"1": chunk(step(1, "x" * 50)), "2": chunk(step(2, "x" * 200))}))
    assert ([one["step"] for one in told["steps"]], told["steps_complete"]) == ([1], False)


def test_parquet_holds_the_same(tmp_path: Path) -> None:
    strange = step(2, "\ud800", exit_code=2**70, failed="yes", tool=3, call=None, kind=True)
    data = line({"1": chunk(step(1, "y", exit_code=0, tool="bash"), strange)})
    (tmp_path / "lines").write_bytes(data + line({}, rows(run(Outcome.AGENT_FAILED, repeat=2))[0]))
    episodes.write_parquet(tmp_path / "lines", tmp_path / "parquet")
    found = pl.read_parquet(tmp_path / "parquet").to_dicts()
    assert [(row["run_id"], row["reward"], len(row["steps"])) for row in found] == [
        ("r-1", 0.5, 2),
        ("r-2", 0.0, 0),
    ]
    first, second = found[0]["steps"]
    assert (first["text"], first["exit_code"], first["tool"], first["offset_s"]) == ("y", 0, "bash", 0.5)
    assert (second["text"], second["exit_code"], second["failed"], second["tool"], second["kind"]) == (
        "?", None, None, None, None,
    )  # fmt: skip
