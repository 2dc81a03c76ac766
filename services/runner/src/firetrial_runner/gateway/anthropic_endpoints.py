"""Anthropic's calls: messages, and the free count of their tokens."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from firetrial_runner.gateway import content
from firetrial_runner.gateway.content import Need
from firetrial_runner.gateway.endpoints import count, whole
from firetrial_runner.gateway.exchange import Ends, Tokens
from firetrial_runner.gateway.upstream import Dialect, Feature

# Run by the agent itself; whatever else has a type is run by the vendor.
_OWN_TOOLS = ("bash_", "text_editor_", "memory_", "computer_")


def _own(tool: dict[str, Any]) -> bool:
    kind = tool.get("type") or "custom"
    return kind == "custom" or str(kind).startswith(_OWN_TOOLS)


class Messages:
    path, dialect, paid = "/messages", Dialect.ANTHROPIC, True

    def needs(self, body: dict[str, Any]) -> Iterator[Need]:
        yield from content.given(body, Feature.SERVER_TOOLS, ("mcp_servers", "container"))
        yield from content.given(body, Feature.TIERS, ("speed", "inference_geo"))
        yield from content.server_tools(body.get("tools"), _own)
        yield from content.remote(body.get("messages"), "messages")
        yield from content.remote(body.get("system"), "system")

    def most(self, body: dict[str, Any]) -> int | None:
        return whole(body, "max_tokens")

    def limit(self, body: dict[str, Any], tokens: int, field: str) -> None:  # noqa: ARG002 -- the port's signature
        body["max_tokens"] = tokens
        thinking = body.get("thinking")
        if isinstance(thinking, dict) and (whole(thinking, "budget_tokens") or 0) >= tokens:
            body["thinking"] = {"type": "disabled"}  # a budget must be less than what may be written

    def prepare(self, body: dict[str, Any]) -> None:
        """Sent as it is."""

    def tokens(self, answer: dict[str, Any]) -> Tokens | None:
        usage = answer.get("usage")
        if not isinstance(usage, dict):
            return None
        cached = count(usage, "cache_read_input_tokens")
        written = count(usage, "cache_creation_input_tokens")
        prompt = count(usage, "input_tokens") + cached + written
        return Tokens(prompt, count(usage, "output_tokens"), cached, written)

    def reader(self, body: dict[str, Any]) -> _MessagesReader:  # noqa: ARG002 -- the port's signature
        return _MessagesReader(self)


class _MessagesReader:
    """The first event tells what was read, the last but one what was written: in all, not since the last."""

    def __init__(self, endpoint: Messages) -> None:
        self._endpoint = endpoint
        self._usage: dict[str, Any] = {}
        self.tokens: Tokens | None = None
        self.text = Ends()

    def see(self, event: dict[str, Any]) -> bool:
        kind = event.get("type")
        message = event.get("message")
        if kind == "message_start" and isinstance(message, dict):
            self._told(message.get("usage"))
        elif kind == "message_delta" and isinstance(event.get("usage"), dict):
            self._told(event["usage"])
            self.tokens = self._endpoint.tokens({"usage": self._usage})
        block, delta = event.get("content_block"), event.get("delta")
        if isinstance(block, dict) and block.get("name"):
            self.text.add(f"\n[{block['name']}] ")
        if isinstance(delta, dict):
            for name in ("text", "partial_json", "thinking"):
                if isinstance(said := delta.get(name), str):
                    self.text.add(said)
        return True

    def _told(self, usage: object) -> None:
        if isinstance(usage, dict):
            self._usage |= {name: value for name, value in usage.items() if value is not None}


class CountTokens(Messages):
    path, paid = "/messages/count_tokens", False

    def tokens(self, answer: dict[str, Any]) -> Tokens | None:  # noqa: ARG002 -- free
        return Tokens()
