"""The header of a log of the official layout."""

from __future__ import annotations

import pytest

from firetrial_kit.errors import FiretrialError
from firetrial_runner.importing.imported import Format, Imported
from firetrial_runner.importing.log import LogHeader, disagreements, header_of, reader_of
from firetrial_runner.streams import ClaudeCode, OpenHands
from support.official_logs import header


def test_a_header() -> None:
    head = header("Claude_Code", "openai/o4-mini", "t").encode()
    assert header_of(head + b"rest") == LogHeader("claude-code", "t", "openai/o4-mini", len(head))
    assert header_of(head.replace(b"\n", b"\r\n")) is not None
    assert header_of(head.rstrip()) == LogHeader("claude-code", "t", "openai/o4-mini", len(head) - 1)
    assert header_of(header("codex", "", "t").encode()) is not None


@pytest.mark.parametrize(
    "head", [b"", b"10:00:00 - openhands:INFO", b"\n" + header("codex", "m", "t").encode()]
)
def test_no_header(head: bytes) -> None:
    assert header_of(head) is None


@pytest.mark.parametrize(
    "head",
    [
        b"agent_id: codex\n",
        b"agent_id: codex\ntask_id: t\nllm_model: m\nno rule\n",
        b"agent_id: codex\nllm_model: m\ntask_id: t\n=====\n",
    ],
)
def test_a_broken_header_is_refused(head: bytes) -> None:
    with pytest.raises(FiretrialError, match="agent_id, task_id, llm_model") as caught:
        header_of(head)
    assert [fault.field for fault in caught.value.faults] == ["header"]


def test_readers_and_agents_without_one() -> None:
    assert isinstance(reader_of("claude_code"), ClaudeCode)
    assert isinstance(reader_of("openhands"), OpenHands)
    with pytest.raises(FiretrialError, match="codex, claude"):
        reader_of("aider")


def test_what_an_importer_says_must_be_what_the_log_says() -> None:
    log = LogHeader("codex", "t", "gpt-5", 0)
    told = Imported("t-1", "openhands", "o4-mini", 1, Format.FIREBENCH)
    assert [fault.field for fault in disagreements(log, told)] == ["header.agent", "header.model"]
    assert list(disagreements(log, Imported("t-1", "codex", "gpt-5", 1, Format.FIREBENCH))) == []
