"""`openhands --headless --json`: the events of a conversation, one a line, among lines for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from firetrial_runner.streams.calls import Calls, marked
from firetrial_runner.streams.ending import Ending
from firetrial_runner.streams.json_lines import compact, count, parsed, part, string, text_of
from firetrial_runner.trajectory import Kind, Told, Value

_REFUSED = {"AgentErrorEvent": "error", "UserRejectObservation": "rejection_reason"}
_ASIDE = {
    "Condensation",
    "CondensationRequest",
    "CondensationSummaryEvent",
    "HookExecutionEvent",
    "PauseEvent",
}
_KINDS = {"MessageEvent", "ActionEvent", "ObservationEvent", "ConversationErrorEvent", *_REFUSED, *_ASIDE}
_EDITS = {"create", "str_replace", "insert"}


class OpenHandsEvents:
    """The conclusion is what the agent finishes with, or a message after which it does nothing more.

    The program's exit code is 0 however it went.
    """

    def __init__(self) -> None:
        self._calls = Calls()
        self._last: tuple[str, str] | None = None
        self._failure = ""
        self._seen = False

    def line(self, text: str) -> Sequence[Told] | None:
        event = parsed(text)
        kind = string(event, "kind") if event else ""
        if event is None or kind not in _KINDS:
            return None
        self._seen = True
        if kind == "MessageEvent":
            return self._message(event)
        if kind == "ActionEvent":
            return self._action(event, part(event, "action"))
        if kind == "ObservationEvent":
            return self._observation(string(event, "tool_call_id"), part(event, "observation"))
        if kind in _REFUSED:
            return self._calls.end(string(event, "tool_call_id"), string(event, _REFUSED[kind]), failed=True)
        return [self._error(event) if kind == "ConversationErrorEvent" else Told(Kind.EVENT, compact(event))]

    def close(self) -> Sequence[Told]:
        told = self._calls.rest()
        if self._last:
            told.append(Told(Kind.CONCLUSION, self._last[0], {"source": self._last[1]}))
        return told

    def ending(self) -> Ending:
        if self._last:
            return Ending(conclusion=self._last[0])
        began = (
            "the stream ends before the agent finished"
            if self._seen
            else "the stream holds no event of OpenHands"
        )
        return Ending(why_none=self._failure or began)

    def _message(self, event: dict[str, Any]) -> list[Told]:
        message = part(event, "llm_message")
        said = text_of(message.get("content"))
        if string(event, "source") != "agent":
            return [Told(Kind.EVENT, said, {"source": "user"})]
        self._last = (said.strip(), "the last message") if said.strip() else None
        return [*_reasoned(message), Told(Kind.THOUGHT, said)]

    def _action(self, event: dict[str, Any], action: dict[str, Any]) -> list[Told]:
        """`action` is empty where the model called a tool wrongly: an AgentErrorEvent follows."""
        self._last, self._failure = None, ""
        thought = text_of(event.get("thought")).strip()
        told = _reasoned(event) + ([Told(Kind.THOUGHT, thought)] if thought else [])
        kind = string(action, "kind")
        if kind == "FinishAction":
            said = string(action, "message").strip()
            self._last = (said, "finish") if said else None
            return told
        if kind == "ThinkAction":
            return [*told, Told(Kind.THOUGHT, string(action, "thought"))]
        call = string(event, "tool_call_id")
        return [*told, *self._calls.begin(call, _called(event, action, call))]

    def _observation(self, call: str, seen: dict[str, Any]) -> list[Told]:
        if string(seen, "kind") in {"FinishObservation", "ThinkObservation"}:
            return []
        how: dict[str, Value] = {"failed": True} if seen.get("is_error") is True else {}
        if (code := count(seen, "exit_code")) is not None:
            how["exit_code"] = code
        if seen.get("prev_exist") is False:
            how["change"] = "add"
        return self._calls.end(call, text_of(seen.get("content")), **how)

    def _error(self, event: dict[str, Any]) -> Told:
        self._last = None
        self._failure = (
            f"it ended with {string(event, 'code') or 'an error'}: {string(event, 'detail')[:500]}"
        )
        return Told(Kind.EVENT, self._failure)


def _reasoned(event: dict[str, Any]) -> list[Told]:
    said = string(event, "reasoning_content")
    return [Told(Kind.THOUGHT, said, {"reasoning": True})] if said else []


def _called(event: dict[str, Any], action: dict[str, Any], call: str) -> Told:
    tool, kind = string(event, "tool_name"), string(action, "kind")
    if kind == "FileEditorAction" and string(action, "command") in _EDITS:
        new = string(action, "new_str") or string(action, "file_text")
        diff = [marked(string(action, "old_str"), "-"), marked(new, "+")]
        fields: dict[str, Value] = {"path": string(action, "path"), "change": "update", "call": call}
        return Told(Kind.EDIT, "\n".join(filter(None, diff)), fields)
    given = {name: value for name, value in action.items() if name != "kind" and value is not None}
    asked = compact(given) if action else string(part(event, "tool_call"), "arguments")
    text = string(action, "command") if kind == "TerminalAction" else asked
    return Told(Kind.COMMAND, text, {"tool": tool, "call": call})
