"""A task's folder without a server: begun, changed, checked."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import firetrial_parser.cli  # noqa: F401 - adds its commands to `tasks`
from firetrial_kit.errors import FiretrialError
from firetrial_parser.catalogue_cli import tasks
from firetrial_parser.kinds import folder_wire
from firetrial_parser.kinds.cli import KINDS


def called(*args: object) -> str:
    answer = CliRunner().invoke(tasks, [str(arg) for arg in args], catch_exceptions=False)
    assert answer.exit_code == 0, answer.output
    return answer.output


@pytest.fixture
def begun(tmp_path: Path) -> Path:
    called("new", "--kind", "repository", tmp_path / "mine")
    return tmp_path / "mine"


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_begun_is_valid(tmp_path: Path, kind: str) -> None:
    told = json.loads(called("new", "--kind", kind, tmp_path / "mine", "--json"))
    assert {"task.json", "task.yaml"} & set(told["files"])
    assert json.loads(called("check", tmp_path / "mine", "--json"))["valid"]


def test_nothing_is_begun_over_something(begun: Path) -> None:
    again = CliRunner().invoke(tasks, ["new", "--kind", "repository", str(begun)])
    assert again.exit_code == 2


def test_what_is_begun_can_be_run(begun: Path) -> None:
    """Its baselines are those that its commands measure."""
    spec = folder_wire.read(begun)
    source = begun / "source"

    def measured() -> float:
        for command in (spec.repository.validation_command, spec.repository.score_command):
            subprocess.run([sys.executable, *command[1:]], cwd=source, check=True)
        results = json.loads((source / spec.repository.metric.results_file).read_text())
        return float(results["numbers"]["means"][spec.repository.metric.key])

    assert measured() == pytest.approx(spec.repository.baseline_validation)
    for part in ("files", "score"):
        for path in (begun / "sealed" / part / "data").iterdir():
            (source / "data" / path.name).write_bytes(path.read_bytes())
    assert measured() == pytest.approx(spec.repository.baseline_test)


def test_every_fault_is_told(begun: Path) -> None:
    (begun / "source" / "model.py").unlink()
    (begun / "source" / ".git").mkdir()
    (begun / "source" / ".git" / "HEAD").write_text("ref")
    (begun / "source" / "key.csv").write_bytes((begun / "sealed/score/data/labels.csv").read_bytes())
    task = json.loads((begun / "task.json").read_text())
    task["slug"] = "No Slug"
    task["repository"]["validation_command"] = ["python3 predict.py"]
    (begun / "task.json").write_text(json.dumps(task))
    with pytest.raises(FiretrialError) as caught:
        called("check", begun)
    assert [fault.field for fault in caught.value.faults] == [
        "task.json, slug",
        "task.json, repository.validation_command",
        "repository.target_files",
        "source",
        "sealed/score/data/labels.csv",
    ]


@pytest.mark.parametrize("text", ["", '{"no_such": 1}', '{"slug": 5}', "{" * 5000, '"a"'])
def test_a_manifest_that_is_no_task(begun: Path, text: str) -> None:
    (begun / "task.json").write_text(text)
    with pytest.raises(FiretrialError, match="must be a task in JSON"):
        called("check", begun)


def test_a_folder_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(FiretrialError, match="tasks new"):
        called("check", tmp_path)
