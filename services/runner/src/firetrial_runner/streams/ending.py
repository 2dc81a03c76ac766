"""What a stream says of its run once it is read to its end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from firetrial_runner.trajectory import Told


@dataclass(frozen=True, slots=True)
class Spent:
    """What the program says that it used; None is unknown, never 0. `cached` is a part of `prompt`."""

    prompt: int | None = None
    cached: int | None = None
    completion: int | None = None
    tokens: int | None = None
    cost_usd: float | None = None
    wall_s: float | None = None

    @property
    def total(self) -> int | None:
        """Tokens in all."""
        if self.tokens is not None or self.prompt is None or self.completion is None:
            return self.tokens
        return self.prompt + self.completion


@dataclass(frozen=True, slots=True)
class Ending:
    """The conclusion, or why there is none; the model and what was used, as far as the stream says."""

    conclusion: str = ""
    why_none: str = ""
    model: str = ""
    spent: Spent = Spent()
    timed: bool = False


class StreamReader(Protocol):
    """Reads a program's stream line by line."""

    def line(self, text: str) -> Sequence[Told] | None:
        """The steps that a whole line tells; None for a line that is not of the program's stream."""
        ...

    def close(self) -> Sequence[Told]:
        """What was still waiting for its end."""
        ...

    def ending(self) -> Ending:
        """What the run came to. To be asked after `close`."""
        ...
