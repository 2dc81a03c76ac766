"""`rubric score` and `rubric grade`: JSON out, faults on both streams, exit codes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import CliRunner, Result

from firetrial_judge.rubric.cli import rubric_group


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
