"""What is told of a run that was made elsewhere, before its file is read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from firetrial_kit import tenants
from firetrial_kit.errors import Fault
from firetrial_runner.experiment import MAX_REPEATS, is_id

ELSEWHERE = "@elsewhere"
_AGENT = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
MAX_MADE_BY = 500
_MODEL = re.compile(r"[\x21-\x7e]{0,128}")


class Format(StrEnum):
    """How the file is to be read."""

    FIREBENCH = "firebench"
    CODEX = "codex"
    CLAUDE_CODE = "claude_code"
    ATIF = "atif"
    CONCLUSION = "conclusion"


@dataclass(frozen=True, slots=True)
class Imported:
    """`agent` is its name where the run was made; `repeat` counts from 1."""

    task_id: str
    agent: str
    model: str
    repeat: int
    format: Format
    filename: str = ""
    made_by: str = ""

    @property
    def agent_id(self) -> str:
        """`<agent>-<model>@elsewhere`, what stands between letters, digits, ".", "_" and "-" as one "-".

        It belongs to the tenant whose task it was.
        """
        model = re.sub(r"[^A-Za-z0-9._-]+", "-", self.model)
        return tenants.beside(self.task_id, f"{self.agent}{'-' if model else ''}{model}{ELSEWHERE}")

    def faults(self) -> Iterator[Fault]:
        if not is_id(self.task_id):
            yield Fault("header.task_id", self.task_id, "must be a task's id")
        if not _AGENT.fullmatch(self.agent):
            yield Fault("header.agent", self.agent, f"must match {_AGENT.pattern}")
        if not _MODEL.fullmatch(self.model):
            yield Fault(
                "header.model", self.model, "must be at most 128 printable ASCII characters, no space"
            )
        if len(self.made_by) > MAX_MADE_BY:
            yield Fault("header.made_by", f"{len(self.made_by)} characters", f"at most {MAX_MADE_BY}")
        if not 1 <= self.repeat <= MAX_REPEATS:
            yield Fault("header.repeat", str(self.repeat), f"must be 1 to {MAX_REPEATS}")


def is_elsewhere(agent_id: str) -> bool:
    """Whether an agent is one that has no command, because its runs were made elsewhere."""
    return agent_id.endswith(ELSEWHERE)
