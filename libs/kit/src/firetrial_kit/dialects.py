"""The two ways in which models are asked: OpenAI's chat completions and Anthropic's messages.

A dialect turns messages and a schema into a request, and a response into a `Reply`. Each knows several
levels of structure, the strictest first; where an endpoint refuses one, the next is tried.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import openai

from firetrial_kit.asking import Message, Schema, Usage

_ANTHROPIC_VERSION = "2023-06-01"
_TOLD_TOKENS = 20  # the most that the API tells
_MOST_TOKENS = 16384  # Anthropic insists on a bound; every model in use there can write so much


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model wrote, what is wrong with it as an answer ("" if nothing), and what it cost.

    `first` holds, where asked for, the likeliest first tokens with the natural logs of their probabilities.
    """

    text: str
    fault: str
    usage: Usage
    first: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Request:
    """One request; `temperature` is left to the model where it is None.

    Where `one_token` is set, the probabilities of the first token are asked for and no schema is sent.
    """

    model: str
    messages: Sequence[Message]
    schema: Schema
    name: str
    temperature: float | None = 0.0
    one_token: bool = False


class Dialect(Protocol):
    """How one kind of endpoint is spoken to."""

    levels: int

    async def send(self, client: openai.AsyncOpenAI, request: Request, level: int) -> Reply:
        """Ask once. Raises what the client raises, and ValueError for a body that is no answer."""
        ...


class OpenAIDialect:
    """Chat completions: by JSON schema, in JSON mode, or in plain text."""

    _FORMATS = ("json_schema", "json_object", "text")
    levels = len(_FORMATS)

    async def send(self, client: openai.AsyncOpenAI, request: Request, level: int) -> Reply:
        body: dict[str, Any] = {"model": request.model}
        said = [{"role": m.role, "content": m.content} for m in request.messages]
        if request.temperature is not None:
            body["temperature"] = request.temperature
        if request.one_token:
            body |= {"max_tokens": 1, "logprobs": True, "top_logprobs": _TOLD_TOKENS}
        elif self._FORMATS[level] == "json_schema":
            shape = {"name": request.name, "schema": dict(request.schema), "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": shape}
        else:
            said.append({"role": "user", "content": _instruction(request.schema)})
            if self._FORMATS[level] == "json_object":
                body["response_format"] = {"type": "json_object"}
        body["messages"] = said
        # Not by the package's typed method, whose checks of what is sent and got take most of a call's CPU.
        answer = await client.post("/chat/completions", cast_to=object, body=body)
        if not isinstance(answer, dict) or not isinstance(answer.get("choices"), list):
            raise ValueError("the endpoint's answer is no chat completion")  # noqa: TRY004 - retried as bad JSON is
        return _weighed(answer) if request.one_token else _completed(answer)


def _completed(answer: Mapping[str, Any]) -> Reply:
    usage = _openai_usage(answer.get("usage"))
    choice = answer["choices"][0] if answer["choices"] else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        return Reply("", "the answer holds no message", usage)
    content = message.get("content")
    text = content if isinstance(content, str) else ""
    if message.get("refusal"):
        return Reply(text, "the model declined to answer", usage)
    if choice.get("finish_reason") == "length":
        return Reply(text, "the answer was cut off: give a shorter one", usage)
    return Reply(text, "" if text.strip() else "the answer is empty", usage)


def _weighed(answer: Mapping[str, Any]) -> Reply:
    """The first token's alternatives; none where the endpoint tells none, or not in the API's form."""
    usage = _openai_usage(answer.get("usage"))
    try:
        told = answer["choices"][0]["logprobs"]["content"][0]["top_logprobs"]
        first = {str(entry["token"]): float(entry["logprob"]) for entry in told}
    except (KeyError, IndexError, TypeError, ValueError):
        first = {}
    return Reply("", "", usage, {token: told for token, told in first.items() if told <= 0.0})


