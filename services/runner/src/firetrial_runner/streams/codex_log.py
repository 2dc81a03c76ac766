"""Codex's log in blocks, as `codex exec` without --json writes it: `[2025-09-19T10:05:41] codex`, then text.

A timestamp alone begins no block, for what an agent prints may hold as many as it likes: a block begins where
Codex's own word follows the timestamp, and where time does not run backwards.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial

from firetrial_runner.streams.codex import Codex
from firetrial_runner.streams.ending import Ending, Spent, StreamReader
from firetrial_runner.streams.json_lines import parsed
from firetrial_runner.streams.terminal import plain
from firetrial_runner.trajectory import Kind, Told, Value

MAX_BLOCK = 1024 * 1024
"""Characters of a message that is kept together; what is longer comes in several steps."""

_HEAD = re.compile(r"\[(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\] (\S.*)")
_TEXT = re.compile(
    r"(?P<word>codex|thinking|User instructions|exec|apply_patch)"
    r"(?:(?<=exec) (?P<text>.*)|(?<=patch)[ (].*auto_approved=(?:true|false)\)?:?|(?<=tions):)?"
)
_EXEC = re.compile(r"(?P<command>.*) in \S+", re.DOTALL)
_ENDED = re.compile(r"(?P<what>.+?) (?:succeeded|exited (?P<code>-?\d+)) in [\d.]+m?s:")
_CHANGED = re.compile(r"([AMD]) (\S.*)")
_TOKENS = re.compile(r"tokens used: (?P<number>[\d,._ ]{1,20})")
_TOOL = re.compile(r"tool (?P<tool>[\w-]+\.[\w-]+)\((?P<given>.*)\)")
_TOLD = re.compile(
    r"(?:OpenAI Codex v|ERROR: |stream error: |task (?:interrupted|aborted)|turn diff:|model: ).*"
)
_CHANGES = {"A": "add", "M": "update", "D": "delete"}


class CodexLog:
    """The conclusion is the last message, where nothing but the count of tokens follows it."""

    def __init__(self) -> None:
        self._at: datetime | None = None
        self._begun: datetime | None = None
        self._text: list[str] = []
        self._size = 0
        self._finish: Callable[[str], list[Told]] | None = None
        self._output = False
        self._repeating = False  # the command's own text stands again before how it ended
        self._command: Told | None = None
        self._message = ""
        self._last = ""
        self._tokens: int | None = None
        self._counted = False
        self._error = ""
        self._blocks = {
            "codex": self._say,
            "thinking": self._think,
            "User instructions": self._instructions,
            "apply_patch": self._patch,
            "exec": self._exec,
        }

    def line(self, text: str) -> Sequence[Told] | None:
        shown = plain(text)
        match = _HEAD.fullmatch(shown)
        if match and (at := _time(match[1], self._at)) and (head := self._head(match[2])):
            told = self._close_block()
            self._at, self._begun = at, self._begun or at
            return [*told, *head()]
        if self._repeating:
            ended = _ENDED.fullmatch(shown)
            return self._ended(ended) if ended else []
        if self._finish is not None:
            return self._more(shown)
        return [self._told(Kind.OUTPUT, text)] if self._output else None

    def close(self) -> Sequence[Told]:
        told = [*self._close_block(), *self._pending()]
        if found := self._conclusion():
            told.append(self._told(Kind.CONCLUSION, found, {"source": "the last message"}))
        return told

    def ending(self) -> Ending:
        wall_s = (self._at - self._begun).total_seconds() if self._at and self._begun else None
        spent = Spent(tokens=self._tokens, wall_s=wall_s)
        found = self._conclusion()
        why_none = "" if found else self._why_none()
        return Ending(found, why_none, spent=spent, timed=self._begun is not None)

    def _conclusion(self) -> str:
        """The last message, if it is whole: tokens are counted after it where they were counted before."""
        whole = self._last == "codex" and (self._counted or self._tokens is None)
        return self._message.strip() if whole else ""

    def _why_none(self) -> str:
        if self._error:
            return f"the log ends with an error: {self._error}"
        if not self._last:
            return "the log holds no block of Codex"
        if self._last == "codex":
            return "the log ends within a message" if self._message.strip() else "the last message is empty"
        return f"the log ends without a message, after a block {self._last!r}"

    def _head(self, label: str) -> Callable[[], list[Told]] | None:
        """What begins with a block of this label; None where that is no word of Codex."""
        if label == self._running():
            return self._repeat
        words: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], list[Told]]], ...] = (
            (_TEXT, self._begin),
            (_TOKENS, self._count),
            (_TOOL, self._tool),
            (_ENDED, self._ended),
            (_TOLD, self._event),
        )
        for pattern, begin in words:
            if match := pattern.fullmatch(label):
                return partial(begin, match)
        return None

    def _running(self) -> str | None:
        """The first line of the command that has not ended."""
        if self._command:
            return self._command.text.split("\n", 1)[0]
        return self._text[0] if self._last == "exec" and self._text else None

    def _begin(self, match: re.Match[str]) -> list[Told]:
        told = self._pending()
        self._turn_to(match["word"])
        self._finish = self._blocks[match["word"]]
        self._message = ""
        self._text = [match["text"]] if match["text"] else []
        return told

    def _turn_to(self, label: str) -> None:
        self._last, self._counted, self._error = label, False, ""
        self._output = self._repeating = False

    def _repeat(self) -> list[Told]:
        self._repeating = True
        return []

    def _more(self, shown: str) -> list[Told]:
        self._text.append(shown)
        self._size += len(shown) + 1
        return self._flush() if self._size > MAX_BLOCK else []

    def _close_block(self) -> list[Told]:
        told, self._finish = self._flush(), None
        return told

    def _flush(self) -> list[Told]:
        text = "\n".join(self._text).strip("\n")
        self._text, self._size = [], 0
        return self._finish(text) if self._finish and text.strip() else []

    def _say(self, text: str) -> list[Told]:
        self._message = f"{self._message}\n{text}" if self._message else text
        return [self._told(Kind.THOUGHT, text)]

    def _think(self, text: str) -> list[Told]:
        return [self._told(Kind.THOUGHT, text, {"reasoning": True})]

    def _instructions(self, text: str) -> list[Told]:
        return [self._told(Kind.EVENT, text, {"source": "user"})]

    def _patch(self, text: str) -> list[Told]:
        """Files of a patch, each headed by what became of it and its name."""
        told: list[Told] = []
        path, change = "", ""
        diff: list[str] = []
        for line in text.split("\n"):
            if match := _CHANGED.fullmatch(line):
                told += self._edit(path, change, diff)
                change, path, diff = _CHANGES[match[1]], match[2], []
            else:
                diff.append(line)
        return [*told, *self._edit(path, change, diff)]

    def _edit(self, path: str, change: str, diff: list[str]) -> list[Told]:
        if not path:
            return []
        return [self._told(Kind.EDIT, "\n".join(diff).rstrip("\n"), {"path": path, "change": change})]

    def _exec(self, text: str) -> list[Told]:
        told = self._pending()
        match = _EXEC.fullmatch(text)
        self._command = self._told(Kind.COMMAND, match["command"] if match else text)
        return told

    def _tool(self, match: re.Match[str]) -> list[Told]:
        told = self._pending()
        self._turn_to("exec")
        self._command = self._told(Kind.COMMAND, match["given"], {"tool": match["tool"]})
        return told

    def _ended(self, match: re.Match[str]) -> list[Told]:
        self._turn_to("exec")
        self._output = True
        return self._pending({"exit_code": int(match["code"] or 0)})

    def _pending(self, how: dict[str, Value] | None = None) -> list[Told]:
        command, self._command = self._command, None
        if command is None:
            return []
        return [Told(command.kind, command.text, {**command.fields, **(how or {})}, "", command.offset_s)]

    def _count(self, match: re.Match[str]) -> list[Told]:
        self._tokens = int(re.sub(r"\D", "", match["number"]) or 0)
        self._counted, self._output = True, False
        return [self._told(Kind.MODEL, match[0], {"model": {"tokens": {"total": self._tokens}}})]

    def _event(self, match: re.Match[str]) -> list[Told]:
        label = match[0]
        if label.startswith("OpenAI"):
            self._turn_to("preamble")
        elif not label.startswith(("model: ", "turn diff:")):
            self._turn_to("error")
            self._error = label
        self._output = True
        return [self._told(Kind.EVENT, label)]

    def _told(self, kind: Kind, text: str, fields: dict[str, Value] | None = None) -> Told:
        offset = (self._at - self._begun).total_seconds() if self._at and self._begun else None
        return Told(kind, text, fields or {}, "stdout" if kind is Kind.OUTPUT else "", offset)


class CodexEither:
    """A log of Codex: JSON lines where the first line that says something is one, else blocks."""

    def __init__(self) -> None:
        self._reader: StreamReader | None = None

    def line(self, text: str) -> Sequence[Told] | None:
        if self._reader is None:
            if not text.strip():
                return None
            self._reader = CodexLog() if parsed(text) is None else Codex()
        return self._reader.line(text)

    def close(self) -> Sequence[Told]:
        return self._reader.close() if self._reader else []

    def ending(self) -> Ending:
        return self._reader.ending() if self._reader else Ending(why_none="the log is empty")


def _time(text: str, before: datetime | None) -> datetime | None:
    """The time that is told; None where it is none, or is earlier than what was told before."""
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return None
    return None if before and at < before else at
