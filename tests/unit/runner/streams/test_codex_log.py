"""Codex's log in blocks: whose words a timestamp is, and when the last message is the conclusion."""

from __future__ import annotations

import json

import pytest

from firetrial_runner.streams import CodexLog
from firetrial_runner.streams.codex_log import CodexEither
from firetrial_runner.trajectory import Kind
from support.official_logs import CODEX_LOG, CODEX_SAYS
from unit.runner.streams.feeding import feed

SAID = "[2025-09-19T10:00:05] codex\n\nIt helps.\n"
COUNTED = "[2025-09-19T10:00:05] tokens used: 1,234\n"
BEGUN = "[2025-09-19T10:00:00] OpenAI Codex v0.39.0 (research preview)\n--------\n"


def test_a_whole_log_whose_text_holds_timestamps() -> None:
    told, ending = feed(CodexLog(), CODEX_LOG.splitlines())
    assert ending.conclusion == CODEX_SAYS
    assert (ending.spent.total, ending.spent.wall_s, ending.timed) == (6002, 63.0, True)
    assert told[-1].kind is Kind.CONCLUSION
    commands = [(step.text, dict(step.fields), step.offset_s) for step in told if step.kind is Kind.COMMAND]
    assert commands == [
        ("bash -lc 'cat > run.py <<EOF\nprint(\"start\")\nEOF\npython run.py'", {"exit_code": 0}, 12.0),
        ("bash -lc 'python check.py'", {"exit_code": 1}, 49.0),
    ]
    edits = [(dict(step.fields), step.text) for step in told if step.kind is Kind.EDIT]
    assert edits == [
        ({"path": "notes.md", "change": "update"}, "@@ -1 +1,3 @@\n # Notes\n\n+order matters"),
        ({"path": "results/summary.csv", "change": "add"}, "order,accuracy"),
    ]
    output = [step.text for step in told if step.kind is Kind.OUTPUT]
    assert "[2025-09-19T10:06:09] codex" in output
    assert "final_thought='nothing of this is a conclusion', outputs={}" in output
    thoughts = [step.text for step in told if step.kind is Kind.THOUGHT]
    assert thoughts[0].startswith("**Planning the comparison**")
    assert len(thoughts) == 2


@pytest.mark.parametrize(
    ("log", "conclusion", "why"),
    [
        ("", "", "the log holds no block of Codex"),
        ("just text\n[2025-09-19 10:00:05] codex\n", "", "the log holds no block of Codex"),
        (SAID, "It helps.", ""),
        (SAID + COUNTED, "It helps.", ""),
        (SAID + COUNTED + "Shutting down\n", "It helps.", ""),
        (COUNTED + SAID, "", "the log ends within a message"),
        ("[2025-09-19T10:00:05] codex\n\n" + COUNTED, "", "the last message is empty"),
        (SAID + COUNTED + "[2025-09-19T10:00:09] thinking\nmore\n", "", "after a block 'thinking'"),
        (SAID + "[2025-09-19T10:00:09] exec ls in /w\n", "", "after a block 'exec'"),
        (SAID + "[2025-09-19T10:00:09] ERROR: quota exceeded\n", "", "with an error: ERROR: quota exceeded"),
        ("[2025-99-99T10:00:05] codex\nNo day.\n", "", "the log holds no block of Codex"),
    ],
)
def test_where_a_log_ends(log: str, conclusion: str, why: str) -> None:
    _, ending = feed(CodexLog(), (BEGUN * bool(conclusion or "block '" in why) + log).splitlines())
    assert ending.conclusion == conclusion
    assert ending.why_none.endswith(why)


def test_a_time_that_runs_backwards_begins_no_block() -> None:
    log = SAID.replace("It helps.", "It helps:\n[2024-01-01T00:00:00] codex\nas before.") + COUNTED
    _, ending = feed(CodexLog(), log.splitlines())
    assert ending.conclusion == "It helps:\n[2024-01-01T00:00:00] codex\nas before."


def test_colours_and_carriage_returns_are_no_part_of_a_block() -> None:
    log = "\x1b[2m[2025-09-19T10:00:05]\x1b[0m \x1b[35mcodex\x1b[0m\r\nIt \x1b[1mhelps\x1b[0m.\r\n"
    _, ending = feed(CodexLog(), log.split("\n"))
    assert ending.conclusion == "It helps."


def test_a_message_of_any_length_is_the_conclusion() -> None:
    message = "word " * 500_000
    told, ending = feed(CodexLog(), [*SAID.splitlines()[:2], *[message] * 2])
    assert len(ending.conclusion) > 4_000_000
    assert "".join(step.text for step in told if step.kind is Kind.THOUGHT).count("word") == 1_000_000


def test_either_of_codexs_formats_is_told_by_the_first_line() -> None:
    events = [
        {"type": "turn.started"},
        {"type": "item.completed", "item": {"id": "1", "type": "agent_message", "text": "By JSON."}},
        {"type": "turn.completed", "usage": {}},
    ]
    assert feed(CodexEither(), ["", *map(json.dumps, events)])[1].conclusion == "By JSON."
    blocks = [*SAID.splitlines(), *map(json.dumps, events)]
    assert feed(CodexEither(), blocks)[1].conclusion.startswith("It helps.\n{")
    assert feed(CodexEither(), [])[1].why_none == "the log is empty"
