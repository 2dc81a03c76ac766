"""The stream of the project's own agents, reference and replay: one JSON object a line, a step or its end.

    {"type": "command", "call": "3", "tool": "bash", "text": "python3 run.py"}
    {"type": "result", "call": "3", "exit_code": 0, "text": "accuracy 0.91\\n"}

Types: event, thought, command, edit, result (of a command or an edit), exchange (with a model), conclusion.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from firetrial_runner.streams.calls import Calls
from firetrial_runner.streams.ending import Ending, Spent
from firetrial_runner.streams.json_lines import amount, count, parsed, part, string, total
from firetrial_runner.trajectory import Kind, Told, Value

_TYPES = {"event", "thought", "command", "edit", "result", "exchange", "conclusion"}


class Reference:
    """The conclusion is the last one that is told."""

    def __init__(self) -> None:
        self._calls = Calls()
        self._conclusion = ""
        self._model = ""
        self._last = ""
        self._spent = Spent()

    def line(self, text: str) -> Sequence[Told] | None:
        event = parsed(text)
        kind = string(event, "type") if event else ""
        if event is None or kind not in _TYPES:
            return None
        if kind == "exchange":
            return [self._exchange(event)]
        if kind in {"command", "edit"}:
            return self._calls.begin(string(event, "call"), _call(kind, event))
        if kind == "result":
            how: dict[str, Value] = {"exit_code": count(event, "exit_code"), "failed": _true(event, "failed")}
            return self._calls.end(string(event, "call"), string(event, "text"), **how)
        return [self._said(kind, event)]

    def _said(self, kind: str, event: dict[str, Any]) -> Told:
        said = string(event, "text")
        if kind == "conclusion":
            self._conclusion = said
            return Told(Kind.CONCLUSION, said, {"source": string(event, "source") or None})
        if kind == "event":
            self._last = said
            return Told(Kind.EVENT, said)
        return Told(Kind.THOUGHT, said, {"reasoning": _true(event, "reasoning")})

    def close(self) -> Sequence[Told]:
        return self._calls.rest()

    def ending(self) -> Ending:
        why = "" if self._conclusion.strip() else self._last or "the stream ends before its conclusion"
        return Ending(self._conclusion, why, self._model, self._spent)

    def _exchange(self, event: dict[str, Any]) -> Told:
        tokens = part(event, "tokens")
        names = ("prompt", "cached", "completion")
        counted = [count(tokens, name) for name in names]
        spent = (self._spent.prompt, self._spent.cached, self._spent.completion)
        self._spent = Spent(*map(total, spent, counted))
        self._model = string(event, "model") or self._model
        known = {name: value for name, value in zip(names, counted, strict=True) if value is not None}
        told: dict[str, object] = {"name": self._model, "tokens": known}
        if (latency := amount(event, "latency_s")) is not None:
            told["latency_s"] = latency
        return Told(Kind.MODEL, self._model, {"model": told})


def _true(event: dict[str, Any], name: str) -> bool | None:
    return True if event.get(name) is True else None


def _call(kind: str, event: dict[str, Any]) -> Told:
    fields: dict[str, Value] = {"call": string(event, "call")}
    if kind == "edit":
        fields |= {"path": string(event, "path"), "change": string(event, "change")}
    else:
        fields["tool"] = string(event, "tool") or None
    return Told(Kind(kind), string(event, "text"), fields)
