"""The third stage: three criteria, and what a paper comes to by them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from firetrial_parser.tree import Quote


class Criterion(StrEnum):
    """What a paper must meet to become a task; the names are those of the contract."""

    OPEN_INPUTS = "OPEN_INPUTS"
    COMPUTE_LIGHT = "COMPUTE_LIGHT"
    VERIFIABLE_FINDINGS = "VERIFIABLE_FINDINGS"


class Met(StrEnum):
    """Whether a criterion is met; the names are those of the contract."""

    YES = "YES"
    NO = "NO"
    UNCERTAIN = "UNCERTAIN"


class Outcome(StrEnum):
    """What screening makes of an item; the names are those of the contract."""

    OFF_TOPIC = "OFF_TOPIC"
    NOT_EMPIRICAL = "NOT_EMPIRICAL"
    UNFIT = "UNFIT"
    UNCERTAIN = "UNCERTAIN"
    FIT = "FIT"
    ERROR = "ERROR"

    @property
    def queued(self) -> bool:
        """Whether people decide on it."""
        return self in {Outcome.UNCERTAIN, Outcome.FIT}


@dataclass(frozen=True, slots=True)
class Reason:
    """Why, and the words of the paper that it rests on: with a score of 0 where they are not in it."""

    text: str
    quote: Quote


@dataclass(frozen=True, slots=True)
class CriterionVerdict:
    """Whether one criterion is met, why, and by which method that was told."""

    criterion: Criterion
    met: Met
    reasons: tuple[Reason, ...]
    method: str


def outcome(verdicts: Sequence[CriterionVerdict]) -> Outcome:
    """UNFIT where one is not met, FIT where all are, else UNCERTAIN."""
    met = {verdict.met for verdict in verdicts}
    if Met.NO in met:
        return Outcome.UNFIT
    return Outcome.FIT if met == {Met.YES} else Outcome.UNCERTAIN
