"""A run log of the official layout: four header lines, then the agent's own output.

    agent_id: codex
    task_id: lost_in_the_middle
    llm_model: openai/o4-mini
    ========================================

The official runner of OpenHands writes the header and then the log over it, so a log may have none. Whose log
it is, is then for the importer to say; it is never looked for in the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from firetrial_kit.errors import Fault, check
from firetrial_runner.importing.imported import Imported
from firetrial_runner.streams import ClaudeCode, OpenHands, StreamReader
from firetrial_runner.streams.codex_log import CodexEither

MAX_HEADER = 4096

_HEADER = re.compile(
    rb"agent_id:[ \t]*([^\r\n]*)\r?\n[ \t]*task_id:[ \t]*([^\r\n]*)\r?\n[ \t]*llm_model:[ \t]*([^\r\n]*)\r?\n"
    rb"={5,}[ \t]*(?:\r?\n|\Z)"
)
_BEGUN = re.compile(rb"agent_id[ \t]*:")
_READERS: dict[str, Callable[[], StreamReader]] = {
    "codex": CodexEither,
    "claude": ClaudeCode,
    "claude-code": ClaudeCode,
    "openhands": OpenHands,
}


@dataclass(frozen=True, slots=True)
class LogHeader:
    """Whose log it is, as its first lines say; `size` is theirs in bytes."""

    agent: str
    task: str
    model: str
    size: int


def header_of(head: bytes) -> LogHeader | None:
    """The header at the very start; None where there is none. Raises INVALID for one that is broken."""
    match = _HEADER.match(head)
    if match is None:
        cure = "must be the lines agent_id, task_id, llm_model and ====="
        check("the log", [Fault("header", _shown(head[:60]), cure)] if _BEGUN.match(head) else [])
        return None
    agent, task, model = (_shown(found).strip() for found in match.groups())
    return LogHeader(family(agent), task, model, match.end())


def family(agent: str) -> str:
    """An agent's name as this project writes it."""
    return agent.lower().replace("_", "-")


def reader_of(agent: str) -> StreamReader:
    """The reader of an agent's logs. Raises INVALID for an agent whose logs are not known."""
    known = _READERS.get(family(agent))
    if known is None:
        told = Fault(
            "header.agent", agent, f"must be one of {', '.join(_READERS)}: no other's logs are known"
        )
        check("the log", [told])
    return known() if known else OpenHands()


def disagreements(header: LogHeader, told: Imported) -> Iterator[Fault]:
    """Where a log says another thing of itself than its importer does."""
    if header.agent != family(told.agent):
        yield Fault("header.agent", told.agent, f"must be what the log says: {header.agent}")
    if header.model != told.model:
        yield Fault("header.model", told.model, f"must be what the log says: {header.model}")


def _shown(value: bytes) -> str:
    return value.decode("utf-8", "backslashreplace")
