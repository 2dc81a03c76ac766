"""Recorded streams as a run brings them: in any pieces, with noise in them, and broken off anywhere."""

from __future__ import annotations

import gzip
import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firetrial_runner import programs
from firetrial_runner.trajectory import FOLDER, Recorder

FOUND = "Naïve baselines reach 0.5 – no more 🎯."


def lines(*events: dict[str, Any]) -> bytes:
    return "".join(json.dumps(event, ensure_ascii=False) + "\n" for event in events).encode()


STREAMS = {
    "codex@0.171.0": lines(
        {"type": "thread.started", "thread_id": "t"},
        {"type": "turn.started"},
        {
            "type": "item.completed",
            "item": {
                "id": "1",
                "type": "command_execution",
                "command": "run",
                "aggregated_output": "FINAL CONCLUSION:\nü\n",
                "exit_code": 0,
                "status": "completed",
            },
        },
        {"type": "item.completed", "item": {"id": "2", "type": "agent_message", "text": FOUND}},
        {"type": "turn.completed", "usage": {"input_tokens": 10, "output_tokens": 2}},
    ),
    "claude-code@2.1.197": lines(
        {"type": "system", "subtype": "init", "session_id": "s", "model": "m"},
        {
            "type": "assistant",
            "message": {
                "id": "a",
                "usage": {"input_tokens": 1},
                "content": [{"type": "tool_use", "id": "1", "name": "Bash", "input": {"command": "run"}}],
            },
        },
        {
            "type": "user",
            "message": {
                "content": [{"type": "tool_result", "tool_use_id": "1", "content": "FINAL CONCLUSION:\nü"}]
            },
        },
        {"type": "result", "subtype": "success", "result": FOUND},
    ),
    "opencode@1.18.33": lines(
        {"type": "step_start", "part": {}},
        {
            "type": "tool_use",
            "part": {
                "tool": "bash",
                "callID": "1",
                "state": {
                    "status": "completed",
                    "input": {"command": "run"},
                    "output": "FINAL CONCLUSION:\nü\n",
                    "metadata": {"exit": 0},
                },
            },
        },
        {"type": "step_start", "part": {}},
        {"type": "text", "part": {"text": FOUND}},
        {"type": "step_finish", "part": {"reason": "stop", "tokens": {"input": 10, "output": 2}}},
    ),
    "openhands@1.16.0": lines(
        {
            "kind": "MessageEvent",
            "source": "user",
            "llm_message": {"content": [{"type": "text", "text": "FINAL CONCLUSION: none"}]},
        },
        {
            "kind": "ActionEvent",
            "source": "agent",
            "thought": [],
            "action": {"command": "run", "kind": "TerminalAction"},
            "tool_name": "terminal",
            "tool_call_id": "1",
        },
        {
            "kind": "ObservationEvent",
            "tool_call_id": "1",
            "observation": {
                "content": [{"type": "text", "text": "FINAL CONCLUSION:\nü"}],
                "exit_code": 0,
                "kind": "TerminalObservation",
            },
        },
        {
            "kind": "ActionEvent",
            "source": "agent",
            "thought": [],
            "action": {"message": FOUND, "kind": "FinishAction"},
            "tool_name": "finish",
            "tool_call_id": "2",
        },
    ),
    "reference": lines(
        {"type": "exchange", "model": "m", "tokens": {"prompt": 10, "completion": 2}},
        {"type": "command", "call": "1", "tool": "bash", "text": "run"},
        {"type": "result", "call": "1", "exit_code": 0, "text": "FINAL CONCLUSION:\nü\n"},
        {"type": "conclusion", "text": FOUND},
    ),
}


async def read(
    program: str, pieces: list[tuple[str, bytes]], *, paid_here: bool = False
) -> tuple[programs.Reading, list[dict[str, Any]]]:
    """A stream as it is recorded: how it was read, and its steps."""
    kept: list[bytes] = []

    async def sink(name: str, data: bytes) -> None:
        if name.startswith(FOLDER):
            kept.append(gzip.decompress(data))

    reading = programs.reading(program, paid_here=paid_here)
    recorder = Recorder(sink, reading.see, reading.reader)
    for number, (stream, data) in enumerate(pieces):
        await recorder.output(stream, data, 0.1 * number)
    await recorder.end_output()
    await recorder.close()
    return reading, [json.loads(line) for line in b"".join(kept).splitlines()]


