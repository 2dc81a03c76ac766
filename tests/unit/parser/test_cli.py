import json
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from firetrial_parser.cli import commands
from support.scripted_models import ScriptedModels, answer
from unit.parser.paper_pdf import sample
from unit.parser.study import TEXT
from unit.parser.test_extraction import GOOD


def run(*arguments: str, **environment: str) -> Result:
    group = click.Group("firetrial", commands={c.name or "": c for c in commands})
    return CliRunner().invoke(group, list(arguments), env=environment)


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


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["parse", "nowhere.pdf"], "must be a file that exists"),
        (["parse", "nowhere.pdf", "--offline", "--model", "m"], "--offline takes no"),
        (["parse", "nowhere.pdf", "--base-url", "http://x"], "needs --model"),
        (["import", "firebench", "nowhere"], "must be a folder that exists"),
    ],
)
def test_bad_input_ends_with_two_and_the_cure(arguments: list[str], told: str) -> None:
    done = run(*arguments)
    assert done.exit_code == 2
    assert told in done.stderr
    assert not done.stdout


@pytest.mark.needs("shared")
def test_import_lists_tasks(shared: Path) -> None:
    path = str(shared / "firebench/official")
    told = json.loads(run("import", "firebench", path, "--json").stdout)
    assert len(told) == 30
    assert all(task["id"].endswith(task["version"]) and task["broken"] for task in told)
    assert "ground_truth" not in told[0]
    assert "30 tasks" in run("import", "firebench", path).stdout
