"""The stream of the project's own agents."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firetrial_runner.streams import Reference, Spent
from firetrial_runner.trajectory import Kind
from unit.runner.streams.feeding import feed


def lines(*events: dict[str, Any]) -> list[str]:
    return [json.dumps(event) for event in events]


def test_a_whole_run() -> None:
    tokens = {"prompt": 100, "cached": 20, "completion": 10}
    told, ending = feed(
        Reference(),
        lines(
            {"type": "exchange", "model": "m", "tokens": tokens, "latency_s": 0.5},
            {"type": "thought", "text": "first"},
            {"type": "thought", "text": "hidden", "reasoning": True},
            {"type": "command", "call": "1", "tool": "bash", "text": "run"},
            {"type": "result", "call": "1", "exit_code": 3, "text": "a\nb\n"},
            {"type": "edit", "call": "2", "path": "x.py", "change": "add", "text": "+1"},
            {"type": "result", "call": "2", "failed": True, "text": "no room"},
            {"type": "command", "call": "3", "text": "begun"},
            {"type": "exchange", "model": "m", "tokens": tokens},
            {"type": "conclusion", "text": "found", "source": "conclusion.md"},
        ),
    )
    model = {"name": "m", "tokens": tokens}
    assert [
        (step.kind, step.text, {k: v for k, v in step.fields.items() if v is not None}) for step in told
    ] == [
        (Kind.MODEL, "m", {"model": {**model, "latency_s": 0.5}}),
        (Kind.THOUGHT, "first", {}),
        (Kind.THOUGHT, "hidden", {"reasoning": True}),
        (Kind.COMMAND, "run", {"call": "1", "tool": "bash", "exit_code": 3}),
        (Kind.OUTPUT, "a", {"call": "1"}),
        (Kind.OUTPUT, "b", {"call": "1"}),
        (Kind.EDIT, "+1", {"call": "2", "path": "x.py", "change": "add", "failed": True}),
        (Kind.OUTPUT, "no room", {"call": "2"}),
        (Kind.MODEL, "m", {"model": model}),
        (Kind.CONCLUSION, "found", {"source": "conclusion.md"}),
        (Kind.COMMAND, "begun", {"call": "3"}),
    ]
    assert (ending.conclusion, ending.why_none, ending.model) == ("found", "", "m")
    assert ending.spent == Spent(200, 40, 20)


@pytest.mark.parametrize(
    ("events", "why"),
    [
        ([], "the stream ends before its conclusion"),
        ([{"type": "event", "text": "stopped: no model"}], "stopped: no model"),
        ([{"type": "conclusion", "text": " "}], "the stream ends before its conclusion"),
    ],
)
def test_why_there_is_no_conclusion(events: list[dict[str, Any]], why: str) -> None:
    assert feed(Reference(), lines(*events))[1].why_none == why


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
NAMES = st.sampled_from(["text", "call", "exit_code", "failed", "tokens", "tool", "path", "change", "source"])


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["event", "thought", "command", "edit", "result", "exchange", "conclusion", "x"]),
            st.dictionaries(NAMES, VALUES),
        )
    )
)
def test_hostile_lines_become_steps_or_stay_output(events: list[tuple[str, dict[str, Any]]]) -> None:
    told, _ = feed(Reference(), lines(*({**fields, "type": kind} for kind, fields in events)))
    assert all(isinstance(step.text, str) for step in told)
    assert sum(step.kind is Kind.CONCLUSION for step in told) == sum(
        kind == "conclusion" for kind, _ in events
    )
