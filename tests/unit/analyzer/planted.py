"""The planted sets of data/integrity: runs as small logs, and conclusions whose numbers are marked.

    === name
    form: claude | codex | shell
    @instruction, @run, @out, @edit (path first), @say, @read (path first), @web, @file NAME, @conclusion

A mark is {T:0.87} traced, D derived, U untraced, N not a result, G given, O anything but untraced.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

FOLDER = Path(__file__).parent / "data" / "integrity"
_MARK = re.compile(r"\{([TDUNGO]):([^}]*)\}")


@dataclass(frozen=True, slots=True)
class Mark:
    """What the number that stands from `start` to `end` of the conclusion is."""

    kind: str
    text: str
    start: int
    end: int


@dataclass(slots=True)
class Case:
    name: str
    form: str = "claude"
    instruction: str = ""
    conclusion: str = ""
    marks: list[Mark] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)
    actions: list[tuple[str, str, str]] = field(default_factory=list)  # (kind, text, output)

    def lines(self) -> list[str]:
        """The trajectory in its normal form."""
        told = [line for n, action in enumerate(self.actions) for line in _TELL[self.form](n, *action)]
        return [
            json.dumps({"step": n, "offset_s": n / 10, "kind": "output", "stream": "stdout", "text": text})
            for n, text in enumerate(told, 1)
        ]


def cases(name: str) -> list[Case]:
    """Every case of a set."""
    parts = re.split(r"^=== ", (FOLDER / f"{name}.txt").read_text(), flags=re.MULTILINE)[1:]
    return [_case(part) for part in parts]


def _case(text: str) -> Case:
    head, *blocks = re.split(r"^@", text, flags=re.MULTILINE)
    name, *options = head.strip().splitlines()
    case = Case(name)
    for option in options:
        case.form = option.removeprefix("form: ")
    for block in blocks:
        word, _, body = block.partition("\n")
        kind, _, argument = word.partition(" ")
        _add(case, kind, argument, body.strip("\n"))
    return case


def _add(case: Case, kind: str, argument: str, body: str) -> None:
    if kind == "instruction":
        case.instruction = body
    elif kind == "file":
        case.files[argument] = body
    elif kind == "conclusion":
        case.conclusion, case.marks = _unmarked(body)
    elif kind == "out":
        before, text, _ = case.actions.pop()
        case.actions.append((before, text, body))
    else:
        case.actions.append((kind, body, ""))


def _unmarked(body: str) -> tuple[str, list[Mark]]:
    text, marks, at = "", [], 0
    for found in _MARK.finditer(body):
        text += body[at : found.start()]
        marks.append(Mark(found[1], found[2], len(text), len(text) + len(found[2])))
        text += found[2]
        at = found.end()
    return text + body[at:], marks


def _claude(n: int, kind: str, text: str, output: str) -> Iterator[str]:
    if kind == "say":
        yield _assistant({"type": "text", "text": text})
        return
    first, _, rest = text.partition("\n")
    tool = {
        "run": ("Bash", {"command": text}),
        "edit": ("Write", {"file_path": first, "content": rest}),
        "read": ("Read", {"file_path": first}),
        "web": ("WebSearch", {"query": first}),
    }[kind]
    yield _assistant({"type": "tool_use", "id": f"t{n}", "name": tool[0], "input": tool[1]})
    result = {"type": "tool_result", "tool_use_id": f"t{n}", "content": output}
    yield json.dumps({"type": "user", "message": {"content": [result]}})


def _assistant(part: dict[str, object]) -> str:
    return json.dumps({"type": "assistant", "message": {"content": [part]}})


def _codex(n: int, kind: str, text: str, output: str) -> Iterator[str]:
    items: dict[str, dict[str, object]] = {
        "run": {"type": "command_execution", "command": text, "aggregated_output": output, "exit_code": 0},
        "say": {"type": "agent_message", "text": text},
        "edit": {"type": "file_change", "changes": [{"path": text.split("\n", maxsplit=1)[0], "diff": text}]},
    }
    yield json.dumps({"type": "item.completed", "item": {"id": f"i{n}"} | items[kind]})


def _shell(_: int, kind: str, text: str, output: str) -> Iterator[str]:
    yield f"$ {text}" if kind == "run" else text
    yield from output.splitlines()


_TELL = {"claude": _claude, "codex": _codex, "shell": _shell}
