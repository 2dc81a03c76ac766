"""The commands that hand proposals in and show what is said of them, and the options of the gate."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from firetrial.parser.v1 import parser_service_pb2 as parser
from firetrial.plan.v1.plan_pb2 import Gate
from firetrial_client.cli.planning import Wanted
from unit.client.cli.conftest import Call
from unit.client.fakes import World

PLAN = {
    "title": "sound",
    "hypothesis": "A is faster than B.",
    "experiments": [{"goal": "Time both.", "datasets": ["arrays"], "metrics": ["seconds"]}],
    "risks": ["One machine."],
}


def written(tmp_path: Path, **changes: Any) -> str:
    path = tmp_path / "proposal.json"
    path.write_text(json.dumps(PLAN | changes))
    return str(path)


def test_a_proposal_is_handed_in_and_waited_for(firetrial: Call, world: World, tmp_path: Path) -> None:
    shown = firetrial("proposals", "submit", written(tmp_path), "--agent", "a@1", "--task", "t-1").output
    request = world.headers[-1]
    assert (request.title, request.agent_id, request.task_id) == ("sound", "a@1", "t-1")
    assert request.parts.experiments[0].datasets == ["arrays"]
    assert "state     assessed" in shown
    assert "standard: high, confidence 4 of 5 (m; )" in shown
    assert "So it is.\\x1b[31m" in shown
    assert "50% of 2 claims, by lexical" in shown
    assert "masked in abstract: we win (says what does better)" in shown


def test_waiting_can_be_left_out_and_results_be_masked(
    firetrial: Call, answer: Any, world: World, tmp_path: Path
) -> None:
    told = answer("proposals", "submit", written(tmp_path), "--no-wait", "--mask-results")
    assert told["state"] == "PROPOSAL_STATE_SUBMITTED"
    assert world.headers[-1].outcomes == parser.SubmitProposalRequest.OUTCOMES_MASK
    answer("proposals", "submit", "--paper", "f00")
    assert world.headers[-1].paper_id == "f00"


def test_one_that_cannot_be_assessed_ends_with_seven(firetrial: Call, tmp_path: Path) -> None:
    ended = firetrial("proposals", "submit", written(tmp_path, title="broken"), code=7)
    assert "no usable answer" in ended.output


@pytest.mark.parametrize("text", ["{", "[]"])
def test_a_file_that_holds_none_is_a_usage_error(firetrial: Call, tmp_path: Path, text: str) -> None:
    (tmp_path / "p.json").write_text(text)
    firetrial("proposals", "submit", str(tmp_path / "p.json"), code=2)


def test_unknown_fields_are_told(firetrial: Call, tmp_path: Path) -> None:
    ended = firetrial("proposals", "submit", written(tmp_path, resultz="93"), code=2)
    assert "resultz" in ended.output
    firetrial("proposals", "submit", code=2)


def test_they_are_listed_and_shown(firetrial: Call, answer: Any, tmp_path: Path) -> None:
    firetrial("proposals", "submit", written(tmp_path, title="weak"))
    row = firetrial("proposals", "list").output.splitlines()[1]
    assert row.split() == ["q-weak", "assessed", "low", "4", "low", "4", "weak"]
    assert answer("proposals", "show", "q-weak")["support"]["ratio"] == 0.5
    assert answer("proposals", "list")[0]["id"] == "q-weak"
    firetrial("proposals", "show", "q-none", code=4)


def gate(*told: str, agents: tuple[str, ...] = ("a@1", "b@2")) -> dict[tuple[str, str], str]:
    made = Wanted(gate="aggressive", gate_confidence=3, proposal=told)._gate(agents)
    assert made is not None
    assert (made.mode, made.min_confidence) == (Gate.MODE_AGGRESSIVE, 3)
    return {(one.agent_id, one.task_id): one.proposal_id for one in made.proposals}


def test_proposals_of_the_gate_are_of_all_or_of_one_by_name_or_id() -> None:
    assert gate("q-1") == {("a@1", ""): "q-1", ("b@2", ""): "q-1"}
    assert gate("a=q-1", "b@2:t-1=q-2") == {("a@1", ""): "q-1", ("b@2", "t-1"): "q-2"}
    assert Wanted()._gate(["a@1"]) is None


def test_a_gate_that_contradicts_itself_is_a_usage_error(firetrial: Call) -> None:
    for options in (["--proposal", "q-1"], ["--gate-confidence", "3"]):
        ended = firetrial("run", "--task", "t-1", "--agent", "a@1", *options, code=2)
        assert "go with --gate" in ended.output
