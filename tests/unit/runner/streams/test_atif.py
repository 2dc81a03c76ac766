"""ATIF files, read."""

from __future__ import annotations

import json
from typing import Any

import pytest

from firetrial_kit.errors import FiretrialError
from firetrial_runner.streams import Ending, atif
from firetrial_runner.trajectory import Kind, Told

AGENT = {"name": "terminus-2", "version": "2.0", "model_name": "anthropic/claude-sonnet-4-5"}


def document(*steps: dict[str, Any], **more: Any) -> str:
    numbered = [{"step_id": index + 1, **step} for index, step in enumerate(steps)]
    return json.dumps({"schema_version": "ATIF-v1.6", "agent": AGENT, "steps": numbered} | more)


CALL = {
    "source": "agent",
    "message": "I look.",
    "reasoning_content": "There may be data.",
    "timestamp": "2025-10-11T10:30:05Z",
    "model_name": "sonnet",
    "tool_calls": [
        {"tool_call_id": "c1", "function_name": "bash", "arguments": {"command": "ls"}},
        {"tool_call_id": "c2", "function_name": "search", "arguments": {"q": "x", "n": 3}},
        {"tool_call_id": "c3", "function_name": "edit", "arguments": {"path": "a.py", "diff": "+1"}},
    ],
    "observation": {
        "results": [
            {"source_call_id": "c1", "content": "data\nrun.py\n", "extra": {"exit_code": 0}},
            {
                "source_call_id": "c2",
                "content": [{"type": "text", "text": "none"}],
                "extra": {"failed": True},
            },
        ]
    },
    "metrics": {"prompt_tokens": 520, "completion_tokens": 80, "cached_tokens": 200, "cost_usd": 0.00045},
}
ASKED = {"source": "user", "message": "How does order matter?", "timestamp": "2025-10-11T10:30:00Z"}
SAID = {"source": "agent", "message": "It does.", "timestamp": "2025-10-11T10:31:00+00:00"}


def read(text: str) -> tuple[str, list[Told], Ending]:
    found = atif.read(text)
    return found.agent, list(found.steps()), found.ending


def test_a_file_with_every_kind_of_step() -> None:
    name, told, ending = read(document(ASKED, CALL, SAID))
    assert name == "terminus-2"
    assert told == [
        Told(Kind.EVENT, "How does order matter?", {"source": "user"}, "", 0.0),
        Told(
            Kind.MODEL,
            "sonnet",
            {
                "model": {
                    "name": "sonnet",
                    "tokens": {"prompt": 520, "cached": 200, "completion": 80},
                    "cost_usd": 0.00045,
                }
            },
            "",
            5.0,
        ),
        Told(Kind.THOUGHT, "There may be data.", {"reasoning": True}, "", 5.0),
        Told(Kind.THOUGHT, "I look.", {}, "", 5.0),
        Told(Kind.COMMAND, "ls", {"tool": "bash", "call": "c1", "exit_code": 0}, "", 5.0),
        Told(Kind.OUTPUT, "data", {"call": "c1"}, "stdout", 5.0),
        Told(Kind.OUTPUT, "run.py", {"call": "c1"}, "stdout", 5.0),
        Told(Kind.COMMAND, '{"q": "x", "n": 3}', {"tool": "search", "call": "c2", "failed": True}, "", 5.0),
        Told(Kind.OUTPUT, "none", {"call": "c2"}, "stdout", 5.0),
        Told(Kind.THOUGHT, "It does.", {}, "", 60.0),
        Told(Kind.EDIT, "+1", {"path": "a.py", "change": "", "call": "c3"}),
        Told(Kind.CONCLUSION, "It does.", {"source": "the agent's last step"}),
    ]
    assert (ending.conclusion, ending.model, ending.timed) == ("It does.", AGENT["model_name"], True)
    assert (ending.spent.total, ending.spent.cost_usd, ending.spent.wall_s) == (600, None, 60.0)


def test_the_totals_of_a_file_are_believed() -> None:
    final = {"total_prompt_tokens": 9, "total_completion_tokens": 1, "total_cost_usd": 0.5}
    _, _, ending = read(document(ASKED, CALL, SAID, final_metrics=final))
    assert (ending.spent.total, ending.spent.cost_usd) == (10, 0.5)


@pytest.mark.parametrize(
    ("last", "conclusion"),
    [
        ([SAID, {"source": "system", "message": "container removed"}], "It does."),
        ([SAID, ASKED], ""),
        ([CALL], ""),
        ([{"source": "agent", "message": [{"type": "text", "text": "In parts."}]}], "In parts."),
        ([{"source": "agent", "message": " "}], ""),
    ],
)
def test_what_the_last_word_is(last: list[dict[str, Any]], conclusion: str) -> None:
    _, _, ending = read(document(ASKED, *last))
    assert ending.conclusion == conclusion
    assert bool(ending.why_none) != bool(conclusion)


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("", ["file"]),
        ("[]", ["file"]),
        ('{"schema_version": "ATIF-v1.6", "schema_version": "x"}', ["file"]),
        ('{"schema_version": "ATIF-v2.0"}', ["schema_version", "agent.name", "steps"]),
        (document(agent={}), ["agent.name", "steps"]),
        (
            json.dumps(json.loads(document()) | {"steps": [5, {"step_id": 3, "source": "robot"}]}),
            ["steps[0]", "steps[1].step_id", "steps[1].source", "steps[1].message"],
        ),
    ],
)
def test_every_fault_of_a_file_is_told(text: str, fields: list[str]) -> None:
    with pytest.raises(FiretrialError) as caught:
        read(text)
    assert [fault.field for fault in caught.value.faults] == fields


def test_times_that_are_none_are_left_out() -> None:
    _, told, ending = read(document(SAID | {"timestamp": "yesterday"}))
    assert (told[0].offset_s, ending.timed) == (None, False)
    _, told, _ = read(document(SAID | {"timestamp": "2025-10-11T10:30:00"}, CALL))
    assert told[1].offset_s == 5.0
