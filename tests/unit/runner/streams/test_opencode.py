"""opencode's stream, as version 1.18 writes it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firetrial_runner.streams import OpenCode, Spent
from firetrial_runner.trajectory import Kind
from unit.runner.streams.feeding import feed

START: dict[str, Any] = {"type": "step_start", "part": {"type": "step-start"}}


def lines(*events: dict[str, Any]) -> list[str]:
    return [json.dumps(event) for event in events]


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "part": {"type": "text", "text": said}}


def finish(reason: str) -> dict[str, Any]:
    tokens = {"input": 80, "output": 8, "reasoning": 2, "cache": {"read": 20, "write": 5}}
    return {"type": "step_finish", "part": {"reason": reason, "tokens": tokens, "cost": 0}}


def tool(name: str, given: dict[str, Any], **state: Any) -> dict[str, Any]:
    told = {"status": "completed", "input": given, "output": "", **state}
    return {"type": "tool_use", "part": {"type": "tool", "tool": name, "callID": "c", "state": told}}


def test_a_whole_run() -> None:
    told, ending = feed(
        OpenCode(),
        lines(
            START,
            text("I look."),
            tool("bash", {"command": "ls"}, output="a\nb\n", metadata={"exit": 3}),
            tool("write", {"filePath": "x.py", "content": "1\n2"}),
            tool(
                "edit", {"filePath": "x.py", "oldString": "1", "newString": "3"}, status="error", error="no"
            ),
            tool("glob", {"pattern": "*"}, output="x.py"),
            finish("tool-calls"),
            START,
            {"type": "reasoning", "part": {"text": "hidden"}},
            text("Found."),
            text("All of it."),
            finish("stop"),
        ),
    )
    tokens = {"prompt": 105, "cached": 20, "completion": 10}
    assert [(s.kind, s.text, {k: v for k, v in s.fields.items() if v is not None}) for s in told] == [
        (Kind.THOUGHT, "I look.", {}),
        (Kind.COMMAND, "ls", {"tool": "bash", "call": "c", "exit_code": 3}),
        (Kind.OUTPUT, "a", {"call": "c"}),
        (Kind.OUTPUT, "b", {"call": "c"}),
        (Kind.EDIT, "+1\n+2", {"path": "x.py", "change": "update", "call": "c"}),
        (Kind.EDIT, "-1\n+3", {"path": "x.py", "change": "update", "call": "c", "failed": True}),
        (Kind.OUTPUT, "no", {"call": "c"}),
        (Kind.COMMAND, '{"pattern": "*"}', {"tool": "glob", "call": "c"}),
        (Kind.OUTPUT, "x.py", {"call": "c"}),
        (Kind.MODEL, "the step's exchange", {"model": {"tokens": tokens}}),
        (Kind.THOUGHT, "hidden", {"reasoning": True}),
        (Kind.THOUGHT, "Found.", {}),
        (Kind.THOUGHT, "All of it.", {}),
        (Kind.MODEL, "the step's exchange", {"model": {"tokens": tokens}}),
        (Kind.CONCLUSION, "Found.\nAll of it.", {"source": "the last step's text"}),
    ]
    assert (ending.conclusion, ending.spent) == ("Found.\nAll of it.", Spent(210, 40, 20))


@pytest.mark.parametrize(
    ("events", "why"),
    [
        ([], "the stream is empty"),
        ([START, text("half")], "the stream ends before the model stops"),
        ([START, text("cut"), finish("length")], "the stream ends before the model stops"),
        ([START, text("said"), finish("stop"), START], "the stream ends before the model stops"),
        (
            [START, {"type": "error", "error": {"name": "APIError", "data": {"message": "no key"}}}],
            "it ended with an error: no key",
        ),
    ],
)
def test_why_there_is_no_conclusion(events: list[dict[str, Any]], why: str) -> None:
    _, ending = feed(OpenCode(), lines(*events))
    assert (ending.conclusion, ending.why_none) == ("", why)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
PARTS = st.dictionaries(st.sampled_from(["text", "tool", "state", "tokens", "reason", "callID"]), VALUES)
TYPES = st.sampled_from(["step_start", "step_finish", "text", "reasoning", "tool_use", "error", "x"])


@given(st.lists(st.tuples(TYPES, st.one_of(PARTS, VALUES))))
def test_hostile_lines_become_steps_or_stay_output(events: list[tuple[str, Any]]) -> None:
    told, _ = feed(OpenCode(), lines(*({"type": kind, "part": part, "error": part} for kind, part in events)))
    assert all(isinstance(step.text, str) for step in told)
