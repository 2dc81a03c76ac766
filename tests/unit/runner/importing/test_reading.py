"""Files of each format, read into steps and into what the run came to."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from firetrial_kit.errors import FiretrialError, Reason
from firetrial_runner.importing import reading
from firetrial_runner.importing.imported import Format, Imported
from firetrial_runner.importing.reading import Found
from firetrial_runner.run import Provenance
from firetrial_runner.streams import atif
from firetrial_runner.trajectory import INDEX, lines_of
from support import official_logs as official

Told = Callable[[bytes, Imported], Any]


async def read(folder: Path, data: bytes, told: Imported) -> tuple[Found, list[dict[str, Any]]]:
    path = folder / "source"
    path.write_bytes(data)
    steps: list[dict[str, Any]] = []

    async def sink(name: str, chunk: bytes) -> None:
        if name != INDEX:
            steps.extend(json.loads(line) for line in lines_of(chunk).splitlines())

    return await reading.read(path, told, sink), steps


def of(name: str, form: Format = Format.FIREBENCH) -> Imported:
    agent, *model, _, _ = name.split("/")
    return Imported("t-1", agent, "/".join(model), 1, form)


CONCLUDED = {
    f"{official.CODEX}/{official.ORDER}/20250919100541_48213": official.CODEX_SAYS,
    f"{official.CODEX}/{official.NAIVE}/20250921080000_55555": official.WESTERN_SAYS,
    f"{official.CLAUDE}/{official.ORDER}/20250920091500": official.CLAUDE_SAYS,
    f"{official.OPENHANDS}/{official.ORDER}/20250918101500_31337": official.OPENHANDS_SAYS,
    f"{official.OPENHANDS}/{official.NAIVE}/20250918201500_31338": official.OPENHANDS_SAYS,
}
FAILED = {
    f"{official.CODEX}/{official.ORDER}/20250919113000_10007": "the log ends without a message",
    f"{official.CLAUDE}/{official.ORDER}/20250920101500": "the stream ends before its result",
    f"{official.OPENHANDS}/{official.NAIVE}/20250918211500_31339": "the agent did not finish",
}


def test_every_log_is_looked_at() -> None:
    assert {*CONCLUDED, *FAILED} == set(official.logs())


@pytest.mark.parametrize("name", CONCLUDED)
async def test_logs_with_a_conclusion(tmp_path: Path, name: str) -> None:
    found, steps = await read(tmp_path, official.logs()[name], of(name))
    assert found.conclusion.decode() == CONCLUDED[name]
    assert (found.why_none, found.provenance) == ("", Provenance.ELSEWHERE)
    assert steps
    assert "\\x" not in found.conclusion.decode()
    told = [step["text"] for step in steps if step["kind"] == "conclusion"]
    assert told == [CONCLUDED[name]]


@pytest.mark.parametrize("name", FAILED)
async def test_logs_without(tmp_path: Path, name: str) -> None:
    found, steps = await read(tmp_path, official.logs()[name], of(name))
    assert found.conclusion == b""
    assert found.why_none.startswith(FAILED[name])
    assert steps


@pytest.mark.parametrize(
    "name", [name for name in official.logs() if b"agent_id" in official.logs()[name][:90]]
)
async def test_a_log_that_says_whose_it_is_is_read_by_no_other(tmp_path: Path, name: str) -> None:
    for agent in {"codex", "claude", "openhands"} - {name.split("/", 1)[0]}:
        with pytest.raises(FiretrialError, match="must be what the log says"):
            await read(tmp_path, official.logs()[name], Imported("t-1", agent, "m", 1, Format.FIREBENCH))


async def test_what_is_lacking(tmp_path: Path) -> None:
    names = list(CONCLUDED)
    codex, _ = await read(tmp_path, official.logs()[names[0]], of(names[0]))
    claude, _ = await read(tmp_path, official.logs()[names[2]], of(names[2]))
    openhands, _ = await read(tmp_path, official.logs()[names[3]], of(names[3]))
    alone, _ = await read(tmp_path, b"It helps.", Imported("t-1", "me", "", 1, Format.CONCLUSION))
    assert codex.lacking == ("artifacts", "cost", "exit")
    assert claude.lacking == ("artifacts", "exit", "times")
    assert openhands.lacking == ("artifacts", "cost", "exit", "header", "usage")
    assert alone.lacking == tuple(
        sorted({*codex.lacking, "model", "times", "trajectory", "usage", "wall_time"})
    )
    assert claude.usage is not None
    assert (claude.usage.tokens, claude.usage.cost_usd, claude.usage.wall_s) == (9098, 0.0421, 61.2)
    assert (alone.provenance, alone.usage, alone.chunks) == (Provenance.SELF_REPORTED, None, 0)


async def test_bytes_that_are_no_utf_8_stand_in_the_conclusion_as_they_are(tmp_path: Path) -> None:
    data = official.lines([official.CLAUDE_RESULT]).encode().replace(b"matters", b"mat\xffters")
    data += official.lines([official.CLAUDE_RESULT]).encode().replace(b"matters", b"\\\\ud83d cut \xe9")
    found, steps = await read(tmp_path, data, Imported("t-1", "claude", "m", 1, Format.CLAUDE_CODE))
    assert b"\\ud83d cut \\xe9" in found.conclusion
    assert "順序 mat\\xffters" in steps[0]["text"]
    assert steps[0]["undecoded"] == 1


@pytest.mark.parametrize(
    ("form", "data", "why"),
    [
        (Format.CODEX, b"", "the stream holds no line of Codex"),
        (Format.CLAUDE_CODE, b"\n\n", "the stream holds no line of Claude Code"),
        (Format.FIREBENCH, official.header("codex", "m", "t").encode(), "the log is empty"),
        (Format.CONCLUSION, b" \n", "the conclusion is empty"),
    ],
)
async def test_empty_files(tmp_path: Path, form: Format, data: bytes, why: str) -> None:
    found, _ = await read(tmp_path, data, Imported("t-1", "codex", "m", 1, form))
    assert (found.conclusion, found.why_none) == (b"", why)


async def test_a_header_that_says_another_agent(tmp_path: Path) -> None:
    data = official.header("codex", "gpt-5", "t").encode()
    with pytest.raises(FiretrialError) as caught:
        await read(tmp_path, data, Imported("t-1", "claude", "m", 1, Format.FIREBENCH))
    assert [fault.field for fault in caught.value.faults] == ["header.agent", "header.model"]


async def test_a_line_of_50_megabytes_before_the_result(tmp_path: Path) -> None:
    noise = b'{"type":"user","message":{"content":"' + b"x" * 50_000_000 + b'"}}\n'
    data = noise + official.lines([*official.CLAUDE_LINES, official.CLAUDE_RESULT]).encode()
    found, steps = await read(tmp_path, data, Imported("t-1", "claude", "m", 1, Format.CLAUDE_CODE))
    assert found.conclusion.decode() == official.CLAUDE_SAYS
    kept = sum(len(step["text"]) for step in steps if step["kind"] == "output" and "call" not in step)
    assert kept == len(noise) - 1


async def test_a_conclusion_that_is_too_long_is_cut_and_says_so(tmp_path: Path) -> None:
    long = official.CLAUDE_RESULT | {"result": "é" * 600_000}
    data = official.lines([long]).encode()
    found, steps = await read(tmp_path, data, Imported("t-1", "claude", "m", 1, Format.CLAUDE_CODE))
    assert len(found.conclusion) == 1024 * 1024
    assert steps[-1]["text"] == f"{1_200_000 - 1024 * 1024} bytes of the conclusion were cut off"
    assert sum(len(step["text"]) for step in steps if step["kind"] == "conclusion") == 600_000


async def test_an_atif_file_and_what_it_lacks(tmp_path: Path) -> None:
    steps = [
        {"step_id": 1, "source": "user", "message": "Why?"},
        {"step_id": 2, "source": "agent", "message": "é"},
    ]
    agent = {"name": "terminus-2", "version": "1", "model_name": "m"}
    data = json.dumps({"schema_version": "ATIF-v1.4", "agent": agent, "steps": steps}).encode("utf-16")
    found, told = await read(tmp_path, data, Imported("t-1", "terminus-2", "", 1, Format.ATIF))
    assert found.conclusion.decode() == "é"
    assert [step["kind"] for step in told] == ["event", "thought", "conclusion"]
    assert found.lacking == ("artifacts", "cost", "exit", "times", "usage", "wall_time")


@pytest.mark.parametrize(("form", "most"), [(Format.ATIF, atif.MAX_BYTES), (Format.CONCLUSION, 1024 * 1024)])
async def test_files_that_are_read_whole_are_bounded(tmp_path: Path, form: Format, most: int) -> None:
    with pytest.raises(FiretrialError) as caught:
        await read(tmp_path, b" " * (most + 1), Imported("t-1", "codex", "m", 1, form))
    assert caught.value.reason is Reason.TOO_LARGE
