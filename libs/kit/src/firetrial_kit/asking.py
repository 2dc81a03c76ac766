"""What is asked of a model and what comes back, as values: no machinery, nothing heavy to import."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from firetrial_kit.errors import FiretrialError, Reason

Schema = Mapping[str, Any]


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
class Price:
    """What a model costs, in USD per million tokens; `cached` tokens are part of the prompt's."""

    prompt: float
    completion: float
    cached: float

    def of(self, usage: Usage) -> float:
        """USD."""
        fresh = max(0, usage.prompt_tokens - usage.cached_tokens)
        tokens = (
            fresh * self.prompt
            + usage.cached_tokens * self.cached
            + usage.completion_tokens * self.completion
        )
        return tokens / 1e6


@dataclass(frozen=True, slots=True)
class Spent:
    """What the model calls of one piece of work took; zero where no model was asked.

    `cost_usd` is None where the price of any call is unknown, which is not 0. `cache_hits` counts the answers
    that were at hand instead.
    """

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    cost_usd: float | None = None
    cache_hits: int = 0

    @classmethod
    def of(cls, usage: Usage, price: Price | None) -> Spent:
        """What was used, at a price that is None where it is unknown."""
        cost = None if price is None else price.of(usage)
        return cls(usage.calls, usage.prompt_tokens, usage.completion_tokens, usage.cached_tokens, cost)

    def __add__(self, other: Spent) -> Spent:
        costs = [spent.cost_usd for spent in (self, other) if spent.calls]
        known = [cost for cost in costs if cost is not None]
        return Spent(
            self.calls + other.calls,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.cached_tokens + other.cached_tokens,
            sum(known) if known and len(known) == len(costs) else None,
            self.cache_hits + other.cache_hits,
        )

    @property
    def known_cost(self) -> float | None:
        """USD, 0 where nothing was asked, None where it is unknown."""
        return self.cost_usd if self.calls else 0.0


@dataclass(frozen=True, slots=True)
class Answer:
    """A value that fits the schema, and what it cost, failed tries included."""

    value: Any
    usage: Usage


@dataclass(frozen=True, slots=True)
class Choice:
    """How likely each word was to be the answer, in [0, 1] and together at most 1, and what that cost."""

    chances: Mapping[str, float]
    usage: Usage


@dataclass(frozen=True, slots=True)
class Call:
    """One request as it went: `seconds` on the wire; `usage` is empty where no answer came.

    `purpose` is what its answer is called. One that is `refused` was never sent: its budget has no room.
    """

    model: str
    seconds: float
    usage: Usage
    answered: bool
    purpose: str = ""
    refused: bool = False


class Meter(Protocol):
    """Watches what is spent: told before each request that may cost something, and after it."""

    async def reserve(self, prompt_bytes: int) -> str:
        """A name for the request to come. Raises FiretrialError where it may not be paid for."""
        ...

    async def settle(self, request: str, usage: Usage) -> None:
        """The request has cost this; nothing where no answer came."""
        ...


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

    `timeout` seconds bound one request; none is sent again once `patience` seconds have gone into one answer,
    waiting for a turn aside; `repairs` is how often a malformed answer is asked for again; `at_once` bounds
    the requests under way.
    """

    base_url: str
    model: str
    api_key: str = field(default="", repr=False)
    timeout: float = 120.0
    patience: float = 300.0
    repairs: int = 2
    dialect: Literal["openai", "anthropic"] = "openai"
    at_once: int = 64
