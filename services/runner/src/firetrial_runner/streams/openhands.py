"""OpenHands' log, before version 1: blocks headed by a time and a word that spell out what was done and seen.

What was observed stands between two marks and is not looked into: whatever an agent reads, its conclusion is
what it finished with. That is written as Python writes a string, and is read so, letter by letter: decoding
it as a whole would spoil whatever is not ASCII.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from firetrial_runner.streams.ending import Ending, Spent
from firetrial_runner.streams.terminal import plain
from firetrial_runner.trajectory import Kind, Told, Value

MAX_BLOCK = 1024 * 1024

_HEAD = re.compile(
    r"(\d\d:\d\d:\d\d) - (?:(ACTION|USER_ACTION|OBSERVATION|DETAIL|PLAN|ERROR)\s*|[\w.]+:[A-Z]+: ?(.*))"
)
_BEGIN, _END = "--BEGIN AGENT OBSERVATION--", "--END AGENT OBSERVATION--"
_OBSERVED = re.compile(r"\*\*CmdOutputObservation \(.*?exit code=(-?\d+)")
_SECTION = re.compile(r"(THOUGHT|COMMAND|CODE|CONTENT|Thought): ?(.*)", re.DOTALL)
_FINISH = re.compile(r"(?:^|AgentFinishAction\(|[\s,])final_thought=(['\"])")
_THINK = re.compile(r"AgentThinkAction\(thought=(['\"])")
_PATH = re.compile(r"Path: \[?(.+?)\]?")
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))", re.DOTALL)
_SIMPLE = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "\n": ""}
_ERROR = re.compile(
    r"(?:AgentState\.ERROR|AgentStuckInLoopError|reached maximum|RuntimeError)", re.IGNORECASE
)


class OpenHands:
    """The conclusion is the `final_thought` of the last AgentFinishAction."""

    def __init__(self) -> None:
        self._block: list[str] = []
        self._size = 0
        self._word = ""
        self._observing = False
        self._command: Told | None = None
        self._finished: str | None = None
        self._cut = False
        self._seen = False
        self._error = ""
        self._seconds: int | None = None
        self._begun = 0

    def line(self, text: str) -> Sequence[Told] | None:
        shown = plain(text)
        if self._observing:
            return self._observed(shown, text)
        if match := _HEAD.fullmatch(shown):
            told = self._close_block()
            self._seen = True
            self._clock(match[1])
            self._word = match[2] or "LOG"
            return [*told, *self._log(match[3])] if match[3] is not None else told
        if not self._word and not _FINISH.search(shown):
            return None
        return self._more(shown)

    def close(self) -> Sequence[Told]:
        told = self._close_block()
        return [*told, *self._pending({})]

    def ending(self) -> Ending:
        found = (self._finished or "").strip()
        why_none = "" if found else self._why_none()
        return Ending(found, why_none, spent=Spent(wall_s=self._offset), timed=self._seconds is not None)

    def _why_none(self) -> str:
        if self._cut:
            return "the log ends within the final thought"
        if self._finished is not None:
            return "the final thought is empty"
        if self._error:
            return f"the agent did not finish: {self._error}"
        return (
            "the log ends before the agent finished" if self._seen else "the log holds nothing of OpenHands"
        )

    def _more(self, shown: str) -> list[Told]:
        if shown == _BEGIN:
            self._observing = True
            return self._close_block()
        self._block.append(shown)
        self._size += len(shown) + 1
        return self._close_block() if self._size > MAX_BLOCK else []

    def _observed(self, shown: str, text: str) -> list[Told]:
        if shown == _END:
            self._observing = False
            return []
        return [Told(Kind.OUTPUT, text.removesuffix("\r"), {}, "stdout", self._offset)]

    def _log(self, text: str) -> list[Told]:
        if _ERROR.search(text):
            self._error = text[:500]
        return [self._told(Kind.EVENT, text)] if text else []

    def _close_block(self) -> list[Told]:
        text = "\n".join(self._block).strip("\n")
        self._block, self._size = [], 0
        if not text.strip():
            return []
        if self._word in {"ACTION", "USER_ACTION", "", "LOG"}:
            return self._action(text)
        if self._word == "OBSERVATION":
            return self._observation(text)
        if self._word == "ERROR":
            self._error = text[:500]
        return [self._told(Kind.EVENT, text)]

    def _action(self, text: str) -> list[Told]:
        head, _, rest = text.partition("\n")
        told = self._pending({})
        if head.startswith(("**CmdRunAction", "**IPythonRunCellAction")):
            return [*told, *self._run(head, rest)]
        if head.startswith("**FileEditAction"):
            return [*told, self._edit(rest)]
        if head.startswith("**MessageAction"):
            return [*told, self._message(head, rest)]
        if match := _FINISH.search(text):
            return [*told, *self._finish(text, match)]
        match = _THINK.match(text)
        thought = literal(text, match) if match else None
        return [*told, self._told(Kind.THOUGHT, thought) if thought else self._told(Kind.EVENT, text)]

    def _message(self, head: str, rest: str) -> Told:
        said = _SECTION.fullmatch(rest)
        words = said[2] if said else rest
        if "USER" in head:
            return self._told(Kind.EVENT, words, {"source": "user"})
        return self._told(Kind.THOUGHT, words)

    def _run(self, head: str, rest: str) -> list[Told]:
        tool = "python" if head.startswith("**IPython") else None
        before, mark, command = f"\n{rest}".partition("\nCODE:\n" if tool else "\nCOMMAND:\n")
        self._command = self._told(Kind.COMMAND, command if mark else rest, {"tool": tool})
        thought = _SECTION.fullmatch(before.strip("\n")) if mark else None
        said = thought[2].strip() if thought else ""
        return [self._told(Kind.THOUGHT, said)] if said else []

    def _edit(self, rest: str) -> Told:
        path = next((match[1] for line in rest.split("\n") if (match := _PATH.fullmatch(line))), "")
        change = "add" if "Created File with Text:" in rest else "update"
        return self._told(Kind.EDIT, rest, {"path": path, "change": change})

    def _observation(self, text: str) -> list[Told]:
        if match := _OBSERVED.match(text):
            return self._pending({"exit_code": int(match[1])})
        told = self._pending({})
        return [*told, *(Told(Kind.OUTPUT, line, {}, "stdout", self._offset) for line in text.split("\n"))]

    def _finish(self, text: str, match: re.Match[str]) -> list[Told]:
        found = literal(text, match)
        self._cut = found is None
        self._finished = found
        if not found or not found.strip():
            return [self._told(Kind.EVENT, text)]
        return [self._told(Kind.CONCLUSION, found.strip(), {"source": "final_thought"})]

    def _pending(self, how: dict[str, Value]) -> list[Told]:
        command, self._command = self._command, None
        if command is None:
            return []
        return [Told(command.kind, command.text, {**command.fields, **how}, "", command.offset_s)]

    def _clock(self, time: str) -> None:
        """Times of the day; a run that goes over midnight goes on."""
        hours, minutes, seconds = map(int, time.split(":"))
        now = hours * 3600 + minutes * 60 + seconds
        if self._seconds is None:
            self._begun = self._seconds = now
            return
        days = self._seconds // 86400
        self._seconds = now + 86400 * (days + (now < self._seconds % 86400 - 43200))

    @property
    def _offset(self) -> float | None:
        return None if self._seconds is None else max(0.0, float(self._seconds - self._begun))

    def _told(self, kind: Kind, text: str, fields: dict[str, Value] | None = None) -> Told:
        return Told(kind, text, fields or {}, "", self._offset)


def literal(text: str, opening: re.Match[str]) -> str | None:
    """The string whose quote `opening` ends with, as Python reads it; None where it is not closed."""
    closing = re.compile(rf"(?:[^\\{opening[1]}]|\\.)*+{opening[1]}", re.DOTALL).match(text, opening.end())
    return _ESCAPE.sub(_unescaped, closing[0][:-1]) if closing else None


def _unescaped(found: re.Match[str]) -> str:
    code = found[1] or found[2] or found[3]
    if code:
        number = int(code, 16)
        return chr(number) if number <= 0x10FFFF else found[0]
    return _SIMPLE.get(found[4], found[4] if found[4] in "\\'\"" else found[0])
