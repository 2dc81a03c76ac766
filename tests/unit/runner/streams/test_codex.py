"""`codex exec --json`, recorded, cut and hostile."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from firetrial_runner.streams import Codex
from firetrial_runner.trajectory import Kind, Told
from unit.runner.streams.feeding import feed


def lines(*events: Mapping[str, object]) -> list[str]:
    return [json.dumps(event, ensure_ascii=False) for event in events]


STARTED: dict[str, object] = {"type": "turn.started"}
COMPLETED: dict[str, object] = {"type": "turn.completed", "usage": {"input_tokens": 7, "output_tokens": 2}}


def message(text: str) -> dict[str, object]:
    return {"type": "item.completed", "item": {"id": "i9", "type": "agent_message", "text": text}}


@pytest.mark.needs("shared")
def test_a_recorded_stream(shared: Path) -> None:
    told, ending = feed(Codex(), (shared / "streams/codex_events.jsonl").read_text().splitlines())
    assert [(step.kind, step.text) for step in told[-5:]] == [
        (Kind.COMMAND, "/bin/bash -lc 'echo hello-from-tool > made.txt; cat made.txt'"),
        (Kind.OUTPUT, "hello-from-tool"),
        (Kind.THOUGHT, "All done."),
        (Kind.MODEL, "the turn's exchanges"),
        (Kind.CONCLUSION, "All done."),
    ]
    assert told[-5].fields == {"call": "item_1", "exit_code": 0, "failed": None}
    assert (ending.conclusion, ending.spent.total, ending.spent.cached) == ("All done.", 214, 40)


def test_items_of_every_kind() -> None:
    items: list[dict[str, object]] = [
        {"id": "1", "type": "reasoning", "text": "I think"},
        {"id": "2", "type": "file_change", "changes": [{"path": "a.py", "kind": "add"}], "status": "failed"},
        {"id": "3", "type": "web_search", "query": "few-shot order"},
        {"id": "4", "type": "todo_list", "items": [{"text": "run", "completed": True}, {"text": "tell"}]},
        {
            "id": "5",
            "type": "mcp_tool_call",
            "server": "s",
            "tool": "t",
            "arguments": {"a": 1},
            "result": {"content": [{"type": "text", "text": "found\nit"}]},
        },
        {"id": "6", "type": "command_execution", "command": "false", "exit_code": 1, "status": "failed"}
        | {"aggregated_output": ""},
    ]
    told, _ = feed(Codex(), lines(STARTED, *({"type": "item.completed", "item": item} for item in items)))
    assert told[1:] == [
        Told(Kind.THOUGHT, "I think", {"reasoning": True}),
        Told(Kind.EDIT, "", {"path": "a.py", "change": "add", "call": "2", "failed": True}),
        Told(Kind.COMMAND, "few-shot order", {"tool": "web_search", "call": "3"}),
        Told(Kind.THOUGHT, "[x] run\n[ ] tell"),
        Told(Kind.COMMAND, '{"a": 1}', {"tool": "s.t", "call": "5", "failed": None}),
        Told(Kind.OUTPUT, "found", {"call": "5"}, "stdout"),
        Told(Kind.OUTPUT, "it", {"call": "5"}, "stdout"),
        Told(Kind.COMMAND, "false", {"call": "6", "exit_code": 1, "failed": True}),
    ]


def test_a_command_that_never_ended_is_told_at_the_end() -> None:
    item = {"id": "1", "type": "command_execution", "command": "sleep 9", "exit_code": None}
    told, ending = feed(Codex(), lines(STARTED, {"type": "item.started", "item": item}))
    assert told[-1] == Told(Kind.COMMAND, "sleep 9", {"call": "1"})
    assert ending.why_none == "the stream ends before the turn is completed"


@pytest.mark.parametrize(
    ("events", "why"),
    [
        ([], "the stream holds no line of Codex"),
        ([STARTED, message("so far")], "the stream ends before the turn is completed"),
        ([STARTED, COMPLETED], "the turn was completed without a message"),
        ([STARTED, message(" \n"), COMPLETED], "the turn was completed without a message"),
        ([STARTED, message("a"), COMPLETED, STARTED], "the stream ends before the turn is completed"),
        ([STARTED, {"type": "turn.failed", "error": {"message": "quota"}}], "the turn failed: quota"),
        ([STARTED, message("a"), {"type": "error", "message": "429"}], "the turn failed: 429"),
    ],
)
def test_no_conclusion(events: list[dict[str, object]], why: str) -> None:
    _, ending = feed(Codex(), lines(*events))
    assert (ending.conclusion, ending.why_none) == ("", why)


def test_an_error_that_was_tried_again_is_no_failure() -> None:
    _, ending = feed(Codex(), lines(STARTED, {"type": "error", "message": "429"}, message("done"), COMPLETED))
    assert ending.conclusion == "done"


@pytest.mark.parametrize(
    "line",
    [
        "",
        "2025-09-19 ERROR codex_core: stream closed",
        '{"type": "item.compl',
        '{"type": "turn.completed", "type": "turn.failed"}',
        '["turn.completed"]',
        '{"type": "assistant", "message": {}}',
        '{"type": 3}',
        '{"a":' * 5000 + "1" + "}" * 5000,
        '{"type": "turn.completed", "usage": ' + "9" * 5000 + "}",
    ],
)
def test_what_is_none_of_its_lines_stays(line: str) -> None:
    assert Codex().line(line) is None


@pytest.mark.parametrize("usage", [{"input_tokens": -1}, {"input_tokens": True}, {"input_tokens": 1e400}, []])
def test_usage_that_cannot_be_is_unknown(usage: object) -> None:
    _, ending = feed(Codex(), lines(STARTED, message("a"), {"type": "turn.completed", "usage": usage}))
    assert (ending.conclusion, ending.spent.total) == ("a", None)
