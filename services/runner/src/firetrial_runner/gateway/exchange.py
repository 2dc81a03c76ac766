"""One exchange with a model, as the trajectory and the run's usage tell it."""

from __future__ import annotations

from dataclasses import dataclass, field

MAX_BODY = 16 * 1024
"""Characters of a request or an answer that a step keeps; of what is longer, its two ends."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """`prompt` is all that was read: `cached` of it came from the cache, `cache_written` went into it."""

    prompt: int = 0
    completion: int = 0
    cached: int = 0
    cache_written: int = 0

    @property
    def total(self) -> int:
        return self.prompt + self.completion

    def __add__(self, other: Tokens) -> Tokens:
        return Tokens(
            self.prompt + other.prompt,
            self.completion + other.completion,
            self.cached + other.cached,
            self.cache_written + other.cache_written,
        )


@dataclass(slots=True)
class Exchange:
    """Filled in as the exchange goes on. Seconds; `waited_s` is what the upstream made the agent wait.

    `status` is what the agent got, 0 where it got nothing. `tokens` is None where the upstream did not
    say, and `cost_usd` where that or the price is unknown.
    """

    endpoint: str
    model: str = ""
    upstream: str = ""
    status: int = 0
    streamed: bool = False
    attempts: int = 0
    latency_s: float = 0.0
    waited_s: float = 0.0
    tokens: Tokens | None = None
    cost_usd: float | None = None
    request: str = ""
    request_bytes: int = 0
    answer: str = ""
    answer_bytes: int = 0
    refused: str = ""
    fault: str = ""
    notes: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The exchange in one line."""
        said = f"{self.model or '?'} {self.endpoint}: {self.status}"
        if self.refused:
            return f"{said}, refused: {self.refused}"
        if self.tokens is not None:
            cached = f" ({self.tokens.cached} cached)" if self.tokens.cached else ""
            said += f", {self.tokens.prompt}{cached} + {self.tokens.completion} tokens"
        if self.cost_usd is not None:
            said += f", {self.cost_usd:.6f} USD"
        said += f", {self.latency_s:.3f} s"
        return f"{said}, {self.fault}" if self.fault else said

    def told(self) -> dict[str, object]:
        """The exchange in full, as a step's `model`; what is not known is not there."""
        told: dict[str, object] = {
            "name": self.model,
            "upstream": self.upstream,
            "endpoint": self.endpoint,
            "status": self.status,
            "streamed": self.streamed,
            "attempts": self.attempts,
            "latency_s": round(self.latency_s, 3),
            "waited_s": round(self.waited_s, 3),
            "tokens": self._tokens_told() if self.tokens else None,
            "cost_usd": self.cost_usd,
            "request": self.request,
            "request_bytes": self.request_bytes,
            "answer": self.answer,
            "answer_bytes": self.answer_bytes,
            "refused": self.refused,
            "fault": self.fault,
            "notes": self.notes,
        }
        return {name: value for name, value in told.items() if value not in (None, "", [])}

    def _tokens_told(self) -> dict[str, int]:
        assert self.tokens is not None  # noqa: S101 -- asked by the caller
        tokens = self.tokens
        told = {"prompt": tokens.prompt, "completion": tokens.completion, "cached": tokens.cached}
        return told | ({"cache_written": tokens.cache_written} if tokens.cache_written else {})


class Ends:
    """A text of which only so much is kept as a step may hold: its two ends, and the size of the rest."""

    def __init__(self, most: int = MAX_BODY) -> None:
        self._half = most // 2
        self._head = self._tail = ""
        self.size = 0

    def add(self, text: str) -> None:
        self.size += len(text)
        room = self._half - len(self._head)
        self._head += text[:room]
        self._tail = (self._tail + text[room:])[-self._half :]

    def __str__(self) -> str:
        left_out = self.size - len(self._head) - len(self._tail)
        between = f"…[{left_out} characters left out]…" if left_out else ""
        return self._head + between + self._tail


def shortened(text: str) -> str:
    """`text`, or its two ends with what lies between them counted."""
    ends = Ends()
    ends.add(text)
    return str(ends)
