"""OpenHands' events, as version 1.16 writes them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firetrial_runner.streams import OpenHandsEvents
from firetrial_runner.trajectory import Kind
from unit.runner.streams.feeding import feed


def said(source: str, text: str, **more: Any) -> dict[str, Any]:
    message = {"role": "x", "content": [{"type": "text", "text": text}], **more}
    return {"kind": "MessageEvent", "source": source, "llm_message": message}


def action(kind: str, tool: str, call: str = "c", thought: str = "", **given: Any) -> dict[str, Any]:
    return {
        "kind": "ActionEvent",
        "source": "agent",
        "thought": [{"type": "text", "text": thought}] if thought else [],
        "reasoning_content": None,
        "action": {"kind": kind, **given},
        "tool_name": tool,
        "tool_call_id": call,
    }


def seen(kind: str, text: str, call: str = "c", **more: Any) -> dict[str, Any]:
    observation = {"kind": kind, "content": [{"type": "text", "text": text}], "is_error": False, **more}
    return {"kind": "ObservationEvent", "tool_call_id": call, "observation": observation}


def lines(*events: dict[str, Any]) -> list[str]:
    return [json.dumps(event) for event in events]


def finish(text: str) -> dict[str, Any]:
    return action("FinishAction", "finish", message=text)


def test_a_whole_run() -> None:
    create: dict[str, Any] = {"command": "create", "path": "/w/x.py", "file_text": "1\n2\n", "old_str": None}
    told, ending = feed(
        OpenHandsEvents(),
        lines(
            said("user", "How accurate?"),
            action("TerminalAction", "terminal", thought="I look.", command="ls; exit 3", timeout=None),
            seen("TerminalObservation", "naïve 0.93\nb", exit_code=3),
            action("FileEditorAction", "file_editor", "d", **create),
            seen("FileEditorObservation", "File created", "d", prev_exist=False),
            action("FileEditorAction", "file_editor", command="view", path="/w"),
            seen("FileEditorObservation", "x.py", prev_exist=True, is_error=True),
            action("ThinkAction", "think", thought="")
            | {"action": {"kind": "ThinkAction", "thought": "Hm."}},
            seen("ThinkObservation", "Your thought has been logged."),
            finish("Accuracy is 0.93 – naïve."),
            seen("FinishObservation", "Accuracy is 0.93 – naïve."),
        ),
    )
    assert [(s.kind, s.text, {k: v for k, v in s.fields.items() if v is not None}) for s in told] == [
        (Kind.EVENT, "How accurate?", {"source": "user"}),
        (Kind.THOUGHT, "I look.", {}),
        (Kind.COMMAND, "ls; exit 3", {"tool": "terminal", "call": "c", "exit_code": 3}),
        (Kind.OUTPUT, "naïve 0.93", {"call": "c"}),
        (Kind.OUTPUT, "b", {"call": "c"}),
        (Kind.EDIT, "+1\n+2", {"path": "/w/x.py", "change": "add", "call": "d"}),
        (Kind.OUTPUT, "File created", {"call": "d"}),
        (
            Kind.COMMAND,
            '{"command": "view", "path": "/w"}',
            {"tool": "file_editor", "call": "c", "failed": True},
        ),
        (Kind.OUTPUT, "x.py", {"call": "c"}),
        (Kind.THOUGHT, "Hm.", {}),
        (Kind.CONCLUSION, "Accuracy is 0.93 – naïve.", {"source": "finish"}),
    ]
    assert ending.conclusion == "Accuracy is 0.93 – naïve."


def test_a_message_after_which_nothing_is_done_is_the_conclusion() -> None:
    run = lines(
        said("agent", "First I look.", reasoning_content="hidden"),
        action("TerminalAction", "terminal", command="ls"),
        seen("TerminalObservation", ""),
        said("agent", "Found."),
    )
    told, ending = feed(OpenHandsEvents(), run)
    assert (Kind.THOUGHT, "hidden", {"reasoning": True}) in [(s.kind, s.text, s.fields) for s in told]
    assert [s.text for s in told if s.kind is Kind.CONCLUSION] == [ending.conclusion] == ["Found."]


def test_a_call_that_the_model_got_wrong_and_one_that_was_refused() -> None:
    wrong = action("", "terminal") | {"action": None, "tool_call": {"arguments": '{"cmd": 1}'}}
    told, _ = feed(
        OpenHandsEvents(),
        lines(
            wrong,
            {"kind": "AgentErrorEvent", "tool_call_id": "c", "error": "no such field"},
            action("TerminalAction", "terminal", command="rm -rf /"),
            {"kind": "UserRejectObservation", "tool_call_id": "c", "rejection_reason": "no"},
        ),
    )
    assert [(s.kind, s.text, s.fields.get("failed")) for s in told] == [
        (Kind.COMMAND, '{"cmd": 1}', True),
        (Kind.OUTPUT, "no such field", None),
        (Kind.COMMAND, "rm -rf /", True),
        (Kind.OUTPUT, "no", None),
    ]


BROKE = {"kind": "ConversationErrorEvent", "code": "AuthenticationError", "detail": "wrong key"}
WORKS = action("TerminalAction", "terminal", command="sleep 9")


@pytest.mark.parametrize(
    ("events", "why"),
    [
        ([], "the stream holds no event of OpenHands"),
        ([said("user", "How?")], "the stream ends before the agent finished"),
        ([said("agent", "I go."), WORKS], "the stream ends before the agent finished"),
        ([finish(" ")], "the stream ends before the agent finished"),
        ([said("agent", "I go."), BROKE], "it ended with AuthenticationError: wrong key"),
        ([BROKE, WORKS], "the stream ends before the agent finished"),
    ],
)
def test_why_there_is_no_conclusion(events: list[dict[str, Any]], why: str) -> None:
    told, ending = feed(OpenHandsEvents(), lines(*events))
    assert (ending.conclusion, ending.why_none) == ("", why)
    assert Kind.CONCLUSION not in {step.kind for step in told}


def test_what_is_for_people_stays_output() -> None:
    reader = OpenHandsEvents()
    for line in ("Agent is working", "╭─ Agent ─╮", '{"kind": "SystemPromptEvent"}', '{"a": 1}', '{"kind": '):
        assert reader.line(line) is None


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
KINDS = [
    "MessageEvent",
    "ActionEvent",
    "ObservationEvent",
    "AgentErrorEvent",
    "ConversationErrorEvent",
    "PauseEvent",
]
INNER = st.dictionaries(
    st.sampled_from(["kind", "command", "content", "exit_code", "message", "old_str"]),
    VALUES | st.sampled_from(["TerminalAction", "FileEditorAction", "FinishAction", "create"]),
)
NAMES = ("action", "observation", "llm_message", "thought", "tool_call_id", "source", "error", "detail")
EVENTS = st.fixed_dictionaries(
    {"kind": st.sampled_from(KINDS)},
    optional=dict.fromkeys(
        ("action", "observation", "llm_message", "thought", "tool_call_id", "source", "error", "detail"),
        VALUES | INNER,
    ),
)


@given(st.lists(EVENTS, max_size=8))
def test_hostile_lines_become_steps_or_stay_output(events: list[dict[str, Any]]) -> None:
    told, _ = feed(OpenHandsEvents(), lines(*events))
    assert all(isinstance(step.text, str) for step in told)
