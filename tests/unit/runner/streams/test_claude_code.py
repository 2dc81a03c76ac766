"""`claude -p --output-format stream-json`, recorded, cut and hostile."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from firetrial_runner.streams import ClaudeCode
from firetrial_runner.trajectory import Kind, Told
from support.official_logs import CLAUDE_LINES, CLAUDE_RESULT, CLAUDE_SAYS, SONNET, STDERR, lines
from unit.runner.streams.feeding import feed


def fed(*events: dict[str, Any], tail: str = "") -> tuple[list[Told], Any]:
    return feed(ClaudeCode(), (lines(list(events)) + tail).splitlines())


@pytest.mark.needs("shared")
def test_a_recorded_stream(shared: Path) -> None:
    told, ending = feed(ClaudeCode(), (shared / "streams/claude_events.jsonl").read_text().splitlines())
    assert [(step.kind, step.text) for step in told if step.kind is not Kind.MODEL][1:] == [
        (Kind.COMMAND, "echo hello-from-tool > made.txt; cat made.txt"),
        (Kind.OUTPUT, "hello-from-tool"),
        (Kind.THOUGHT, "All done."),
        (Kind.CONCLUSION, "All done."),
    ]
    assert (ending.conclusion, ending.model) == ("All done.", "claude-fake-1")
    spent = ending.spent
    assert (spent.prompt, spent.completion, spent.cost_usd, spent.wall_s) == (200, 14, 0.00135, 0.26)


def test_a_whole_run_with_a_line_of_stderr_after_its_result() -> None:
    told, ending = fed(*CLAUDE_LINES, CLAUDE_RESULT, tail=STDERR)
    assert ending.conclusion == CLAUDE_SAYS
    assert ending.spent.prompt == 8448
    assert ending.spent.total == 9098
    assert told[-1] == Told(Kind.OUTPUT, STDERR.rstrip("\n"), {}, "stdout")
    steps = {(step.kind, step.text): dict(step.fields) for step in told}
    assert steps[Kind.THOUGHT, "The order may matter; I permute it."] == {"reasoning": True}
    assert steps[Kind.EDIT, "+print(1)\n+print(2)"] == {"path": "run.py", "change": "add", "call": "t1"}
    assert steps[Kind.EDIT, "-print(1)\n+print(3)"]["change"] == "update"
    assert steps[Kind.COMMAND, "python no.py"] == {
        "tool": "Bash",
        "call": "t3",
        "failed": True,
        "exit_code": 2,
    }
    assert steps[Kind.OUTPUT, "[2025-09-19T10:05:41] codex"] == {"call": "t2"}


def test_an_exchange_is_told_once_and_its_tokens_only_when_they_are_known() -> None:
    told, _ = fed(*CLAUDE_LINES)
    exchanges = [step.fields["model"] for step in told if step.kind is Kind.MODEL]
    prompt = {"prompt": 2112, "cached": 2000}
    first = {"name": SONNET, "tokens": prompt}
    assert exchanges == [first, first, first, {"name": SONNET, "tokens": prompt | {"completion": 5}}]


@pytest.mark.parametrize(
    ("result", "why"),
    [
        (None, "the stream ends before its result"),
        ({"is_error": True, "result": "Credit balance is too low"}, "ended with an error: Credit balance"),
        ({"subtype": "error_max_turns", "result": None}, "ended with error_max_turns"),
        ({"result": "  "}, "the result is empty"),
        ({"result": {"text": "x"}}, "the result is empty"),
    ],
)
def test_no_conclusion(result: dict[str, Any] | None, why: str) -> None:
    events = [*CLAUDE_LINES, *([CLAUDE_RESULT | result] if result else [])]
    _, ending = fed(*events)
    assert ending.conclusion == ""
    assert ending.why_none.startswith(why)


def test_a_result_that_the_run_goes_on_after_is_not_the_last_word() -> None:
    _, ending = fed(*CLAUDE_LINES, CLAUDE_RESULT, CLAUDE_LINES[1])
    assert ending.why_none == "the stream ends before its result"
    assert ending.spent.prompt == 4 * 2112


def test_calls_without_a_result_are_told_and_their_number_is_bounded() -> None:
    use = {"type": "tool_use", "name": "Bash", "input": {"command": "x"}}
    message = {"id": "m", "content": [use | {"id": f"t{number}"} for number in range(600)]}
    reader = ClaudeCode()
    told = reader.line(json.dumps({"type": "assistant", "message": message}))
    assert told is not None
    assert len(told) == 600 - 256
    assert len(reader.close()) == 256
    assert reader.close() == []


@pytest.mark.parametrize(
    "event",
    [
        {"type": "assistant", "message": "text"},
        {"type": "assistant", "message": {"content": 5}},
        {"type": "assistant", "message": {"content": [5, None, {"type": "tool_use"}, {"type": 7}]}},
        {"type": "user", "message": {"content": [{"type": "tool_result", "content": {"a": [1]}}]}},
        {"type": "user", "message": {"content": "hello"}, "tool_use_result": "text"},
        {"type": "result"},
    ],
)
def test_lines_that_lack_what_they_should_have_do_no_harm(event: dict[str, Any]) -> None:
    told, ending = fed(event)
    assert all(isinstance(step.text, str) for step in told)
    assert ending.conclusion == ""
