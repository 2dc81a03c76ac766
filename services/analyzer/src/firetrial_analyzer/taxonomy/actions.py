"""What an agent did, read from what it wrote: commands with their outputs, edits, and what it said.

Steps of a kind say it themselves. In plain output four forms of logs are known: the JSON events of Claude
Code and of Codex, the log of OpenHands, and a shell transcript (`$ command`). Lines in no known form are kept
as output of nothing in particular, so that an error in them is still seen.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from firetrial_analyzer.taxonomy.steps import Step, StepKind, event


class Kind(StrEnum):
    RUN = "run"
    EDIT = "edit"
    SAY = "say"
    USE = "use"  # another tool: searching, reading, planning
    LOOSE = "loose"  # output that belongs to no action


@dataclass(frozen=True, slots=True)
class Line:
    """A line of output and the step that it is in."""

    step: int
    text: str


@dataclass(slots=True)
class Action:
    """`text` is the command, the new content or the words; `target` the edited file or the tool."""

    kind: Kind
    step: int
    text: str
    target: str = ""
    lines: list[Line] = field(default_factory=list)
    code: int | None = None

    @property
    def output(self) -> str:
        return "\n".join(line.text for line in self.lines)

    @property
    def failed(self) -> bool:
        """By its exit code, or by a traceback: a pipe hides the code."""
        return bool(self.code) or any(line.text.startswith("Traceback (most recent") for line in self.lines)


def actions(steps: Iterable[Step]) -> list[Action]:
    """In the order in which they began. What the runner tells is not the agent's doing and is left out."""
    reader = _Reader()
    for step in steps:
        if step.by_agent:
            reader.see(step)
    return reader.found


# An action that waits for its output while so many others begin is not waited for any longer.
_AT_ONCE = 16
_LINES_AT_ONCE = 4096
_MAX_HELD = 2 * 1024 * 1024
# Characters of a command or file that are put together from lines.
_MAX_BLOCK = 256 * 1024


class Stream:
    """The same for trajectories that do not fit into memory, as their steps come in.

    A long output comes in pieces, each an action with the same text and the next lines.
    """

    def __init__(self) -> None:
        self._reader = _Reader()
        self._held = 0

    def feed(self, step: Step) -> Iterator[Action]:
        """The actions that are over now."""
        reader = self._reader
        if step.by_agent:
            reader.see(step)
            self._held += len(step.text)
        if len(reader.found) >= 2 * _AT_ONCE or (self._held >= _MAX_HELD and len(reader.found) > _AT_ONCE):
            yield from reader.take(len(reader.found) - _AT_ONCE)
            self._held = 0
        last = reader.last
        if last is not None and len(last.lines) >= _LINES_AT_ONCE:
            yield replace(last, lines=last.lines[:])
            last.lines.clear()

    def close(self) -> Iterator[Action]:
        """Those that nothing more is heard of."""
        yield from self._reader.take(len(self._reader.found))


def stream(steps: Iterable[Step]) -> Iterator[Action]:
    """Actions one after another; `Stream` says how."""
    reading = Stream()
    for step in steps:
        yield from reading.feed(step)
    yield from reading.close()


_EVENT = frozenset({"type", "item", "message"})


