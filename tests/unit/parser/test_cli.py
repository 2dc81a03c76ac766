import hashlib
import json
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from firetrial_kit.errors import FiretrialError
from firetrial_parser.cli import commands
from firetrial_parser.firebench import data_digest
from unit.parser.repository import label_noise


def run(*arguments: str, **environment: str) -> Result:
    group = click.Group("firetrial", commands={c.name or "": c for c in commands})
    return CliRunner().invoke(group, list(arguments), env=environment)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return label_noise(tmp_path)


@pytest.mark.parametrize("arguments", [["parse", "nowhere.pdf"], ["import", "firebench", "nowhere"]])
def test_bad_input_is_told_by_the_kit_s_error(arguments: list[str]) -> None:
    done = run(*arguments)
    assert isinstance(done.exception, FiretrialError)
    assert done.exception.faults[0].value == arguments[-1]
    assert not done.stdout


def test_import_without_a_server_lists_and_says_so(repository: Path) -> None:
    done = run("import", "firebench", str(repository), "--json")
    (task,) = json.loads(done.stdout)
    assert task["id"] == f"label-noise-{task['version']}"
    assert (task["stored"], task["broken"]) == (False, [])
    assert "ground_truth" not in task
    assert "nothing was stored" in done.stderr
    assert "1 tasks, 0 without a data folder, 0 stored" in run("import", "firebench", str(repository)).stdout


def test_import_with_a_server_stores_each_task(repository: Path) -> None:
    taken: list[dict[str, Any]] = []

    def submit(**task: Any) -> tuple[str, str]:
        taken.append({**task, "data": hashlib.sha256(task["data"].read_bytes()).hexdigest()})
        return "the-id", "the-version"

    group = click.Group("firetrial", commands={c.name or "": c for c in commands})
    arguments = ["import", "firebench", str(repository), "--json"]
    (told,) = json.loads(CliRunner().invoke(group, arguments, obj={"submit_task": submit}).stdout)
    assert (told["id"], told["version"], told["stored"]) == ("the-id", "the-version", True)
    assert taken[0]["ground_truth"] == "It does."
    assert taken[0]["data"] == data_digest(repository / "benchmark/papers/label_noise/data")[0]


@pytest.mark.needs("shared")
def test_import_of_the_official_copy(shared: Path) -> None:
    told = json.loads(run("import", "firebench", str(shared / "firebench/official"), "--json").stdout)
    assert len(told) == 30
    assert all(task["id"].endswith(task["version"]) and task["broken"] for task in told)
