"""A judge looks further into a submission, by commands that are run over a copy of it elsewhere."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from firetrial_judge.rubric.screening import screen
from firetrial_judge.rubric.submission import Submission
from firetrial_judge.text import clean

COMMANDS, COMMAND_CHARS = 4, 1000
"""Commands of one round, and characters of one command."""
SECONDS, SHOWN = 20, 4000
"""A command's time, and the characters of its output that are shown."""
SCHEMA = {
    "type": "object",
    "properties": {"commands": {"type": "array", "items": {"type": "string"}}},
    "required": ["commands"],
    "additionalProperties": False,
}
_SEPARATOR = "\n\n"


@dataclass(frozen=True, slots=True)
class Ran:
    """How a command ended: by its exit code (None: by a signal or its time); its output, cut or whole."""

    exit_code: int | None
    output: bytes
    cut: bool = False


@dataclass(frozen=True, slots=True)
class Look:
    """A command and what a judge was shown of its output."""

    command: str
    exit_code: int | None
    output: str
    cut: bool = False

    @property
    def shown(self) -> str:
        end = "ended by a signal, or for its time" if self.exit_code is None else f"exit {self.exit_code}"
        return f"$ {self.command}\n{self.output}{' …' if self.cut else ''}\n[{end}]"


Run = Callable[[Sequence[str]], Awaitable[Sequence[Ran]]]


class Looker(Protocol):
    """Has commands run over a copy of a submission, all of a round in one sandbox that nothing outlives."""

    def over(self, submission: Submission) -> AbstractAsyncContextManager[Run]:
        """Inside, commands are run: one answer for each, in order.

        What runs them raises UNAVAILABLE where there is nobody to do it.
        """
        ...


def wanted(answer: Any, known: Sequence[Look]) -> list[str]:
    """The commands that a model asks for: new ones, as many and as long as they may be."""
    before = {look.command for look in known}
    given = [one.strip() for one in answer["commands"] if isinstance(one, str) and _is_plain(one)]
    new = dict.fromkeys(one for one in given if one and len(one) <= COMMAND_CHARS and one not in before)
    return list(new)[:COMMANDS]


def _is_plain(command: str) -> bool:
    """Whether a program can be given it as an argument."""
    return "\0" not in command and command.encode(errors="replace").decode() == command


def shown(looks: Sequence[Look]) -> str:
    """Looks as a model reads them."""
    return _SEPARATOR.join(look.shown for look in looks) or "(none)"


async def look(run: Run, commands: Sequence[str]) -> list[Look]:
    """Run commands, and take out of what they wrote what is meant for the grader. Raises as `run`."""
    ran = await run(commands)
    return await asyncio.to_thread(
        lambda: [_look(command, one) for command, one in zip(commands, ran, strict=True)]
    )


def _look(command: str, ran: Ran) -> Look:
    lines, _ = screen(ran.output.decode(errors="replace").rstrip("\n").split("\n"))
    text = "\n".join(lines)
    return Look(clean(command), ran.exit_code, text[:SHOWN], ran.cut or len(text) > SHOWN)
