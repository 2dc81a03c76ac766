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
from support.scripted_models import ScriptedModels, answer
from unit.parser.paper_pdf import sample
from unit.parser.repository import label_noise
from unit.parser.study import TEXT
from unit.parser.test_extraction import GOOD


def run(*arguments: str, **environment: str) -> Result:
    group = click.Group("firetrial", commands={c.name or "": c for c in commands})
    return CliRunner().invoke(group, list(arguments), env=environment)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return label_noise(tmp_path)


@pytest.fixture
def study(tmp_path: Path) -> str:
    file = tmp_path / "study.md"
    file.write_text(TEXT)
    return str(file)


def test_parse_as_json(study: str) -> None:
    done = run("parse", study, "--offline", "--json")
    assert done.exit_code == 0
    told = json.loads(done.stdout)
    assert list(told) == ["paper", "sections", "captions", "tree", "faults"]
    assert told["paper"]["title"].startswith("How heating time")
    assert told["sections"][0] == {"title": "Abstract", "level": 1, "page": 0}
    assert told["captions"][0] == {
        "label": "Table 1",
        "kind": "table",
        "page": 0,
        "text": "Hardness for each heating time.",
    }
    assert told["tree"]["children"][0]["children"][0]["evidence"] == "Table 1"
    assert told["faults"] == []


def test_parse_for_people(tmp_path: Path) -> None:
    file = tmp_path / "paper.pdf"
    file.write_bytes(sample())
    done = run("parse", str(file))
    assert done.exit_code == 0
    assert "A Small Study of Noise in Labels" in done.stdout
    assert "2 pages · 3 sections · 1 figure · 1 table" in done.stdout
    assert "Accuracy falls from 90.1% to 55.4%" in done.stdout
    assert "No fault" in done.stdout


def test_parse_with_a_model(study: str) -> None:
    with ScriptedModels([answer({"nodes": GOOD})]) as models:
        options = ("--model", "m", "--base-url", models.base_url)
        done = run("parse", study, "--json", *options, OPENAI_API_KEY="key-from-env")
        assert models.requests[0].headers["authorization"] == "Bearer key-from-env"
    assert json.loads(done.stdout)["tree"]["title"] == "Root"


@pytest.mark.parametrize("arguments", [["--offline", "--model", "m"], ["--base-url", "http://x"]])
def test_options_that_do_not_go_together(arguments: list[str]) -> None:
    assert run("parse", "nowhere.pdf", *arguments).exit_code == 2


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
