"""What the judge says of hypotheses: the verdicts, and who can be asked for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol


class Verdict(StrEnum):
    """What the judge says of a claim; the names are those of the contract."""

    ENTAILED = "ENTAILED"
    CONTRADICTED = "CONTRADICTED"
    NEUTRAL = "NEUTRAL"
    UNSCORED = "UNSCORED"


@dataclass(frozen=True, slots=True)
class Ruled:
    """A verdict on a hypothesis, or on a part of it, with the passage of the premise that decides.

    `hypothesis` counts from 0.
    """

    hypothesis: int
    claim: str
    verdict: Verdict
    evidence: str = ""


@dataclass(frozen=True, slots=True)
class Rulings:
    """All verdicts, the hash of the judge's configuration, and what is known of its quality."""

    ruled: tuple[Ruled, ...]
    judge: str
    quality: str


class Entails(Protocol):
    """Whoever can say what a premise entails."""

    async def entail(
        self, premise: str, hypotheses: Sequence[str], *, atomic: bool = True, searching: bool = False
    ) -> Rulings:
        """Rule on each hypothesis, or on its atomic claims; `searching` looks for what a text gives away.

        Raises UNAVAILABLE where the judge cannot be asked now, PRECONDITION where it refuses.
        """
        ...
