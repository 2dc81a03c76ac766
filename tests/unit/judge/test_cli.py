"""The commands: JSON in and out, faults with line and field, exit codes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from firetrial_judge.cli import commands
from support.scripted_models import Request, ScriptedModels, answer, claim_ids, status


def run(*arguments: str, stdin: str = "", env: dict[str, str] | None = None) -> Result:
    group = click.Group("firetrial", commands={c.name or "": c for c in commands})
    return CliRunner().invoke(group, list(arguments), input=stdin, env=env)


def pair(id_: object, premise: str, hypothesis: str) -> str:
    return json.dumps({"id": id_, "premise": premise, "hypothesis": hypothesis})


PAIRS = "\n".join(
    [
        pair(1, "Noise lowers accuracy.", "Accuracy is reduced by noise."),
        "",
        pair("b", "Noise lowers accuracy.", "Noise raises accuracy."),
        pair(3, "Noise lowers accuracy.", "Whales sing at night."),
    ]
)


def test_pairs_give_a_line_each_in_order(tmp_path: Path) -> None:
    file = tmp_path / "pairs.jsonl"
    file.write_text(PAIRS)
    result = run("judge", "pairs", str(file), "--backend", "offline")
    assert result.exit_code == 0, result.output
    assert [json.loads(line) for line in result.stdout.splitlines()] == [
        {"id": 1, "verdict": "ENTAILED"},
        {"id": "b", "verdict": "CONTRADICTED"},
        {"id": 3, "verdict": "NEUTRAL"},
    ]
    assert run("judge", "pairs", "-", "--json", stdin=PAIRS).stdout == result.stdout


def test_pairs_name_every_bad_line_and_field_and_decide_none() -> None:
    bad = f'{PAIRS}\nnope\n[1]\n{{"id": true, "premise": " "}}\n'
    result = run("judge", "pairs", "-", stdin=bad)
    assert result.exit_code == 2
    assert result.stdout == ""
    for told in ("line 5", "line 6", "line 7, id", "line 7, premise", "line 7, hypothesis"):
        assert told in result.stderr


def test_pairs_by_a_model() -> None:
    def script(request: Request) -> Any:
        (id_,) = claim_ids(request.prompt)
        verdict = "ENTAILED" if "reduced" in request.prompt else "NEUTRAL"
        return answer({"verdicts": [{"id": id_, "verdict": verdict, "rationale": "", "evidence": ""}]})

    with ScriptedModels(script) as models:
        options = ("--backend", "openai", "--model", "m", "--base-url", models.base_url)
        result = run("judge", "pairs", "-", *options, stdin=PAIRS, env={"OPENAI_API_KEY": "sk-abc"})
    verdicts = [json.loads(line)["verdict"] for line in result.stdout.splitlines()]
    assert verdicts == ["ENTAILED", "NEUTRAL", "NEUTRAL"]
    assert {r.headers["authorization"] for r in models.requests} == {"Bearer sk-abc"}


def test_a_refusing_endpoint_is_told_without_the_key() -> None:
    with ScriptedModels([status(401, "bad key sk-abcdef")]) as models:
        options = ("--backend", "openai", "--model", "m", "--base-url", models.base_url)
        result = run("judge", "pairs", "-", *options, stdin=PAIRS, env={"OPENAI_API_KEY": "sk-abcdef"})
    assert result.exit_code == 2
    assert "401" in result.stderr
    assert "sk-abc" not in result.output


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--backend", "openai"), "--model"),
        (("--model", "m"), "--backend openai"),
        (("--backend", "anthropic", "--model", "m", "--verdicts", "one-word"), "probabilities"),
    ],
)
def test_options_that_do_not_go_together(options: tuple[str, ...], told: str) -> None:
    result = run("judge", "pairs", "-", *options, stdin=PAIRS)
    assert result.exit_code == 2
    assert told in result.stderr


def test_text_for_scripts_and_for_people(tmp_path: Path) -> None:
    truth, conclusion = tmp_path / "truth.md", tmp_path / "conclusion.md"
    truth.write_text("Label noise lowers accuracy. Larger k makes the classifier more robust.")
    conclusion.write_text("Accuracy is reduced by label noise.")
    arguments = ("judge", "text", "--truth", str(truth), "--conclusion", str(conclusion))
    document = json.loads(run(*arguments, "--backend", "offline", "--json").stdout)
    assert (document["precision"], document["recall"]) == (1.0, 0.5)
    assert [(c["id"], c["verdict"]) for c in document["claims"]] == [
        ("a1", "ENTAILED"),
        ("t1", "ENTAILED"),
        ("t2", "NEUTRAL"),
    ]
    assert "demonstration" in document["quality"]
    shown = run(*arguments)
    assert shown.exit_code == 0
    assert "precision 1.000  recall 0.500  F1 0.667" in shown.stdout


def test_score_in_both_modes() -> None:
    labels = json.dumps({"answer2response": ["Entailment", "neutral"], "response2answer": []})
    default = json.loads(run("score", "-", stdin=labels).stdout)
    assert (default["precision"], default["recall"], default["state"]) == (0.5, None, "UNSCORED")
    exact = json.loads(run("score", "-", "--mode", "ragchecker", stdin=labels).stdout)
    assert exact == {"precision": 0.5, "recall": 0.0, "f1": 0.0}


@pytest.mark.parametrize("given", ["", "{", '{"answer2response": 1}', "[" * 100_000])
def test_score_refuses_what_it_cannot_read(given: str) -> None:
    result = run("score", "-", stdin=given)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "Error" in result.stderr


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    result = run("score", str(tmp_path / "absent.json"))
    assert result.exit_code == 2
    assert "FILE" in result.stderr
    assert "No such file" in result.stderr


def test_the_commands_are_listed_without_loading_a_model() -> None:
    check = (
        "import sys; from firetrial_judge.cli import commands; "
        "sys.exit(bool({'onnxruntime', 'openai', 'numpy', 'grpc'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0
