"""`rubric score`, `rubric grade` and `rubric agreement`: JSON out, faults on both streams, exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from firetrial_judge.rubric.cli import rubric_group
from support.scripted_models import Reply, Request, Script, ScriptedModels, answer, raw, status


def run(*arguments: str, stdin: str = "", env: dict[str, str] | None = None) -> Result:
    return CliRunner().invoke(rubric_group, list(arguments), input=stdin, env=env)


def scored(document: Any) -> Result:
    return run("score", "-", stdin=json.dumps(document))


def test_counts_and_trees_are_answered_in_json_with_or_without_the_flag() -> None:
    counts = {"passed_over_total": {"C1": [9, 10], "C2": [5, 5]}}
    answer = {
        "p": [0.9, 1.0, None],
        "strict": [False, True, None],
        "almost": [True, True, None],
        "valid": False,
    }
    assert json.loads(scored(counts).stdout) == answer
    tree = {"id": "a", "requirements": "?", "score": 0.5, "task_category": "Code Execution"}
    result = scored(tree)
    assert result.exit_code == 0
    assert json.loads(result.stdout) == {"score": 0.5, "by_category": {"Code Execution": 0.5}, "faults": []}
    assert run("score", "-", "--json", stdin=json.dumps(tree)).stdout == result.stdout


@pytest.mark.parametrize("tree", [{"id": "r", "children": [{"id": "q", "question": "?", "weight": -1}]}, 7])
def test_a_malformed_tree_is_refused_on_both_streams(tree: Any) -> None:
    result = scored(tree)
    assert result.exit_code == 2
    answer = json.loads(result.stdout)
    assert (answer["score"], answer["by_category"]) == (None, {})
    assert answer["faults"]
    for fault in answer["faults"]:
        assert fault["field"] in result.stderr
        assert fault["cure"] in result.stderr


def test_a_file_that_is_not_there() -> None:
    result = run("score", "absent.json")
    assert result.exit_code == 2
    assert "No such file" in result.stderr


def grading(request: Request) -> Reply:
    grades = [{"id": f"q{n}", "answer": "yes", "rationale": "seen", "evidence": ["a.py:1-1"]} for n in (1, 2)]
    return answer({"grades": grades})


RUBRIC = """
id: r
children:
  - {id: a, question: Does it run?, condition: C1}
  - {id: b, question: Is it there?, condition: C1}
"""


def graded(tmp_path: Path, script: Script, *more: str) -> Result:
    folder = tmp_path / "work"
    folder.mkdir(exist_ok=True)
    (folder / "a.py").write_text("x = 1\n")
    (tmp_path / "rubric.yaml").write_text(RUBRIC)
    with ScriptedModels(script) as models:
        options = ("--rubric", str(tmp_path / "rubric.yaml"), "--submission", str(folder))
        backend = ("--backend", "openai", "--model", "m", "--base-url", models.base_url)
        return run("grade", *options, *backend, *more, env={"OPENAI_API_KEY": "sk-abcdef"})


def test_a_folder_is_graded_for_scripts_and_for_people(tmp_path: Path) -> None:
    result = graded(tmp_path, grading, "--json")
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert (document["score"], document["passed_over_total"]) == (1.0, {"C1": [2, 2]})
    assert document["valid"] is None
    leaf = document["leaves"][0]
    assert (leaf["id"], leaf["state"], leaf["evidence"]) == ("a", "PASSED", ["a.py:1-1"])
    shown = graded(tmp_path, grading)
    assert "PASSED   Does it run?" in shown.stdout
    assert "C1 integrity: 2 of 2, p 1.000" in shown.stdout


def test_grading_by_anthropics_messages(tmp_path: Path) -> None:
    def script(request: Request) -> Reply:
        grades = [{"id": f"q{n}", "answer": "no", "rationale": "", "evidence": []} for n in (1, 2)]
        used = {"type": "tool_use", "id": "t", "name": "grades", "input": {"grades": grades}}
        return raw(json.dumps({"content": [used], "stop_reason": "tool_use"}).encode())

    result = graded(tmp_path, script, "--backend", "anthropic", "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["score"] == 0.0


def test_a_refusing_model_leaves_all_unscored_and_an_exit_code(tmp_path: Path) -> None:
    result = graded(tmp_path, [status(401, "bad key sk-abcdef")], "--json")
    assert result.exit_code == 2
    document = json.loads(result.stdout)
    assert document["score"] is None
    assert {leaf["state"] for leaf in document["leaves"]} == {"UNSCORED"}
    assert "401" in result.stderr
    assert "sk-abc" not in result.output


def test_grading_needs_a_model_and_files(tmp_path: Path) -> None:
    (tmp_path / "rubric.yaml").write_text(RUBRIC)
    missing = run("grade", "--rubric", str(tmp_path / "rubric.yaml"), "--submission", str(tmp_path / "none"))
    assert missing.exit_code == 2
    assert "No such file" in missing.stderr
    unnamed = run("grade", "--rubric", str(tmp_path / "rubric.yaml"), "--submission", str(tmp_path))
    assert unnamed.exit_code == 2
    assert "must name the model" in unnamed.stderr


def test_agreement_of_two_trees_and_of_a_tree_with_a_grades_answer(tmp_path: Path) -> None:
    def tree(*scores: float) -> dict[str, Any]:
        leaves = [{"id": f"q{n}", "requirements": "?", "score": score} for n, score in enumerate(scores)]
        return {"id": "r", "requirements": "all", "sub_tasks": leaves}

    people, judge, answer = (tmp_path / name for name in ("people.json", "judge.json", "answer.json"))
    people.write_text(json.dumps(tree(1, 1, 0, 0)))
    judge.write_text(json.dumps(tree(1, 1, 0, 1)))
    leaves = [{"id": "q0", "score": 1.0}, {"id": "q1", "score": None}]
    answer.write_text(json.dumps({"score": None, "leaves": leaves}))
    found = json.loads(run("agreement", str(people), str(judge), "--json").stdout)
    assert (found["accuracy"]["value"], found["root_error"]["value"]) == (0.75, 0.25)
    both = run("agreement", *map(str, (people, judge, people, answer)))
    assert both.exit_code == 0, both.output
    assert "5 questions compared, 3 left out" in both.stdout
    assert "accuracy 0.800 (" in both.stdout


@pytest.mark.parametrize(
    ("judge", "told"),
    [
        ({"leaves": [{"id": "other", "score": 1}]}, "must be a node of people's tree"),
        ({"leaves": [{"id": "q", "score": 2}, 7]}, "must be a number from 0 to 1"),
        ({"leaves": "x"}, "id"),
    ],
)
def test_a_judges_file_that_does_not_fit_is_refused(tmp_path: Path, judge: Any, told: str) -> None:
    (tmp_path / "people.json").write_text(json.dumps({"id": "q", "question": "?", "score": 1}))
    (tmp_path / "judge.json").write_text(json.dumps(judge))
    result = run("agreement", str(tmp_path / "people.json"), str(tmp_path / "judge.json"))
    assert result.exit_code == 2
    assert told in result.stderr
    assert run("agreement", str(tmp_path / "people.json")).exit_code == 2
