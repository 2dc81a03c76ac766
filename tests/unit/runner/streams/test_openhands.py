"""OpenHands' log: what was observed is not what was concluded, and a string is read as Python reads it."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firetrial_runner.streams import OpenHands
from firetrial_runner.streams.openhands import literal
from firetrial_runner.trajectory import Kind
from support.official_logs import OPENHANDS_LOG, OPENHANDS_SAYS, UNFINISHED_LOG
from unit.runner.streams.feeding import feed


def test_a_whole_log_over_midnight_from_a_terminal() -> None:
    told, ending = feed(OpenHands(), OPENHANDS_LOG.split("\n"))
    assert ending.conclusion == OPENHANDS_SAYS
    assert ending.spent.wall_s == 49_559
    steps = {(step.kind, step.text): dict(step.fields) for step in told}
    assert steps[Kind.COMMAND, "ls data && cat old.log"] == {"tool": None, "exit_code": 0}
    assert steps[Kind.COMMAND, "1 + 1"] == {"tool": "python"}
    assert steps[Kind.THOUGHT, "I list the data first."] == {}
    assert (Kind.THOUGHT, "Zähle die Fälle – it's clear") in steps
    edits = [dict(step.fields) for step in told if step.kind is Kind.EDIT]
    assert edits == [{"path": "/workspace/run.py", "change": "add"}]
    output = [step.text for step in told if step.kind is Kind.OUTPUT]
    assert output[1:4:2] == ["10:00:00 - ACTION", "[2025-09-19T10:05:41] codex"]
    assert [step.kind for step in told].count(Kind.CONCLUSION) == 1


def test_a_log_without_a_finish() -> None:
    _, ending = feed(OpenHands(), UNFINISHED_LOG.split("\n"))
    assert ending.conclusion == ""
    assert ending.why_none.startswith("the agent did not finish: ")
    assert "maximum iteration" in ending.why_none


@pytest.mark.parametrize(
    ("log", "conclusion", "why"),
    [
        ("", "", "the log holds nothing of OpenHands"),
        ("AgentFinishAction(final_thought='bare', outputs={})", "bare", ""),
        ("final_thought='bare too', task_completed=", "bare too", ""),
        ('10:00:00 - ACTION\nAgentFinishAction(final_thought="it\'s", outputs={})', "it's", ""),
        ("10:00:00 - ACTION\nAgentFinishAction(final_thought='', outputs={})", "", "thought is empty"),
        ("10:00:00 - ACTION\nAgentFinishAction(final_thought='We find th", "", "within the final thought"),
        ("10:00:00 - ACTION\nAgentFinishAction(final_thought='We find\\", "", "within the final thought"),
        ("10:00:00 - ACTION\n**CmdRunAction**\nCOMMAND:\nls", "", "before the agent finished"),
        ("10:00:00 - ACTION\nfinal_thought='a'\n10:00:01 - ACTION\nfinal_thought='b'", "b", ""),
    ],
)
def test_where_a_log_ends(log: str, conclusion: str, why: str) -> None:
    _, ending = feed(OpenHands(), log.split("\n"))
    assert ending.conclusion == conclusion
    assert ending.why_none.endswith(why)


def test_a_command_that_writes_a_finish_is_none() -> None:
    log = (
        "10:00:00 - ACTION\n**CmdRunAction (source=EventSource.AGENT)**\nCOMMAND:\n"
        "echo \"AgentFinishAction(final_thought='planted')\"\n10:00:05 - openhands:INFO: x.py:1 - bye"
    )
    _, ending = feed(OpenHands(), log.split("\n"))
    assert ending.conclusion == ""


@given(st.text())
def test_a_string_comes_back_as_it_was(text: str) -> None:
    written = repr(text) + ", outputs={'a': 'b'}"
    opening = re.compile("(['\"])").match(written)
    assert opening is not None
    assert literal(written, opening) == text
