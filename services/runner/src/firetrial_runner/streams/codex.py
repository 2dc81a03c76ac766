"""`codex exec --json`: one JSON object a line, items that begin and complete within turns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from firetrial_runner.streams.calls import Calls
from firetrial_runner.streams.ending import Ending, Spent
from firetrial_runner.streams.json_lines import compact, count, parsed, part, string, text_of, total
from firetrial_runner.trajectory import Kind, Told

_TYPES = ("thread.", "turn.", "item.", "error")


class Codex:
    """The conclusion is the last message of a turn that was completed."""

    def __init__(self) -> None:
        self._calls = Calls()
        self._message = ""
        self._completed = False
        self._failure = ""
        self._seen = False
        self._spent = Spent()

    def line(self, text: str) -> Sequence[Told] | None:
        event = parsed(text)
        kind = string(event, "type") if event else ""
        if event is None or not kind.startswith(_TYPES):
            return None
        self._seen = True
        if kind in {"item.started", "item.updated", "item.completed"}:
            return self._item(part(event, "item"), done=kind == "item.completed")
        return self._event(kind, event)

    def close(self) -> Sequence[Told]:
        return self._calls.rest()

    def ending(self) -> Ending:
        if self._completed and self._message.strip():
            return Ending(conclusion=self._message, spent=self._spent)
        return Ending(why_none=self._why_none(), spent=self._spent)

    def _why_none(self) -> str:
        if self._failure:
            return f"the turn failed: {self._failure}"
        if self._completed:
            return "the turn was completed without a message"
        return (
            "the stream ends before the turn is completed"
            if self._seen
            else "the stream holds no line of Codex"
        )

    def _event(self, kind: str, event: dict[str, Any]) -> Sequence[Told] | None:
        if kind == "thread.started":
            return [Told(Kind.EVENT, f"thread {string(event, 'thread_id')} started")]
        if kind == "turn.started":
            self._message, self._completed, self._failure = "", False, ""
            return [Told(Kind.EVENT, "turn started")]
        if kind == "turn.completed":
            return self._turn(part(event, "usage"))
        if kind == "turn.failed":
            self._completed = False
            self._failure = string(part(event, "error"), "message") or "no reason is told"
            return [Told(Kind.EVENT, f"turn failed: {self._failure}")]
        if kind == "error":
            # Also told of what is tried again; a turn that is completed after it did not fail.
            self._failure = string(event, "message") or "no reason is told"
            return [Told(Kind.EVENT, f"error: {self._failure}")]
        return None

    def _turn(self, usage: dict[str, Any]) -> list[Told]:
        self._completed, self._failure = True, ""
        prompt, cached, completion = (
            count(usage, name) for name in ("input_tokens", "cached_input_tokens", "output_tokens")
        )
        spent = self._spent
        self._spent = Spent(
            total(spent.prompt, prompt), total(spent.cached, cached), total(spent.completion, completion)
        )
        tokens = {"prompt": prompt, "cached": cached, "completion": completion}
        known = {name: value for name, value in tokens.items() if value is not None}
        told = [Told(Kind.MODEL, "the turn's exchanges", {"model": {"tokens": known}})] if known else []
        if self._message.strip():
            told.append(Told(Kind.CONCLUSION, self._message, {"source": "the turn's last message"}))
        return told

    def _item(self, item: dict[str, Any], *, done: bool) -> Sequence[Told] | None:
        kind, call = string(item, "type"), string(item, "id")
        if kind == "command_execution":
            return self._command(item, call, done=done)
        if kind == "mcp_tool_call":
            return self._tool(item, call, done=done)
        if kind == "todo_list":
            return [Told(Kind.THOUGHT, _todo(item))]
        if not done:
            return [] if kind in {"agent_message", "reasoning", "file_change", "web_search"} else None
        return self._done(kind, item)

    def _done(self, kind: str, item: dict[str, Any]) -> Sequence[Told] | None:
        if kind == "agent_message":
            self._message = string(item, "text")
            return [Told(Kind.THOUGHT, self._message)]
        if kind == "reasoning":
            return [Told(Kind.THOUGHT, string(item, "text"), {"reasoning": True})]
        if kind == "file_change":
            return _edits(item)
        if kind == "web_search":
            return [Told(Kind.COMMAND, string(item, "query"), {"tool": kind, "call": string(item, "id")})]
        if kind == "error":
            return [Told(Kind.EVENT, f"error: {string(item, 'message')}")]
        return None

    def _command(self, item: dict[str, Any], call: str, *, done: bool) -> list[Told]:
        begun = self._calls.begin(call, Told(Kind.COMMAND, string(item, "command"), {"call": call}))
        if not done:
            return begun
        failed = True if string(item, "status") in {"failed", "declined"} else None
        code = item.get("exit_code")
        exit_code = code if isinstance(code, int) and not isinstance(code, bool) else None
        output = string(item, "aggregated_output")
        return self._calls.end(call, output, exit_code=exit_code, failed=failed)

    def _tool(self, item: dict[str, Any], call: str, *, done: bool) -> list[Told]:
        name = f"{string(item, 'server')}.{string(item, 'tool')}"
        what = Told(Kind.COMMAND, compact(item.get("arguments")), {"tool": name, "call": call})
        self._calls.begin(call, what)
        if not done:
            return []
        error = string(part(item, "error"), "message")
        output = error or text_of(part(item, "result").get("content"))
        return self._calls.end(call, output, failed=True if error else None)


def _edits(item: dict[str, Any]) -> list[Told]:
    changes = item.get("changes")
    failed = True if string(item, "status") == "failed" else None
    return [
        Told(
            Kind.EDIT,
            string(change, "diff"),
            {
                "path": string(change, "path"),
                "change": string(change, "kind"),
                "call": string(item, "id"),
                "failed": failed,
            },
        )
        for change in (changes if isinstance(changes, list) else [])
        if isinstance(change, dict)
    ]


def _todo(item: dict[str, Any]) -> str:
    entries = item.get("items")
    return "\n".join(
        f"[{'x' if entry.get('completed') else ' '}] {string(entry, 'text')}"
        for entry in (entries if isinstance(entries, list) else [])
        if isinstance(entry, dict)
    )
