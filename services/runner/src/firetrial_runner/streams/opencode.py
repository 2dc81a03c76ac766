"""`opencode run --format json`: one JSON object a line, each a finished part of a message."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from firetrial_runner.streams.calls import lines, marked
from firetrial_runner.streams.ending import Ending, Spent
from firetrial_runner.streams.json_lines import compact, count, parsed, part, string, total
from firetrial_runner.trajectory import Kind, Told, Value

_TYPES = {"step_start", "step_finish", "text", "reasoning", "tool_use", "error"}
_EDITORS = {"edit", "write", "patch"}


class OpenCode:
    """The conclusion is the text of the step that the model ended by stopping."""

    def __init__(self) -> None:
        self._text: list[str] = []
        self._conclusion = ""
        self._failure = ""
        self._seen = False
        self._spent = Spent()

    def line(self, text: str) -> Sequence[Told] | None:
        event = parsed(text)
        kind = string(event, "type") if event else ""
        if event is None or kind not in _TYPES:
            return None
        self._seen = True
        if kind == "error":
            return [self._error(event)]
        return self._part(kind, part(event, "part"))

    def close(self) -> Sequence[Told]:
        return ()

    def ending(self) -> Ending:
        if self._conclusion:
            return Ending(conclusion=self._conclusion, spent=self._spent)
        began = "the stream ends before the model stops" if self._seen else "the stream is empty"
        return Ending(why_none=self._failure or began, spent=self._spent)

    def _part(self, kind: str, found: dict[str, Any]) -> Sequence[Told]:
        if kind == "step_start":
            self._text, self._conclusion = [], ""
            return ()
        if kind == "tool_use":
            return _used(found)
        if kind == "step_finish":
            return self._finished(found)
        if kind == "text":
            self._text.append(string(found, "text"))
        return [
            Told(Kind.THOUGHT, string(found, "text"), {"reasoning": True if kind == "reasoning" else None})
        ]

    def _finished(self, found: dict[str, Any]) -> list[Told]:
        told = part(found, "tokens")
        cached, written = (count(part(told, "cache"), name) for name in ("read", "write"))
        prompt = total(count(told, "input"), cached, written)
        completion = total(count(told, "output"), count(told, "reasoning"))
        spent = self._spent
        self._spent = Spent(
            total(spent.prompt, prompt), total(spent.cached, cached), total(spent.completion, completion)
        )
        tokens = {"prompt": prompt, "cached": cached, "completion": completion}
        known = {name: value for name, value in tokens.items() if value is not None}
        steps = [Told(Kind.MODEL, "the step's exchange", {"model": {"tokens": known}})] if known else []
        self._conclusion = "\n".join(self._text).strip() if string(found, "reason") == "stop" else ""
        if self._conclusion:
            steps.append(Told(Kind.CONCLUSION, self._conclusion, {"source": "the last step's text"}))
        return steps

    def _error(self, event: dict[str, Any]) -> Told:
        error = part(event, "error")
        said = string(part(error, "data"), "message") or string(error, "name") or "no reason is told"
        self._failure = f"it ended with an error: {said}"
        return Told(Kind.EVENT, f"error: {said}")


def _used(found: dict[str, Any]) -> list[Told]:
    """A tool's call and what came of it, which are one part."""
    tool, call, state = string(found, "tool"), string(found, "callID"), part(found, "state")
    given = part(state, "input")
    failed = True if string(state, "status") == "error" else None
    output = string(state, "output") or string(state, "error")
    if tool in _EDITORS:
        diff = [marked(string(given, "oldString"), "-")]
        diff.append(marked(string(given, "newString") or string(given, "content"), "+"))
        fields: dict[str, Value] = {"path": string(given, "filePath"), "change": "update", "call": call}
        begun = Told(Kind.EDIT, "\n".join(filter(None, diff)), {**fields, "failed": failed})
    else:
        text = string(given, "command") if tool == "bash" else compact(given)
        fields = {"tool": tool, "call": call, "exit_code": count(part(state, "metadata"), "exit")}
        begun = Told(Kind.COMMAND, text, {**fields, "failed": failed})
    return [begun, *lines(output, call)]
