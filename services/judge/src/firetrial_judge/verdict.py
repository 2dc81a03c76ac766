"""The four things that can be said about a claim, and what is said with them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """UNSCORED is not a verdict on the claim but the absence of one; it never counts as wrong."""

    ENTAILED = "ENTAILED"
    CONTRADICTED = "CONTRADICTED"
    NEUTRAL = "NEUTRAL"
    UNSCORED = "UNSCORED"


@dataclass(frozen=True, slots=True)
class Span:
    """Half-open range of characters in the text it belongs to."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Ruling:
    """A verdict on one claim against a reference text.

    `evidence` is the place in the reference that decides, None where nothing there does.
    """

    claim_id: str
    verdict: Verdict
    rationale: str
    evidence: Span | None = None
