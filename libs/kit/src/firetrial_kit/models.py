"""Structured answers from any OpenAI-compatible endpoint: messages and a JSON schema in, a checked value out.

Endpoints differ in what they offer: the client asks by JSON schema, steps down to JSON mode and then to
plain text where that is refused, and remembers what worked. An answer that does not fit the schema is asked
for again with the fault named; a rate limit or a failing server is waited out within a budget. Imported by
the services that call a model; nothing else in kit needs the openai package.
"""

from __future__ import annotations

import asyncio
import email.utils
import json
import random
import re
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast

import openai
from jsonschema import Draft202012Validator
from openai.types.chat import ChatCompletion

from firetrial_kit.errors import FiretrialError, Reason

Schema = Mapping[str, Any]
_SHOWN = 300  # characters of a foreign text that an error or a repair request repeats
_RETRIED = frozenset({408, 409, 425, 429})
_FORMATS = ("json_schema", "json_object", "text")


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class Usage:
    """What was paid for. `calls` counts answered requests; `cached_tokens` are part of the prompt's."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.calls + other.calls,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.cached_tokens + other.cached_tokens,
        )


@dataclass(frozen=True, slots=True)
class Answer:
    """A value that fits the schema, and what it cost, failed tries included."""

    value: Any
    usage: Usage


class ModelError(FiretrialError):
    """A model gave no usable answer. `usage` is what was spent on it all the same."""

    def __init__(
        self, reason: Reason, message: str, usage: Usage, *, retry_after: float | None = None
    ) -> None:
        super().__init__(reason, message, retry_after=retry_after)
        self.usage = usage


class UpstreamUnavailable(ModelError):  # noqa: N818 - the state of the upstream, as callers read it
    """The endpoint is down, too slow or limits the rate; worth another try after `retry_after` seconds."""


class UpstreamRefused(ModelError):  # noqa: N818
    """The endpoint will not answer this request however often it is sent: key, model name or request."""


class MalformedAnswer(ModelError):  # noqa: N818
    """The endpoint answered, but never in the form that was asked for."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a model is asked. `base_url` ends in the version ("https://host/v1"); the key is never shown.

    `timeout` seconds bound one request; none is begun once `patience` seconds have gone into one answer;
    `repairs` is how often a malformed answer is asked for again.
    """

    base_url: str
    model: str
    api_key: str = field(default="", repr=False)
    timeout: float = 120.0
    patience: float = 300.0
    repairs: int = 2


class ModelClient:
    """Asks one model at one endpoint. Use it from one event loop; close it with `aclose`."""

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.endpoint = endpoint
        self._clock = clock
        self._sleep = sleep
        self._format = 0
        self._temperature = True
        self._client = openai.AsyncOpenAI(
            base_url=endpoint.base_url,
            # The package insists on a key; local servers have none.
            api_key=endpoint.api_key or "none",
            timeout=endpoint.timeout,
            max_retries=0,
        )

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def ask(
        self,
        messages: Sequence[Message],
        schema: Schema,
        *,
        name: str = "answer",
        accept: Schema | None = None,
    ) -> Answer:
        """The model's answer as a value that fits `accept`, by default the `schema` that it was asked for.

        Raises UpstreamUnavailable, UpstreamRefused or MalformedAnswer.
        """
        deadline = self._clock() + self.endpoint.patience
        validator = Draft202012Validator(accept if accept is not None else schema)
        conversation = list(messages)
        usage = Usage()
        for attempt in range(self.endpoint.repairs + 1):
            text, fault, spent = await self._complete(conversation, schema, name, deadline, usage)
            usage += spent
            value, fault = (None, fault) if fault else _parsed(text, validator)
            if not fault:
                return Answer(value, usage)
            if attempt < self.endpoint.repairs:
                conversation = [*messages, *_repair(text, fault)]
        raise MalformedAnswer(
            Reason.CORRUPT, f"model {self.endpoint.model!r} gave no usable answer: {fault}", usage
        )

    async def _complete(
        self, messages: Sequence[Message], schema: Schema, name: str, deadline: float, usage: Usage
    ) -> tuple[str, str, Usage]:
        """The text of one completion, what is wrong with it ("" if nothing), and what it cost."""
        tries, level = 0, self._format
        while True:
            try:
                async with asyncio.timeout(self.endpoint.timeout):
                    completion = await self._request(messages, schema, name, level)
            except (openai.BadRequestError, openai.UnprocessableEntityError) as error:
                if self._temperature and "temperature" in str(error).lower():
                    self._temperature = False  # some models take no temperature at all
                elif level + 1 < len(_FORMATS):
                    level += 1
                else:
                    raise self._refused(error, usage) from None
            except (openai.OpenAIError, TimeoutError, ValueError) as error:
                tries += 1
                await self._wait(error, tries, deadline, usage)
            else:
                self._format = level
                return _content(completion)

    async def _request(
        self, messages: Sequence[Message], schema: Schema, name: str, level: int
    ) -> ChatCompletion:
        extra: dict[str, Any] = {"temperature": 0} if self._temperature else {}
        sent = [{"role": m.role, "content": m.content} for m in messages]
        if _FORMATS[level] == "json_schema":
            shape = {"name": name, "schema": dict(schema), "strict": True}
            extra["response_format"] = {"type": "json_schema", "json_schema": shape}
        else:
            sent.append({"role": "user", "content": _instruction(schema)})
            if _FORMATS[level] == "json_object":
                extra["response_format"] = {"type": "json_object"}
        completion = await self._client.chat.completions.create(
            model=self.endpoint.model, messages=cast("Any", sent), **extra
        )
        if not isinstance(completion, ChatCompletion):
            raise ValueError("the endpoint's answer is no chat completion")  # noqa: TRY004 - retried as bad JSON is
        return completion

    async def _wait(self, error: Exception, tries: int, deadline: float, usage: Usage) -> None:
        """Sleep until the next try is due; raise where none can help or there is no time for it."""
        status = error.status_code if isinstance(error, openai.APIStatusError) else 0
        if status and status < 500 and status not in _RETRIED:
            raise self._refused(cast("openai.APIStatusError", error), usage) from None
        hint = _retry_after(error)
        # Jitter keeps many waiting judges from coming back at once.
        pause = min(0.5 * 2 ** (tries - 1), 30.0) * random.uniform(0.75, 1.25) if hint is None else hint  # noqa: S311
        if self._clock() + pause >= deadline:
            what = self._safe(str(error)) or type(error).__name__
            raise UpstreamUnavailable(
                Reason.UNAVAILABLE,
                f"{self.endpoint.base_url} did not answer ({tries} tries): {what}",
                usage,
                retry_after=hint,
            ) from None
        await self._sleep(pause)

    def _refused(self, error: openai.APIStatusError, usage: Usage) -> UpstreamRefused:
        return UpstreamRefused(
            Reason.PRECONDITION,
            f"{self.endpoint.base_url} refused model {self.endpoint.model!r} with {error.status_code}: "
            f"{self._safe(str(error))}; check the key, the model's name and the address",
            usage,
        )

    def _safe(self, text: str) -> str:
        """A foreign message, short and without the key, which some servers repeat in part."""
        key = self.endpoint.api_key
        hidden = text.replace(key, "***") if key else text
        return re.sub(r"\b(sk|key)-[\w*.-]{4,}", "***", hidden)[:_SHOWN]


def _content(completion: ChatCompletion) -> tuple[str, str, Usage]:
    usage = _usage(completion)
    choices = completion.choices or []
    if not choices or choices[0].message is None:
        return "", "the answer holds no message", usage
    choice = choices[0]
    text = choice.message.content or ""
    if getattr(choice.message, "refusal", None):
        return text, "the model declined to answer", usage
    if choice.finish_reason == "length":
        return text, "the answer was cut off: give a shorter one", usage
    return text, "" if text.strip() else "the answer is empty", usage


def _usage(completion: ChatCompletion) -> Usage:
    told = completion.usage
    if told is None:
        return Usage(calls=1)
    details = told.prompt_tokens_details
    cached = details.cached_tokens if details is not None else 0
    return Usage(1, told.prompt_tokens or 0, told.completion_tokens or 0, cached or 0)


def _retry_after(error: Exception) -> float | None:
    """Seconds that the server asks to wait, from retry-after-ms or retry-after (seconds or a date)."""
    if not isinstance(error, openai.APIStatusError):
        return None
    headers = error.response.headers
    try:
        if "retry-after-ms" in headers:
            return max(0.0, float(headers["retry-after-ms"]) / 1000)
        value = headers.get("retry-after", "")
        if re.fullmatch(r"\d+(\.\d+)?", value):
            return float(value)
        when = email.utils.parsedate_to_datetime(value).timestamp() if value else None
        return max(0.0, when - time.time()) if when is not None else None
    except ValueError:
        return None


def _instruction(schema: Schema) -> str:
    return "Answer with one JSON value and nothing else. It must fit this JSON schema:\n" + json.dumps(schema)


def _repair(text: str, fault: str) -> list[Message]:
    again = f"That answer cannot be used: {fault}. Answer again, with the whole JSON value and nothing else."
    return [Message("assistant", text[:4000] or "(empty)"), Message("user", again)]


# Reading JSON out of what models write


def _parsed(text: str, validator: Draft202012Validator) -> tuple[Any, str]:
    """The value in `text` that fits, and "", or None and what is wrong."""
    values = _values(text)
    if not values:
        return None, "it is not valid JSON"
    faults = [_schema_fault(value, validator) for value in values]
    fitting = [value for value, fault in zip(values, faults, strict=True) if not fault]
    if len(fitting) > 1 and any(value != fitting[0] for value in fitting):
        return None, "it holds several different JSON values"
    return (fitting[0], "") if fitting else (None, faults[-1])


def _schema_fault(value: Any, validator: Draft202012Validator) -> str:
    error = next(iter(sorted(validator.iter_errors(value), key=lambda e: (len(e.path), str(e.path)))), None)
    if error is None:
        return ""
    where = "/".join(str(part) for part in error.absolute_path) or "the value"
    return f"at {where}: {error.message[:_SHOWN]}"


_FENCE = re.compile(r"```(?:json)?\s*\n(.*?)```", re.DOTALL | re.IGNORECASE)
_TRAILING_COMMA = re.compile(r'("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])')
_MOST_VALUES = 20


def _values(text: str) -> list[Any]:
    """JSON values in `text`: all of it, or its fenced blocks, or objects amid prose."""
    candidates = [text.strip(), *(match.strip() for match in _FENCE.findall(text))]
    whole = [found[0] for candidate in candidates if (found := _loaded(candidate))]
    return whole or _embedded(text)


def _embedded(text: str) -> list[Any]:
    """Objects amid prose, up to the first that is broken: what comes after could be a piece of it."""
    values: list[Any] = []
    decoder = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_no_constant)
    start = text.find("{")
    while start >= 0 and len(values) < _MOST_VALUES:
        try:
            value, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            break
        values.append(value)
        start = text.find("{", end)
    return values


def _loaded(text: str) -> tuple[Any] | None:
    for candidate in (text, _TRAILING_COMMA.sub(lambda match: match[1] or "", text)):
        try:
            return (json.loads(candidate, object_pairs_hook=_unique, parse_constant=_no_constant),)
        except (ValueError, RecursionError):
            continue
    return None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({key for key, _ in pairs}) != len(pairs):
        raise ValueError("a key is given twice")
    return dict(pairs)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")
