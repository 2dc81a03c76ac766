import gzip
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from firetrial_analyzer.cli import commands
from unit.analyzer import planted

CASE = next(case for case in planted.cases("dev") if case.name == "table of the report only in files")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "conclusion.md").write_text(CASE.conclusion)
    (tmp_path / "steps.jsonl").write_text("\n".join(CASE.lines()) + "\n")
    for name, body in CASE.files.items():
        path = tmp_path / "left" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(body)
    return tmp_path


def check(folder: Path, *more: str) -> Result:
    command = next(command for command in commands if command.name == "integrity")
    given = ["--conclusion", str(folder / "conclusion.md"), "--trajectory", str(folder / "steps.jsonl")]
    return CliRunner().invoke(command, ["check", *given, *more])


def found(result: Result) -> dict[str, Any]:
    assert result.exit_code == 0, result.output
    told: dict[str, Any] = json.loads(result.stdout)
    assert told["schema"] == "firetrial.integrity/1"
    return told


def test_files_from_a_folder_and_from_a_tar(folder: Path) -> None:
    expected = {"traced": 3, "derived": 0, "untraced": 1, "not_a_result": 0, "given": 0}
    one = found(check(folder, "--files", str(folder / "left"), "--json"))
    assert one["counts"] == expected
    with tarfile.open(folder / "left.tar.gz", "w:gz") as archive:
        archive.add(folder / "left", ".")
    assert found(check(folder, "--files", str(folder / "left.tar.gz"), "--json"))["counts"] == expected
    assert found(check(folder, "--json"))["counts"]["untraced"] == 4


def test_a_packed_trajectory(folder: Path) -> None:
    plain = found(check(folder, "--json"))
    path = folder / "steps.jsonl"
    path.write_bytes(gzip.compress(path.read_bytes()))
    assert found(check(folder, "--json")) == plain
    path.write_bytes(path.read_bytes()[:-12])
    assert not found(check(folder, "--json"))["complete"]


def test_for_people(folder: Path) -> None:
    result = check(folder, "--files", str(folder / "left"))
    assert result.stdout.splitlines()[0] == (
        "4 numbers: 3 traced, 0 derived, 1 untraced, 0 not a result, 0 given"
    )
    assert "untraced  2.1%" in result.stdout


def test_the_source_paper(folder: Path) -> None:
    step = {"step": 99, "offset_s": 1, "kind": "command", "text": "wget https://arxiv.org/pdf/2307.03172"}
    with (folder / "steps.jsonl").open("a") as file:
        file.write(json.dumps(step) + "\n")
    names = [
        finding["name"]
        for finding in found(check(folder, "--paper-arxiv", "2307.03172", "--json"))["findings"]
    ]
    assert "paper_contacted" in names


def test_every_path_that_is_not_there_is_told(folder: Path) -> None:
    result = check(folder, "--files", "nowhere", "--instruction", str(folder))
    assert result.exit_code == 2
    assert "--files is 'nowhere'" in result.stderr
    assert "--instruction is" in result.stderr
