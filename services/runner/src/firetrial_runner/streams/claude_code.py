"""`claude -p --output-format stream-json`: messages of the API, a result as the last JSON line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from firetrial_runner.streams.calls import Calls, marked
from firetrial_runner.streams.ending import Ending, Spent
from firetrial_runner.streams.json_lines import amount, compact, count, parsed, part, string, text_of, total
from firetrial_runner.trajectory import Kind, Told, Value

_EXIT_CODE = re.compile(r"Exit code (\d{1,3})\b")
_EDITORS = {"Edit", "MultiEdit", "Write", "NotebookEdit"}


class ClaudeCode:
    """The conclusion is the result, unless that is an error. What the API says of usage is told once."""

    def __init__(self) -> None:
        self._calls = Calls()
        self._messages: set[str] = set()
        self._result: dict[str, Any] | None = None
        self._seen = False
        self._model = ""
        self._prompt: int | None = None
        self._cached: int | None = None

    def line(self, text: str) -> Sequence[Told] | None:
        event = parsed(text)
        kind = string(event, "type") if event else ""
        if event is None or kind not in {"system", "assistant", "user", "result"}:
            return None
        if kind == "system":
            return self._system(event)
        self._seen = True
        if kind == "result":
            return self._end(event)
        self._result = None
        if kind == "assistant":
            return self._assistant(part(event, "message"))
        return self._user(event)

    def close(self) -> Sequence[Told]:
        return self._calls.rest()

    def ending(self) -> Ending:
        spent = self._spent()
        if self._result is None:
            why = (
                "the stream ends before its result"
                if self._seen
                else "the stream holds no line of Claude Code"
            )
            return Ending(why_none=why, model=self._model, spent=spent)
        if why := _failure(self._result):
            return Ending(why_none=why, model=self._model, spent=spent)
        return Ending(conclusion=string(self._result, "result"), model=self._model, spent=spent)

    def _system(self, event: dict[str, Any]) -> list[Told] | None:
        if string(event, "subtype") != "init":
            return None
        self._seen = True
        self._model = string(event, "model") or self._model
        told = f"session {string(event, 'session_id')} of {string(event, 'claude_code_version')}"
        return [Told(Kind.EVENT, f"{told} with {self._model}", {"source": "system"})]

    def _assistant(self, message: dict[str, Any]) -> list[Told]:
        told = self._exchange(message)
        for block in _blocks(message):
            kind = string(block, "type")
            if kind == "text":
                told.append(Told(Kind.THOUGHT, string(block, "text")))
            elif kind == "thinking":
                told.append(Told(Kind.THOUGHT, string(block, "thinking"), {"reasoning": True}))
            elif kind in {"tool_use", "server_tool_use"}:
                told += self._calls.begin(string(block, "id"), _call(block))
            else:
                told.append(Told(Kind.EVENT, compact(block)))
        return told

    def _exchange(self, message: dict[str, Any]) -> list[Told]:
        """The call that the message came from: each of its blocks is a line, and says the usage anew."""
        id_, usage = string(message, "id"), part(message, "usage")
        if id_ in self._messages or not usage:
            return []
        self._messages.add(id_)
        prompt, cached = _prompt(usage)
        self._prompt, self._cached = total(self._prompt, prompt), total(self._cached, cached)
        # Until the message is whole, the count of its own tokens is not the last word.
        completion = count(usage, "output_tokens") if message.get("stop_reason") else None
        tokens = {"prompt": prompt, "cached": cached, "completion": completion}
        known = {name: value for name, value in tokens.items() if value is not None}
        name = string(message, "model")
        return [Told(Kind.MODEL, name, {"model": {"name": name, "tokens": known}})]

    def _user(self, event: dict[str, Any]) -> list[Told]:
        message, told = part(event, "message"), []
        if isinstance(message.get("content"), str):
            return [Told(Kind.EVENT, message["content"], {"source": "user"})]
        for block in _blocks(message):
            if string(block, "type") == "tool_result":
                told += self._calls.end(
                    string(block, "tool_use_id"),
                    text_of(block.get("content")),
                    **_outcome(block, part(event, "tool_use_result")),
                )
            else:
                told.append(Told(Kind.EVENT, text_of([block]), {"source": "user"}))
        return told

    def _end(self, event: dict[str, Any]) -> list[Told]:
        self._result = event
        if why := _failure(event):
            return [Told(Kind.EVENT, why)]
        return [Told(Kind.CONCLUSION, string(event, "result"), {"source": "result"})]

    def _spent(self) -> Spent:
        if self._result is None:
            return Spent(prompt=self._prompt, cached=self._cached)
        prompt, cached = _prompt(part(self._result, "usage"))
        wall_ms = amount(self._result, "duration_ms")
        return Spent(
            prompt=prompt,
            cached=cached,
            completion=count(part(self._result, "usage"), "output_tokens"),
            cost_usd=amount(self._result, "total_cost_usd"),
            wall_s=None if wall_ms is None else wall_ms / 1000,
        )


def _failure(result: dict[str, Any]) -> str:
    """Why a result is no conclusion; empty where it is one."""
    text, subtype = string(result, "result").strip(), string(result, "subtype")
    if result.get("is_error") or subtype not in {"", "success"}:
        how = "an error" if subtype in {"", "success"} else subtype
        return f"ended with {how}" + (f": {text[:500]}" if text else "")
    return "" if text else "the result is empty"


def _prompt(usage: dict[str, Any]) -> tuple[int | None, int | None]:
    """(tokens of the prompt, those of them that were cached)."""
    cached = count(usage, "cache_read_input_tokens")
    return total(count(usage, "input_tokens"), count(usage, "cache_creation_input_tokens"), cached), cached


def _blocks(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def _call(block: dict[str, Any]) -> Told:
    tool, call, given = string(block, "name"), string(block, "id"), part(block, "input")
    if tool in _EDITORS:
        path = string(given, "file_path") or string(given, "notebook_path")
        return Told(Kind.EDIT, _diff(given), {"path": path, "change": "update", "call": call})
    text = string(given, "command") if tool == "Bash" else compact(given)
    return Told(Kind.COMMAND, text, {"tool": tool, "call": call})


def _diff(given: dict[str, Any]) -> str:
    several = given.get("edits")
    edits = [edit for edit in several if isinstance(edit, dict)] if isinstance(several, list) else [given]
    parts = []
    for edit in edits:
        parts.append(marked(string(edit, "old_string"), "-"))
        new = string(edit, "new_string") or string(edit, "content") or string(edit, "new_source")
        parts.append(marked(new, "+"))
    return "\n".join(filter(None, parts))


def _outcome(block: dict[str, Any], result: dict[str, Any]) -> dict[str, Value]:
    how: dict[str, Value] = {}
    if result.get("type") == "create":
        how["change"] = "add"
    if block.get("is_error") is True:
        how["failed"] = True
        if match := _EXIT_CODE.match(text_of(block.get("content"))):
            how["exit_code"] = int(match[1])
    return how
