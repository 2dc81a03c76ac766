"""Releases, leaderboards and episodes, as people and programs call for them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from firetrial_client import Firetrial, FiretrialError
from unit.client.cli.conftest import Call
from unit.client.fakes import Server


def test_a_release_freezes_what_the_judge_says_of_itself(firetrial: Call, answer: Any) -> None:
    made = answer("releases", "create", "2026.11", "--task", "t-1", "--task", "t-2", "--judge-model", "m")
    assert (made["judge_config_hash"], made["calibration_id"]) == ("h", "c-1")
    assert (made["judge"]["model"], made["repeats"]) == ("m", 3)
    shown = firetrial("releases", "show", "2026.11").output
    assert "calibration   c-1" in shown
    assert shown.splitlines()[-2:] == ["  t-1", "  t-2"]
    assert firetrial("releases", "list").output.splitlines()[1].split()[:2] == ["2026.11", "2"]
    assert [release["name"] for release in answer("releases", "list")] == ["2026.11"]


def test_a_leaderboard_is_a_table_and_a_file(firetrial: Call, answer: Any, tmp_path: Path) -> None:
    shown = firetrial("leaderboard", "--release", "2026.11", "--out", "boards/lb.json")
    first, second = shown.stdout.splitlines()[1:]
    assert first.split()[:4] == ["1", "a@1\\x1b[31m", "m", "0.500"]
    assert first.endswith("3 of 3  unknown  self reported A Lab")
    assert second.startswith("–")
    assert "not calibrated" in shown.stderr
    assert "left out 2 runs: another judge" in shown.stderr
    assert json.loads((tmp_path / "boards/lb.json").read_text())["of"] == ["release", "2026.11"]
    assert answer("leaderboard", "e-1")["of"] == ["experiment_id", "e-1"]
    firetrial("leaderboard", code=2)
    firetrial("leaderboard", "e-1", "--release", "r", code=2)


def test_episodes_are_written_whole(firetrial: Call, answer: Any, tmp_path: Path) -> None:
    firetrial("episodes", "e-1", "--out", "a.parquet")
    assert (tmp_path / "a.parquet").read_text() == "TRAJECTORY_FORMAT_PARQUET of e-1"
    told = answer("episodes", "e-1", "--out", "sub/a.jsonl")
    assert (told["format"], told["size"]) == ("jsonl", len("TRAJECTORY_FORMAT_JSONL of e-1"))
    assert sorted(path.name for path in tmp_path.rglob("*.part")) == []


def test_facts_are_lines_as_they_are_told(firetrial: Call) -> None:
    lines = firetrial("watch", "e-1", "--facts").stdout.splitlines()
    assert lines[0].split() == ["0", "of", "1", "runs"]
    assert lines[1].endswith("0 of 1 runs  judge run_judged r-1 F1 0.50")
    assert lines[2].endswith("1 of 1 runs  analyzer experiment_reported")
    told = [json.loads(line) for line in firetrial("watch", "e-1", "--facts", "--json").stdout.splitlines()]
    assert [one["fact"] for one in told] == ["", "run_judged", "experiment_reported"]


def test_what_is_asked_wrongly_is_refused_before_it_is_sent(server: Server) -> None:
    with Firetrial(server.endpoint) as client:
        with pytest.raises(FiretrialError, match="one of the two"):
            client.leaderboard()
        with pytest.raises(FiretrialError, match="'xml'"):
            list(client.episodes("e-1", "xml"))


def test_what_looks_remembered_is_told_with_its_reason(firetrial: Call, answer: Any) -> None:
    shown = firetrial("contamination", "e-1").output
    assert "a@1 with m (an unknown cutoff): too few data. 2 tasks before." in shown
    assert "  easy        before     2      0.500    0.250" in shown
    assert "  easy        after      0      –        –" in shown
    assert "t-1   a@1    0.500  –" in shown
    assert answer("contamination", "e-1")["models"][0]["verdict"] == "too_few_data"


def test_a_runs_process_shows_what_is_defined(firetrial: Call, answer: Any) -> None:
    shown = firetrial("process", "r-1").output.splitlines()
    assert [line.split()[-1] for line in shown] == ["r-1", "7", "0.5"]
    assert answer("process", "r-1")["step_success_rate"] == 0.5
