"""A leaderboard counts all that belongs to it, ranks what is complete, and cannot be changed unseen."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from importlib.resources import files
from typing import Any

import polars as pl
import pytest
from jsonschema import Draft202012Validator

from firetrial_analyzer import columns
from firetrial_analyzer.analysis import AnalysedRun, Judge
from firetrial_analyzer.leaderboard import Leaderboard, leaderboard, verify
from firetrial_analyzer.outcomes import Outcome, RunOutcome, Usage
from firetrial_analyzer.release import Frozen, ReleasedTask
from firetrial_kit.errors import FiretrialError

HASH = "ab" * 32
RELEASE = Frozen(
    "2026.11", "", tuple(ReleasedTask(task, "v", HASH, HASH) for task in ("t1", "t2")), 2, "{}", HASH,
    "c-1", "", "", "1", HASH, HASH,
)  # fmt: skip
JUDGED = Judge("model", "m", HASH, "measured", "c-1")


def made(agent: str, task: str, repeat: int, f1: float | None = None, **fields: Any) -> AnalysedRun:
    """A run of `agent`; one without F1 is the agent's failure."""
    judge = fields.pop("judge", JUDGED)
    run = RunOutcome(
        run_id=f"r-{agent}-{task}-{repeat}-{fields.get('experiment', 'e-1')}-{fields.get('attempt', 1)}",
        **{"experiment": "e-1", "task": task, "agent": agent, "repeat": repeat, "attempt": 1, "model": "m",
           "outcome": Outcome.AGENT_FAILED if f1 is None else Outcome.SCORED,
           "precision": f1, "recall": f1, "f1": f1, **fields},
    )  # fmt: skip
    scored = run.outcome is Outcome.SCORED
    return AnalysedRun(run, "j-1" if scored else "", judge if scored else None)


def rows(runs: Iterable[AnalysedRun]) -> dict[str, pl.DataFrame]:
    by_experiment: dict[str, list[AnalysedRun]] = {}
    for item in runs:
        by_experiment.setdefault(item.run.experiment, []).append(item)
    return {name: columns.frame(map(columns.row, held)) for name, held in by_experiment.items()}


def whole(agent: str, f1: float, **fields: Any) -> list[AnalysedRun]:
    return [made(agent, task, repeat, f1, **fields) for task in ("t1", "t2") for repeat in (1, 2)]


def board(*runs: AnalysedRun) -> Leaderboard:
    return leaderboard(rows(runs), RELEASE)


def test_agents_are_ranked_by_their_mean_and_ties_share_a_rank() -> None:
    found = board(*whole("low", 0.25), *whole("high", 0.75), *whole("tie", 0.75))
    assert [(entry.rank, entry.agent, entry.f1) for entry in found.entries] == [
        (1, "high", 0.75), (1, "tie", 0.75), (3, "low", 0.25),
    ]  # fmt: skip
    assert (found.calibrated, found.calibration_ids, found.judge_config_hash) == (True, ("c-1",), HASH)


def test_one_that_lacks_runs_has_no_rank_however_good() -> None:
    found = board(*whole("whole", 0.25), *whole("partly", 1.0)[:3])
    assert [(entry.rank, entry.agent) for entry in found.entries] == [(1, "whole"), (None, "partly")]
    assert (found.entries[1].runs_counted, found.entries[1].runs_expected) == (3, 4)


def test_an_agents_failure_counts_as_nothing_and_ours_not_at_all() -> None:
    failed, broken = made("a", "t1", 2), made("b", "t1", 2, outcome=Outcome.INFRA_FAILED)
    first, second = board(
        *whole("a", 1.0)[:1], failed, *whole("a", 1.0)[2:], broken, *whole("b", 1.0)[2:]
    ).entries
    assert (first.agent, first.f1, first.agent_failed, first.rank) == ("a", 0.75, 1, 1)
    assert (second.agent, second.f1, second.agent_failed, second.rank) == ("b", 1.0, 0, None)


def test_nobody_chooses_the_best_of_many_experiments() -> None:
    (entry,) = board(*whole("a", 0.2), *whole("a", 1.0, experiment="e-2")).entries
    assert entry.f1 == pytest.approx(0.6)
    assert entry.runs_counted == 8