class _Reader:
    def __init__(self) -> None:
        self.found: list[Action] = []
        self.last: Action | None = None  # that something was added to
        self._by_id: dict[str, Action] = {}
        self._text = _TextReader(self._begin)

    def take(self, count: int) -> list[Action]:
        """The first actions, which are forgotten here."""
        taken, self.found = self.found[:count], self.found[count:]
        kept = set(map(id, self.found))
        self._by_id = {name: action for name, action in self._by_id.items() if id(action) in kept}
        return taken

    def see(self, step: Step) -> None:
        if step.what is not StepKind.OUTPUT:
            self._text.leave()
            self._told(step)
            return
        if action := self._by_id.get(str(step.fields.get("call", ""))):
            self.last = action
            action.lines += _lines(step.number, step.text)
            return
        told = event(step)
        if told is None or not told.keys() & _EVENT:  # a program may print JSON as well
            self._text.see(step)
            return
        self._text.leave()
        if isinstance(item := told.get("item"), dict):
            self._codex(step.number, str(told.get("type")), item)
        else:
            self._claude(step.number, told)

    def _begin(self, kind: Kind, step: int, text: str, target: str = "") -> Action:
        action = Action(kind, step, text, target)
        self.found.append(action)
        self.last = action
        return action

    def _told(self, step: Step) -> None:
        """A step that says of what kind it is."""
        told = step.fields
        if step.what is StepKind.COMMAND:
            # What another tool than a shell was given stands there as JSON.
            kind = Kind.RUN if event(step) is None else Kind.USE
            action = self._begin(kind, step.number, step.text, str(told.get("tool", "")))
        elif step.what is StepKind.EDIT:
            action = self._begin(Kind.EDIT, step.number, step.text, str(told.get("path", "")))
        else:
            action = self._begin(Kind.SAY, step.number, step.text)
        code = told.get("exit_code")
        action.code = code if isinstance(code, int) else int(bool(told.get("failed"))) or None
        if call := told.get("call"):
            self._by_id[str(call)] = action

    def _claude(self, step: int, told: dict[str, Any]) -> None:
        message = told.get("message")
        content = message.get("content") if isinstance(message, dict) else None
        for part in content if isinstance(content, list) else []:
            if isinstance(part, dict):
                self._claude_part(step, part)
        if told.get("type") == "result":
            self._begin(Kind.SAY, step, f"{told.get('subtype', '')}\n{told.get('result') or ''}")
        elif isinstance(message, str):  # Codex's {"type": "error", "message"}
            self._loose(step, message)
        elif isinstance(error := told.get("error"), dict):
            self._loose(step, str(error.get("message", "")))

    def _claude_part(self, step: int, part: dict[str, Any]) -> None:
        if part.get("type") == "text":
            self._begin(Kind.SAY, step, str(part.get("text", "")))
        elif part.get("type") == "tool_use":
            given = part.get("input")
            self._by_id[str(part.get("id"))] = self._tool(
                step, str(part.get("name")), given if isinstance(given, dict) else {}
            )
        elif part.get("type") == "tool_result" and (action := self._by_id.get(str(part.get("tool_use_id")))):
            action.lines += _lines(step, _plain(part.get("content")))
            action.code = 1 if part.get("is_error") else 0

    def _tool(self, step: int, name: str, given: dict[str, Any]) -> Action:
        if name == "Bash":
            return self._begin(Kind.RUN, step, str(given.get("command", "")))
        if target := given.get("file_path") or given.get("notebook_path"):
            new = [given[key] for key in ("content", "new_string", "new_source") if key in given]
            if new:
                return self._begin(Kind.EDIT, step, str(new[0]), str(target))
        return self._begin(Kind.USE, step, str(sorted(given.items())), name)

    def _codex(self, step: int, what: str, item: dict[str, Any]) -> None:
        kind, id_ = item.get("type"), str(item.get("id"))
        if kind == "command_execution":
            action = self._by_id.get(id_) or self._begin(Kind.RUN, step, str(item.get("command", "")))
            self._by_id[id_] = action
            if what == "item.completed":
                action.lines += _lines(step, str(item.get("aggregated_output", "")))
                code = item.get("exit_code")
                action.code = code if isinstance(code, int) else None
        elif what != "item.completed":
            return
        elif kind == "file_change":
            for change in item.get("changes") or []:
                if isinstance(change, dict):
                    self._begin(Kind.EDIT, step, str(change.get("diff", "")), str(change.get("path", "")))
        elif kind == "agent_message":
            self._begin(Kind.SAY, step, str(item.get("text", "")))
        elif kind == "error":
            self._loose(step, str(item.get("message", "")))

    def _loose(self, step: int, text: str) -> None:
        self._begin(Kind.LOOSE, step, "").lines += _lines(step, text)


