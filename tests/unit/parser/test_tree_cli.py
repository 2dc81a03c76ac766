"""`parse` and `trees validate`, without a server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from firetrial_kit.errors import FiretrialError
from firetrial_parser.cli import commands
from firetrial_parser.outlining import build_tree
from firetrial_parser.tree import Tree
from support.scripted_models import ScriptedModels, answer
from unit.parser.answers import INVENTED, Model
from unit.parser.paper_pdf import sample
from unit.parser.study import TEXT, document


def run(*arguments: str, **environment: str) -> Result:
    group = click.Group("firetrial", commands={c.name or "": c for c in commands})
    return CliRunner().invoke(group, list(arguments), env=environment)


@pytest.fixture
def study(tmp_path: Path) -> str:
    file = tmp_path / "study.md"
    file.write_text(TEXT)
    return str(file)


def tree_file(folder: Path, **changes: Any) -> str:
    file = folder / "tree.json"
    file.write_text(json.dumps({**Tree(build_tree(document())).to_json(), **changes}))
    return str(file)


def test_parse_as_json(study: str) -> None:
    done = run("parse", study, "--offline", "--json")
    assert done.exit_code == 0
    told = json.loads(done.stdout)
    assert list(told) == [
        "paper", "sections", "captions", "tables", "references", "tree", "faults", "extraction", "grounding",
        "refused", "usage",
    ]  # fmt: skip
    assert told["paper"]["title"].startswith("How heating time")
    assert told["sections"][0] == {"title": "Abstract", "level": 1, "page": 0}
    assert told["captions"][0] == {
        "label": "Table 1",
        "kind": "table",
        "page": 0,
        "text": "Hardness for each heating time.",
    }
    leaf = told["tree"]["children"][0]["children"][0]
    assert leaf["evidence"] == "Table 1"
    assert leaf["quotes"][0]["score"] == 1.0
    assert (told["faults"], told["refused"], told["usage"]) == ([], [], [])
    assert told["extraction"] == "structure"
    assert told["grounding"] == {"supported": 5, "statements": 5, "method": "words", "share": 1.0}


def test_parse_for_people(tmp_path: Path) -> None:
    file = tmp_path / "paper.pdf"
    file.write_bytes(sample())
    done = run("parse", str(file))
    assert done.exit_code == 0
    assert "A Small Study of Noise in Labels" in done.stdout
    assert "2 pages · 3 sections · 1 figure · 1 table" in done.stdout
    assert "tree by structure" in done.stdout
    assert "Accuracy falls from 90.1% to 55.4%" in done.stdout
    assert "No fault" in done.stdout


def test_parse_with_a_model_pays_once(study: str, tmp_path: Path) -> None:
    with ScriptedModels(Model()) as models:
        options = ("parse", study, "--model", "m", "--base-url", models.base_url)
        environment = {
            "OPENAI_API_KEY": "key-from-env",
            "FIRETRIAL_PARSER_CACHE_DIR": str(tmp_path / "cache"),
        }
        first = json.loads(run(*options, "--json", **environment).stdout)
        assert models.requests[0].headers["authorization"] == "Bearer key-from-env"
        assert len(models.requests) == 2
        again = run(*options, **environment)
        assert len(models.requests) == 2
    assert first["tree"]["title"] == "How does heating change steel?"
    assert first["extraction"] == "model m, prompt v2"
    assert [(u["purpose"], u["model"], u["calls"], u["cost_usd"]) for u in first["usage"]] == [
        ("tree-outline", "m", 1, None),
        ("tree-part", "m", 1, None),
    ]
    assert "tree by model m, prompt v2 · 0 calls, 0 tokens, 2 answers at hand" in again.stdout
    assert "key-from-env" not in again.output + str(list((tmp_path / "cache").rglob("*")))


def test_a_model_s_inventions_end_the_command_with_each_named(study: str) -> None:
    with ScriptedModels(Model(parts={"": answer(INVENTED)})) as models:
        done = run("parse", study, "--model", "m", "--base-url", models.base_url)
    assert isinstance(done.exception, FiretrialError)
    assert "9999" in str(done.exception)
    assert not done.stdout


def test_a_tree_as_a_paper(tmp_path: Path) -> None:
    told = json.loads(run("parse", tree_file(tmp_path), "--json").stdout)
    assert (told["paper"]["format"], told["extraction"]) == ("tree", "submitted")
    assert told["tree"]["children"][0]["children"][0]["evidence"] == "Table 1"


@pytest.mark.parametrize("arguments", [["--offline", "--model", "m"], ["--base-url", "http://x"]])
def test_options_that_do_not_go_together(arguments: list[str]) -> None:
    assert run("parse", "nowhere.pdf", *arguments).exit_code == 2


def test_a_sound_tree_is_told_so(tmp_path: Path, study: str) -> None:
    done = run("trees", "validate", tree_file(tmp_path), "--paper", study)
    assert done.exit_code == 0
    assert "100% of 5 statements are borne out (words)" in done.stdout
    assert "No fault" in done.stdout
    assert run("trees", "validate", tree_file(tmp_path)).exit_code == 0


def test_what_the_paper_does_not_bear_out_is_told_with_its_node(tmp_path: Path, study: str) -> None:
    root = build_tree(document()).to_json()
    root["children"][0]["children"][0]["conclusion"] = "The hardness of steel reaches 777."
    bad = tree_file(tmp_path, root=root)
    assert run("trees", "validate", bad).exit_code == 0  # its form is right
    done = run("trees", "validate", bad, "--paper", study, "--json")
    assert done.exit_code == 1
    told = json.loads(done.stdout)
    assert [fault["field"] for fault in told["faults"]] == ["0.0.0.conclusion"]
    assert told["grounding"]["share"] < 1


def test_what_is_no_tree_is_told_fault_by_fault(tmp_path: Path) -> None:
    root = {
        "kind": "root",
        "title": "",
        "children": [{"kind": "leaf", "title": "A", "evidence": "somewhere"}],
    }
    done = run("trees", "validate", tree_file(tmp_path, root=root), "--json")
    assert done.exit_code == 1
    assert [fault["field"] for fault in json.loads(done.stdout)["faults"]] == [
        "0.title", "0.0.conclusion", "0.0.evidence",
    ]  # fmt: skip