def test_a_superseded_attempt_is_no_run() -> None:
    lost = made("a", "t1", 1, outcome=Outcome.INFRA_FAILED, superseded=True)
    again = made("a", "t1", 1, 0.5, attempt=2)
    (entry,) = board(lost, again, *whole("a", 0.5)[1:]).entries
    assert (entry.runs_counted, entry.runs_expected, entry.rank) == (4, 4, 1)


def test_what_is_not_of_the_release_is_left_out_and_counted() -> None:
    elsewhere = made("a", "other", 1, 1.0)
    otherwise = made("a", "t1", 3, 1.0, judge=replace(JUDGED, config_hash="cd" * 32))
    found = board(*whole("a", 0.5), elsewhere, otherwise)
    assert found.entries[0].f1 == 0.5
    assert {(one.reason, one.runs) for one in found.left_out} == {
        ("its task is not of the release", 1), ("it was judged in another way", 1),
    }  # fmt: skip


def test_runs_made_elsewhere_stand_apart() -> None:
    found = board(*whole("a", 0.5), *whole("a", 0.9, experiment="e-2", provenance="self_reported"))
    assert [(entry.provenance, entry.f1) for entry in found.entries] == [
        ("self_reported", 0.9),
        ("here", 0.5),
    ]


def test_one_name_of_two_makers_is_two_entrants() -> None:
    ours, theirs = ({"provenance": "elsewhere", "made_by": who} for who in ("us", "them"))
    found = board(*whole("a", 0.9, **ours), *whole("a", 0.1, experiment="e-2", **theirs))
    assert [(entry.made_by, entry.f1) for entry in found.entries] == [("us", 0.9), ("them", 0.1)]


def test_one_judgement_without_calibration_makes_the_board_uncalibrated() -> None:
    runs = whole("a", 0.5)
    other = made("a", "t2", 3, 0.5, judge=replace(JUDGED, calibration_id=""))
    assert not board(*runs, other).calibrated
    assert not board(made("a", "t1", 1)).calibrated


def test_the_probe_is_no_entrant() -> None:
    found = leaderboard(rows([*whole("a", 0.5), *whole("probe", 0.9)]), RELEASE, probe=["probe"])
    assert [entry.agent for entry in found.entries] == ["a"]


def test_money_that_is_not_known_is_not_nothing() -> None:
    paid = whole("a", 0.5, usage=Usage(usd=0.5, wall_seconds=3.0))
    (entry,) = board(*paid[:3], *whole("a", 0.5)[3:]).entries
    assert (entry.usd_per_run, entry.usd_known, entry.wall_seconds_per_run) == (0.5, 3, 3.0)


def test_an_experiment_alone_has_one_too() -> None:
    found = leaderboard(rows(whole("a", 0.5)), tasks=["t1", "t2", "t3"], repeats=2)
    assert (found.release, found.judge_config_hash) == ("", HASH)
    assert (found.entries[0].rank, found.entries[0].runs_expected) == (None, 6)
    with pytest.raises(FiretrialError):
        leaderboard({})


def test_the_export_keeps_to_its_schema_and_tells_when_it_was_changed() -> None:
    found = board(*whole("a", 0.5), *whole("ä\ud800", 0.25)[:2], made("b", "t1", 1), made("a", "x", 1, 1.0))
    data = found.to_json()
    assert data == board(made("a", "x", 1, 1.0), made("b", "t1", 1), *whole("ä\ud800", 0.25)[1::-1],
                         *whole("a", 0.5)[::-1]).to_json()  # fmt: skip
    schema = json.loads(files("firetrial_analyzer").joinpath("data/leaderboard-1.json").read_text())
    Draft202012Validator.check_schema(schema)
    told = json.loads(data)
    assert list(Draft202012Validator(schema).iter_errors(told)) == []
    verify(data)
    told["entries"][0]["f1"] = 0.99
    with pytest.raises(FiretrialError, match="changed after it was exported"):
        verify(json.dumps(told).encode())


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b'{"schema": "firetrial.leaderboard/2"}', b"\xff"])
def test_what_is_no_leaderboard_is_refused(data: bytes) -> None:
    with pytest.raises(FiretrialError):
        verify(data)
