"""Tables can be cut by other programs, and JSON keeps the contract's names."""

import json

import pytest

from firetrial.parser.v1 import task_pb2
from firetrial.runner.v1 import run_pb2
from firetrial_client.cli.output import columns, fields, plain, show_json, when, word


def test_columns_are_aligned_and_never_cut_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    columns(("A", "LONG"), [("xyz", "y" * 300), ("\x1b[1m", "z")])
    lines = capsys.readouterr().out.splitlines()
    assert lines == ["A        LONG", "xyz      " + "y" * 300, "\\x1b[1m  z"]


def test_fields_without_a_value_are_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    fields([("name", "x"), ("no", ""), ("longer", 0)])
    assert capsys.readouterr().out == "name    x\nlonger  0\n"


def test_messages_keep_the_contracts_names_and_empty_fields() -> None:
    task = plain(task_pb2.Task(id="t-1"))
    assert (task["id"], task["broken"], task["has_truth"], task["paper_id"]) == ("t-1", [], False, "")
    run = run_pb2.Run(id="r-1", state=run_pb2.RUN_STATE_ENDED)
    assert plain({"runs": [run], "none": None})["runs"][0]["state"] == "RUN_STATE_ENDED"


def test_json_is_one_line_whatever_is_in_it(capsys: pytest.CaptureFixture[str]) -> None:
    show_json({"text": "a\nb\ud800"})
    out = capsys.readouterr().out
    assert out.count("\n") == 1
    assert json.loads(out)["text"].startswith("a\nb")


def test_words() -> None:
    assert word(run_pb2.RunState, run_pb2.RUN_STATE_QUEUED) == "queued"
    assert word(run_pb2.Outcome, run_pb2.OUTCOME_AGENT_FAILED) == "agent_failed"
    assert word(run_pb2.Outcome, 0) == ""
    assert when(run_pb2.Run().queued_at) == ""
