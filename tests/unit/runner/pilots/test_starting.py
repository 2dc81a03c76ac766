"""A pilot's job, and the file of its settings."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from firetrial_kit.errors import FiretrialError
from firetrial_runner.pilots.starting import Pilot, read

PILOT = Pilot("gpu", "slurm", slots=2, idle_s=300, wall_s=14400, folder=Path("/shared"))


def written(folder: Path, text: str, mode: int = 0o600) -> Path:
    path = folder / "runner.env"
    path.write_text(text)
    path.chmod(mode)
    return path


def test_a_job_tells_the_runner_its_pool_and_its_time() -> None:
    job = replace(PILOT, env_file=Path("/shared/runner.env")).job("ft-gpu-abc123-1", 7)
    assert list(job.faults()) == []
    assert job.argv[1:] == ("-m", "firetrial_runner.pilots.main", "--env-file", "/shared/runner.env")
    assert job.env == {
        "FIRETRIAL_RUNNER_BERTH": "ft-gpu-abc123-1/7",
        "FIRETRIAL_RUNNER_POOL": "gpu",
        "FIRETRIAL_RUNNER_SLOTS": "2",
        "FIRETRIAL_RUNNER_IDLE": "300",
        "FIRETRIAL_RUNNER_WALL_TIME": "14400",
    }


def test_slurm_gives_notice_and_runs_no_two_of_one_name() -> None:
    assert PILOT.job("ft-1", 1).attributes["dependency"] == "singleton"
    own = replace(PILOT, attributes={"signal": "B:USR1@300", "qos": "low"}).job("ft-1", 1)
    assert (own.attributes["signal"], own.attributes["qos"]) == ("B:USR1@300", "low")
    assert "signal" not in replace(PILOT, wall_s=300).job("ft-1", 1).attributes
    assert replace(PILOT, scheduler="pbs").job("ft-1", 1).attributes == {}


def test_a_file_of_settings(tmp_path: Path) -> None:
    text = "# ours\n\nA=1\nexport B='two words'\n C=\"x=y\" \nD=\n"
    assert read(written(tmp_path, text)) == {"A": "1", "B": "two words", "C": "x=y", "D": ""}


def test_a_file_that_others_may_read_or_that_is_none_is_refused_and_not_shown(tmp_path: Path) -> None:
    with pytest.raises(FiretrialError) as refused:
        read(written(tmp_path, "A=1\nthe-secret\nB:2\n", 0o640))
    assert [fault.field for fault in refused.value.faults] == ["--env-file", "runner.env:2", "runner.env:3"]
    assert "the-secret" not in refused.value.message
    with pytest.raises(FiretrialError, match="cannot be read"):
        read(tmp_path / "none")
