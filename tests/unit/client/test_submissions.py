"""A bundle is read whole or refused whole, with everything that is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from firetrial.analyzer.v1.release_pb2 import Release, ReleasedTask
from firetrial.plan.v1.plan_pb2 import JudgeConfig
from firetrial_client import FiretrialError, submissions

RELEASE = Release(
    name="2026.11", tasks=[ReleasedTask(id="t-1"), ReleasedTask(id="t-2")], repeats=2, checksum="ab" * 32,
    judge=JudgeConfig(model="m"),
)  # fmt: skip
RUN = {"task": "t-1", "repeat": 1, "file": "runs/1.txt", "format": "conclusion"}
BUNDLE: dict[str, Any] = {
    "schema": "firetrial.bundle/1", "release": "2026.11", "agent": "mine", "model": "gpt-5", "by": "A Lab",
    "runs": [RUN],
}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs/1.txt").write_text("It falls.")
    return tmp_path


def write(folder: Path, **changed: Any) -> Path:
    (folder / "bundle.json").write_text(json.dumps(BUNDLE | changed))
    return folder


def faults(folder: Path) -> list[str]:
    with pytest.raises(FiretrialError) as refused:
        submissions.read(folder)
    return [fault.field for fault in refused.value.faults]


def test_a_bundle_becomes_runs_and_an_experiment_of_its_own(folder: Path) -> None:
    submission = submissions.read(write(folder))
    submissions.check_against(submission, RELEASE)
    (run,) = submission.runs
    assert (run.agent_id, run.task_id, run.repeat) == ("mine-gpt-5@elsewhere", "t-1", 1)
    assert run.header.made_by == "A Lab"
    slip = submission.slip(RELEASE)
    assert (slip.expected_runs, slip.plan.release, slip.plan.judge.model) == (1, "2026.11", "m")
    assert list(slip.plan.agents) == ["mine-gpt-5@elsewhere"]
    assert submissions.missing(submission, RELEASE) == 3


def test_the_same_is_the_same_experiment_and_other_bytes_are_another(folder: Path) -> None:
    first = submissions.read(write(folder)).slip(RELEASE).experiment_id
    assert submissions.read(write(folder, note="said otherwise")).slip(RELEASE).experiment_id == first
    (folder / "runs/1.txt").write_text("It rises.")
    assert submissions.read(write(folder)).slip(RELEASE).experiment_id != first


def test_every_fault_is_told_at_once(folder: Path) -> None:
    (folder / "runs/link").symlink_to("/etc/passwd")
    (folder / "sub").symlink_to("/etc")
    wrong: list[dict[str, Any]] = [
        {"repeat": 0}, {"repeat": True}, {"file": "../x"}, {"file": "/etc/passwd"}, {"file": "runs/link"},
        {"file": "sub/passwd"}, {"file": "runs"}, {"file": "none"}, {"format": "guess"}, {"seed": 1},
    ]  # fmt: skip
    runs = [RUN, RUN, 3, *({**RUN, **one} for one in wrong), {"task": "t-1"}]
    found = faults(
        write(folder, runs=runs, agent="My Agent", by=" ", model="a b", licence="x", note="x" * 400)
    )
    assert found == [
        "licence", "agent", "model", "by", "note", "runs[2]", "runs[3].repeat", "runs[4].repeat",
        "runs[5].file", "runs[6].file", "runs[7].file", "runs[8].file", "runs[9].file", "runs[10].file",
        "runs[11].format", "runs[12].seed", "runs[13].repeat", "runs[13].file", "runs[13].format", "runs",
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"schema": "firetrial.bundle/2"}', "\xff", "[" * 100_000])
def test_what_is_no_bundle_is_refused(folder: Path, text: str) -> None:
    (folder / "bundle.json").write_text(text, encoding="latin-1")
    assert len(faults(folder)) == 1


def test_a_folder_without_a_manifest_and_one_without_runs(folder: Path) -> None:
    assert faults(folder) == [str(folder / "bundle.json")]
    assert faults(write(folder, runs=[])) == ["runs"]
    assert faults(write(folder, runs="all")) == ["runs", "runs"]


def test_many_faults_are_counted(folder: Path) -> None:
    assert len(faults(write(folder, runs=[{**RUN, "repeat": 0, "task": str(n)} for n in range(500)]))) == 51


def test_what_the_release_does_not_ask_for_is_refused(folder: Path) -> None:
    runs = [RUN, {**RUN, "task": "t-9"}, {**RUN, "repeat": 3}]
    submission = submissions.read(write(folder, runs=runs, release="2026.12"))
    with pytest.raises(FiretrialError) as refused:
        submissions.check_against(submission, RELEASE)
    assert [fault.field for fault in refused.value.faults] == ["release", "runs[1].task", "runs[2].repeat"]