def _lines(step: int, text: str) -> list[Line]:
    return [Line(step, line) for line in text.splitlines()]


def _plain(content: object) -> str:
    """The text of a tool's result: a text, or a list of parts with texts."""
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


_SHELL = re.compile(r"(?:\([\w.-]+\) )?(?:[\w.-]+@[\w.-]+:\S* ?)?[$#] (?P<command>\S.*)")
_SHELL_CODE = re.compile(r"\[?(?:exit(?: code| status)?|exited with(?: code)?)[ :=]+(?P<code>\d+)\]?")
_HANDS = re.compile(r"\*\*(?P<what>\w+(?:Action|Observation))\b(?:.*?\bexit code=(?P<code>-?\d+))?")
_HANDS_LOG = re.compile(r"\d\d:\d\d:\d\d - openhands:")
_HANDS_FINISH = re.compile(r"(?:\*\*)?AgentFinishAction\b")
_HANDS_PATH = re.compile(r"(?:Path|PATH): \[?(?P<path>[^\]]+?)\]?\s*")
_HANDS_HEADS = frozenset({"ACTION", "OBSERVATION"})
_HANDS_MARKS = frozenset({*_HANDS_HEADS, "COMMAND:", "CONTENT:", "Content:", "```"})


class _TextReader:
    """OpenHands' log and shell transcripts, line by line."""

    def __init__(self, begin: Any) -> None:
        self._begin = begin
        self._open: Action | None = None
        self._hands = ""  # which block of OpenHands' log we are in
        self._run: Action | None = None

    def leave(self) -> None:
        """Something else begins: what is printed next belongs to no action that was begun here."""
        if not self._hands:
            self._open = None

    def see(self, step: Step) -> None:
        text = step.text.rstrip("\r")
        if _HANDS_LOG.match(text):
            self._begin(Kind.LOOSE, step.number, "").lines.append(Line(step.number, text))
        elif _HANDS_FINISH.match(text):
            self._hands, self._open = "finish", self._begin(Kind.SAY, step.number, text)
        elif found := _HANDS.match(text):
            self._block(step.number, found["what"], found["code"])
        elif self._hands:
            self._within(step.number, text)
        elif shell := _SHELL.fullmatch(text):
            self._open = self._begin(Kind.RUN, step.number, shell["command"])
        else:
            self._output(step.number, text)

    def _block(self, step: int, what: str, code: str | None) -> None:
        self._hands = what
        if what.endswith("Observation"):
            self._open = self._run or self._begin(Kind.LOOSE, step, "")
            self._open.code = int(code) if code is not None else None
            return
        kinds = {"CmdRunAction": Kind.RUN, "IPythonRunCellAction": Kind.RUN, "MessageAction": Kind.SAY}
        edits = what in {"FileEditAction", "FileWriteAction"}
        self._open = self._begin(Kind.EDIT if edits else kinds.get(what, Kind.USE), step, "")
        self._run = self._open

    def _within(self, step: int, text: str) -> None:
        if self._open is None or text.strip() in _HANDS_MARKS or text.startswith("--"):
            return
        if self._hands.endswith("Observation"):
            self._open.lines.append(Line(step, text))
        elif self._open.kind is Kind.EDIT and not self._open.target and (path := _HANDS_PATH.fullmatch(text)):
            self._open.target = path["path"]
            if not self._open.text:
                self._open.step = step
        elif self._open.text:
            if len(self._open.text) < _MAX_BLOCK:
                self._open.text += f"\n{text}"
        elif text.strip():
            self._open.step, self._open.text = step, text

    def _output(self, step: int, text: str) -> None:
        if text in _HANDS_HEADS:
            return
        if self._open is None:
            self._open = self._begin(Kind.LOOSE, step, "")
        if (code := _SHELL_CODE.fullmatch(text.strip())) and self._open.kind is Kind.RUN:
            self._open.code = int(code["code"])
        self._open.lines.append(Line(step, text))
