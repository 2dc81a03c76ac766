"""`firetrial pilots`, as far as it needs no server."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from firetrial_kit.errors import FiretrialError, Reason
from firetrial_runner.pilots.cli import _Tell, pilots
from firetrial_runner.pilots.course import Course
from firetrial_runner.pilots.fleet import Round
from firetrial_runner.schedulers import Job, JobState, JobStatus

ENV = {"FIRETRIAL_OBJECTS_URL": "file:///objects", "FIRETRIAL_NATS_URL": "nats://127.0.0.1:1"}
GIVEN = ["--scheduler", "slurm", "--pool", "gpu", "--max", "3"]
JOB = Job("1", "ft-gpu-abc123-1", JobStatus(JobState.ACTIVE))
ROUND = Round(Course(2, (), (JOB,), (), ("ft-gpu-abc123-2",), (), ()), 2, submitted=("2",))


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--min", "4"], "--min 4 is more than --max 3"),
        (["--wall-time", "4"], "a number and s, m, h or d"),
        (["--wall-time", "30m"], "FIRETRIAL_RUNNER_MAX_WALL_S"),
        (["--memory", "16 GB"], "a number and K, M, G or T"),
        (["--every", "0.5s"], "asks the scheduler too often"),
        (["--attribute", "qos"], "NAME=VALUE"),
        (["--partition", "a b"], "queue is 'a b'"),
        (["--pool", "GPU"], "FIRETRIAL_RUNNER_POOL"),
        (["--env-file", "/nowhere"], "cannot be read"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_asked(options: list[str], told: str) -> None:
    answer = CliRunner().invoke(pilots, [*GIVEN, *options], env=ENV)
    assert (answer.exit_code, told in answer.output) == (2, True), answer.output


def test_settings_may_lie_in_the_file_alone(tmp_path: Path) -> None:
    path = tmp_path / "runner.env"
    path.touch(0o600)
    path.write_text("FIRETRIAL_OBJECTS_URL=ftp://x\n")
    answer = CliRunner().invoke(pilots, [*GIVEN, "--env-file", str(path)], env={"FIRETRIAL_OBJECTS_URL": ""})
    assert (answer.exit_code, "FIRETRIAL_OBJECTS_URL must be" in answer.output) == (2, True), answer.output


def test_a_round_in_json(capsys: pytest.CaptureFixture[str]) -> None:
    tell = _Tell("gpu", 3, as_json=True)
    tell(ROUND)
    tell(FiretrialError(Reason.UNAVAILABLE, "away"))
    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert {name: first[name] for name in ("pool", "work", "wanted", "max", "active", "submitted")} == {
        "pool": "gpu", "work": 2, "wanted": 2, "max": 3, "active": 1, "submitted": 1,
    }  # fmt: skip
    assert second == {"pool": "gpu", "error": "UNAVAILABLE", "message": "away"}


def test_people_are_told_what_is_new(capsys: pytest.CaptureFixture[str]) -> None:
    tell = _Tell("gpu", 3, as_json=False)
    tell(ROUND)
    tell(ROUND)
    told = capsys.readouterr().out.splitlines()
    assert told == ["gpu: 2 work, 2 wanted, 3 max, 1 active, 0 queued, 0 intended, 1 submitted, 0 cancelled"]