@pytest.mark.parametrize("program", list(STREAMS))
async def test_the_conclusion_is_the_streams_and_not_what_a_command_printed(program: str) -> None:
    reading, steps = await read(program, [("stdout", STREAMS[program])])
    found = reading.found()
    assert found is not None
    assert (found.text, found.source) == (FOUND, f"the stream of {program.partition('@')[0]}")
    kinds = [step["kind"] for step in steps]
    assert [kind for kind in kinds if kind in {"command", "output"}] == ["command", "output", "output"]
    assert kinds.count("conclusion") == 1
    assert [step["text"] for step in steps if step["kind"] == "output"] == ["FINAL CONCLUSION:", "ü"]


@pytest.mark.parametrize("program", [name for name in STREAMS if "openhands" not in name])  # tells of none
async def test_exchanges_are_told_once_by_the_gateway_where_there_is_one(program: str) -> None:
    _, without = await read(program, [("stdout", STREAMS[program])])
    _, through = await read(program, [("stdout", STREAMS[program])], paid_here=True)
    rest = [(step["kind"], step["text"]) for step in without if step["kind"] != "model"]
    assert len(rest) < len(without)
    assert rest == [(step["kind"], step["text"]) for step in through]


@pytest.mark.parametrize("program", list(STREAMS))
@given(cuts=st.lists(st.integers(0, 2000), max_size=12))
async def test_pieces_do_not_matter(program: str, cuts: list[int]) -> None:
    stream = STREAMS[program]
    edges = [0, *sorted(cut for cut in cuts if cut < len(stream)), len(stream)]
    pieces = [("stdout", stream[a:b]) for a, b in pairwise(edges)]
    reading, steps = await read(program, pieces)
    _, whole = await read(program, [("stdout", stream)])
    assert [(s["kind"], s["text"]) for s in steps] == [(s["kind"], s["text"]) for s in whole]
    assert reading.found() is not None


@pytest.mark.parametrize("program", list(STREAMS))
@given(end=st.integers(0, 2000))
async def test_a_stream_that_breaks_off_concludes_nothing(program: str, end: int) -> None:
    stream = STREAMS[program]
    last = stream.rstrip(b"\n").rindex(b"\n") + 1
    reading, steps = await read(program, [("stdout", stream[: min(end, last + 5)])])
    assert reading.found() is None
    assert reading.why_none().startswith(program.partition("@")[0])
    assert "conclusion" not in {step["kind"] for step in steps}


@pytest.mark.parametrize("program", list(STREAMS))
async def test_what_is_not_of_the_stream_stays_output(program: str) -> None:
    first, rest = STREAMS[program].split(b"\n", 1)
    noise = b'warning: \xff\xfe caf\xc3\xa9 {"type": 7}\n[1, 2]\n\n'
    pieces = [
        ("stdout", first + b"\n" + noise),
        ("stderr", b"panic: {\n"),
        ("stdout", rest),
        ("stderr", b"end"),
    ]
    reading, steps = await read(program, pieces)
    assert reading.found() is not None
    outputs = [(step["stream"], step["text"]) for step in steps if step["kind"] == "output"]
    assert ("stdout", 'warning: \\xff\\xfe café {"type": 7}') in outputs
    assert [text for stream, text in outputs if stream == "stderr"] == ["panic: {", "end"]


async def test_a_conclusion_that_is_too_long_says_how_much_was_cut() -> None:
    stream = lines({"type": "conclusion", "text": "x" * 1_200_000})
    reading, _ = await read("reference", [("stdout", stream)])
    found = reading.found()
    assert found is not None
    assert (len(found.text), found.cut) == (1024 * 1024, 1_200_000 - 1024 * 1024)


async def test_a_command_that_is_no_program_is_scanned_for_its_mark() -> None:
    reading, steps = await read("", [("stdout", b"working\nFINAL CONCLUSION: more neighbours help\n")])
    found = reading.found()
    assert found is not None
    assert found.text == "more neighbours help"
    assert {step["kind"] for step in steps} == {"output"}
    silent, _ = await read("", [("stdout", b"working\n")])
    assert (silent.found(), silent.why_none()) == (None, "no text after 'FINAL CONCLUSION:'")
