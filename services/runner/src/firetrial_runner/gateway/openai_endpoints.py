"""OpenAI's calls: chat completions, responses, embeddings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from firetrial_runner.gateway import content
from firetrial_runner.gateway.content import Need
from firetrial_runner.gateway.endpoints import count, whole
from firetrial_runner.gateway.exchange import Ends, Tokens
from firetrial_runner.gateway.upstream import Dialect, Feature

_CHAT_LIMITS = ("max_completion_tokens", "max_tokens")
# Run by the agent itself.
_OWN_TOOLS = frozenset({"function", "custom", "local_shell", "apply_patch"})
# These search the web by themselves, without a tool.
_SEARCHING = ("-search", "deep-research")
_PLAIN_TIERS = (None, "auto", "default", "flex")


def _common(body: dict[str, Any]) -> Iterator[Need]:
    yield from content.given(body, Feature.STORAGE, ("store",))
    if body.get("service_tier") not in _PLAIN_TIERS:
        yield Feature.TIERS, "service_tier"
    if any(part in body["model"] for part in _SEARCHING):
        yield Feature.SERVER_TOOLS, "model"


def _own(tool: dict[str, Any]) -> bool:
    if tool.get("type") == "shell":
        environment = tool.get("environment")
        return isinstance(environment, dict) and environment.get("type") == "local"
    if tool.get("type") == "namespace":  # a group of tools, as Codex sends them
        members = tool.get("tools")
        return isinstance(members, list) and all(isinstance(m, dict) and _own(m) for m in members)
    return tool.get("type") in _OWN_TOOLS


def _tokens(usage: object, prompt: str, completion: str) -> Tokens | None:
    if not isinstance(usage, dict):
        return None
    read = count(usage, prompt)
    cached = min(read, count(usage.get(f"{prompt}_details"), "cached_tokens"))
    return Tokens(read, count(usage, completion), cached)


class ChatCompletions:
    path, dialect, paid = "/chat/completions", Dialect.OPENAI, True

    def needs(self, body: dict[str, Any]) -> Iterator[Need]:
        yield from _common(body)
        if body.get("n") not in (None, 1):
            yield Feature.CHOICES, "n"
        yield from content.given(body, Feature.SERVER_TOOLS, ("web_search_options",))
        yield from content.server_tools(body.get("tools"), _own)
        yield from content.remote(body.get("messages"), "messages")

    def most(self, body: dict[str, Any]) -> int | None:
        asked = [value for name in _CHAT_LIMITS if (value := whole(body, name))]
        return min(asked, default=None)

    def limit(self, body: dict[str, Any], tokens: int, field: str) -> None:
        for name in [name for name in _CHAT_LIMITS if body.get(name) is not None] or [field]:
            body[name] = tokens

    def prepare(self, body: dict[str, Any]) -> None:
        if body.get("stream"):
            options = body.get("stream_options")
            asked = options if isinstance(options, dict) else {}
            body["stream_options"] = {**asked, "include_usage": True}

    def tokens(self, answer: dict[str, Any]) -> Tokens | None:
        return _tokens(answer.get("usage"), "prompt_tokens", "completion_tokens")

    def reader(self, body: dict[str, Any]) -> _ChatReader:
        options = body.get("stream_options")
        return _ChatReader(self, isinstance(options, dict) and bool(options.get("include_usage")))


class _ChatReader:
    """`asked`: the agent wants the usage at the end, which is a chunk without choices."""

    def __init__(self, endpoint: ChatCompletions, asked: bool) -> None:
        self._endpoint, self._asked = endpoint, asked
        self.tokens: Tokens | None = None
        self.text = Ends()

    def see(self, event: dict[str, Any]) -> bool:
        told = self._endpoint.tokens(event)
        self.tokens = told or self.tokens
        choices = event.get("choices")
        for choice in choices if isinstance(choices, list) else ():
            delta = choice.get("delta") if isinstance(choice, dict) else None
            if isinstance(delta, dict):
                self._hear(delta)
        return self._asked or told is None or bool(choices)

    def _hear(self, delta: dict[str, Any]) -> None:
        for name in ("reasoning_content", "content", "refusal"):
            if isinstance(said := delta.get(name), str):
                self.text.add(said)
        calls = delta.get("tool_calls")
        for call in calls if isinstance(calls, list) else ():
            function = call.get("function") if isinstance(call, dict) else None
            if isinstance(function, dict):
                called = function.get("name")
                self.text.add(f"\n[{called}] " if called else "")
                self.text.add(str(function.get("arguments") or ""))


class Responses:
    path, dialect, paid = "/responses", Dialect.OPENAI, True

    def needs(self, body: dict[str, Any]) -> Iterator[Need]:
        yield from _common(body)
        kept = ("background", "previous_response_id", "conversation", "prompt")
        yield from content.given(body, Feature.STORAGE, kept)
        yield from content.server_tools(body.get("tools"), _own)
        yield from content.remote(body.get("input"), "input")

    def most(self, body: dict[str, Any]) -> int | None:
        return whole(body, "max_output_tokens")

    def limit(self, body: dict[str, Any], tokens: int, field: str) -> None:  # noqa: ARG002 -- the port's signature
        body["max_output_tokens"] = tokens

    def prepare(self, body: dict[str, Any]) -> None:
        body.setdefault("store", False)  # left out, it is true

    def tokens(self, answer: dict[str, Any]) -> Tokens | None:
        return _tokens(answer.get("usage"), "input_tokens", "output_tokens")

    def reader(self, body: dict[str, Any]) -> _ResponsesReader:  # noqa: ARG002 -- the port's signature
        return _ResponsesReader(self)


class _ResponsesReader:
    def __init__(self, endpoint: Responses) -> None:
        self._endpoint = endpoint
        self.tokens: Tokens | None = None
        self.text = Ends()

    def see(self, event: dict[str, Any]) -> bool:
        if isinstance(response := event.get("response"), dict):
            self.tokens = self._endpoint.tokens(response) or self.tokens
        kind, delta = str(event.get("type", "")), event.get("delta")
        item = event.get("item")
        if kind.endswith("output_item.added") and isinstance(item, dict) and item.get("name"):
            self.text.add(f"\n[{item['name']}] ")
        elif kind.endswith(".delta") and isinstance(delta, str):
            self.text.add(delta)
        return True


class Embeddings:
    path, dialect, paid = "/embeddings", Dialect.OPENAI, True

    def needs(self, body: dict[str, Any]) -> Iterator[Need]:
        return _common(body)

    def most(self, body: dict[str, Any]) -> int | None:  # noqa: ARG002 -- the port's signature
        return 0

    def limit(self, body: dict[str, Any], tokens: int, field: str) -> None:
        """Nothing is written."""

    def prepare(self, body: dict[str, Any]) -> None:
        body.pop("stream", None)

    def tokens(self, answer: dict[str, Any]) -> Tokens | None:
        return _tokens(answer.get("usage"), "prompt_tokens", "completion_tokens")

    def reader(self, body: dict[str, Any]) -> _ChatReader:
        return ChatCompletions().reader(body)