def chances_of(words: Sequence[str], first: Mapping[str, float]) -> dict[str, float]:
    """The probability of each word, summed over the tokens that it can begin with, case aside."""
    chances = dict.fromkeys(words, 0.0)
    for token, told in first.items():
        begun = token.strip().lower()
        for word in words:
            if begun and word.lower().startswith(begun):
                chances[word] += math.exp(told)
    return chances


def _openai_usage(told: object) -> Usage:
    if not isinstance(told, dict):
        return Usage(calls=1)
    details = told.get("prompt_tokens_details")
    cached = _count(details, "cached_tokens") if isinstance(details, dict) else 0
    return Usage(1, _count(told, "prompt_tokens"), _count(told, "completion_tokens"), cached)


class AnthropicDialect:
    """Messages: by a tool that must be called with the answer, or in plain text."""

    levels = 2

    async def send(self, client: openai.AsyncOpenAI, request: Request, level: int) -> Reply:
        if request.one_token:
            return Reply("", "", Usage())  # no probabilities are told here, so nothing is asked
        body = _anthropic_body(request, by_tool=level == 0)
        # The openai package carries it: its connections, time limits and errors serve this dialect as well.
        headers = {"x-api-key": client.api_key, "anthropic-version": _ANTHROPIC_VERSION}
        options: Any = {"headers": {**headers, "Authorization": openai.Omit()}}
        answer = await client.post("/messages", cast_to=object, body=body, options=options)
        if not isinstance(answer, dict) or not isinstance(answer.get("content"), list):
            raise ValueError("the endpoint's answer is no message")  # noqa: TRY004 - retried as bad JSON is
        return _messaged(answer)


def _anthropic_body(request: Request, *, by_tool: bool) -> dict[str, Any]:
    said = [{"role": m.role, "content": m.content} for m in request.messages if m.role != "system"]
    body: dict[str, Any] = {
        "model": request.model,
        "max_tokens": _MOST_TOKENS,
        "system": "\n\n".join(m.content for m in request.messages if m.role == "system"),
        "messages": said,
    }
    if request.temperature is not None:
        body["temperature"] = request.temperature
    if by_tool:
        body["tools"] = [{"name": request.name, "input_schema": dict(request.schema)}]
        body["tool_choice"] = {"type": "tool", "name": request.name}
    else:
        said.append({"role": "user", "content": _instruction(request.schema)})
    return body


def _messaged(answer: Mapping[str, Any]) -> Reply:
    usage = _anthropic_usage(answer.get("usage"))
    blocks = [block for block in answer["content"] if isinstance(block, dict)]
    called = [block.get("input") for block in blocks if block.get("type") == "tool_use"]
    said = [str(block.get("text", "")) for block in blocks if block.get("type") == "text"]
    text = json.dumps(called[0], ensure_ascii=False) if len(called) == 1 else "".join(said)
    fault = {
        "max_tokens": "the answer was cut off: give a shorter one",
        "refusal": "the model declined to answer",
    }.get(str(answer.get("stop_reason")), "" if text.strip() else "the answer is empty")
    if len(called) > 1:
        fault = "it holds several answers"
    return Reply(text, fault, usage)


def _anthropic_usage(told: object) -> Usage:
    if not isinstance(told, dict):
        return Usage(calls=1)
    cached = _count(told, "cache_read_input_tokens")
    prompt = _count(told, "input_tokens") + cached + _count(told, "cache_creation_input_tokens")
    return Usage(1, prompt, _count(told, "output_tokens"), cached)


def _count(told: Mapping[str, Any], name: str) -> int:
    value = told.get(name)
    return value if isinstance(value, int) and value > 0 else 0


def _instruction(schema: Schema) -> str:
    return "Answer with one JSON value and nothing else. It must fit this JSON schema:\n" + json.dumps(schema)


DIALECTS: Mapping[str, Dialect] = {"openai": OpenAIDialect(), "anthropic": AnthropicDialect()}
