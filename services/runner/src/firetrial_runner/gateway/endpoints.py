"""The calls that agents may make, and what the gateway has to know of each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

from firetrial_runner.gateway.content import Need
from firetrial_runner.gateway.exchange import Ends, Tokens
from firetrial_runner.gateway.upstream import Dialect


class Reader(Protocol):
    """Follows a streamed answer. `tokens` is None until they were told; `text` is what was written."""

    tokens: Tokens | None
    text: Ends

    def see(self, event: dict[str, Any]) -> bool:
        """Take the next event; whether the agent is to have it."""


class Endpoint(Protocol):
    """One call. `path` is below an upstream's URL; what is not `paid` costs nothing and counts nowhere."""

    path: str
    dialect: Dialect
    paid: bool

    def needs(self, body: dict[str, Any]) -> Iterator[Need]:
        """What it asks for beyond an answer to what it says."""

    def most(self, body: dict[str, Any]) -> int | None:
        """Tokens that one answer may have as asked for; None where that is left open."""

    def limit(self, body: dict[str, Any], tokens: int, field: str) -> None:
        """Hold the answer to so many tokens; `field` is the upstream's own name for that, if it has one."""

    def prepare(self, body: dict[str, Any]) -> None:
        """Make it fit to be sent."""

    def tokens(self, answer: dict[str, Any]) -> Tokens | None:
        """What an answer says it came to."""

    def reader(self, body: dict[str, Any]) -> Reader:
        """For the stream that answers `body`, as the agent sent it."""


def count(told: object, name: str) -> int:
    """A number of tokens; 0 where there is none that could be one."""
    value = told.get(name) if isinstance(told, dict) else None
    return value if isinstance(value, int) and value > 0 else 0


def whole(body: dict[str, Any], name: str) -> int | None:
    """A positive number of a request, if it has one there."""
    value = body.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None
