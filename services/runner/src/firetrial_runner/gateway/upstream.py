"""Where models are: an address, how it is spoken to, its key, and which models it may be asked for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum


class Dialect(StrEnum):
    OPENAI = "openai"
    ANTHROPIC = "anthropic"


class Feature(StrEnum):
    """What an upstream does for agents only where its settings allow it."""

    CHOICES = "choices"  # n > 1: several answers to one request
    SERVER_TOOLS = "server_tools"  # run by the vendor, with access to the network: search, code, MCP, …
    REMOTE_CONTENT = "remote_content"  # images and documents that the vendor fetches, or that lie with it
    STORAGE = "storage"  # answers that the vendor keeps, goes on with, or makes in the background
    TIERS = "tiers"  # a service tier with prices of its own


@dataclass(frozen=True, slots=True)
class Upstream:
    """`url` is up to and with the version, such as https://api.openai.com/v1. Seconds.

    models: names, or beginnings of names followed by "*". provider: whose prices hold, by its name in
    genai-prices; empty: the one whose address `url` is. patience_s: how long one call may wait in all for
    an upstream that is busy or broken. limit_field: how a chat completion's length is limited. trace: whether
    it is told the trace that a call belongs to.
    """

    name: str
    url: str
    dialect: Dialect
    key: str = field(repr=False)
    models: tuple[str, ...]
    provider: str = ""
    allow: frozenset[Feature] = frozenset()
    at_once: int = 64
    patience_s: float = 600.0
    read_timeout_s: float = 600.0
    limit_field: str = "max_completion_tokens"
    trace: bool = False

    def entry(self, model: str) -> str:
        """The entry of its list that the model is allowed by; "" where it is not."""
        for entry in self.models:
            if model.startswith(entry[:-1]) if entry.endswith("*") else model == entry:
                return entry
        return ""


def choose(upstreams: Iterable[Upstream], dialect: Dialect, model: str) -> Upstream | None:
    """The first that speaks the dialect and has the model."""
    return next((u for u in upstreams if u.dialect is dialect and u.entry(model)), None)
