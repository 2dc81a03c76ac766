"""Whether a task may be published: by words, and by the judge where one is configured.

Without a judge the check says that it looked at words alone. With one that cannot be asked there is no check,
and so no task: it is asked again later.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from firetrial_parser.entailment import Entails, Ruled, Verdict
from firetrial_parser.leaks.leak import Leak, LeakKind, Secrets
from firetrial_parser.leaks.passages import asks_openly

MOST_LEAKS = 50  # that are kept of one task


class Depth(StrEnum):
    """How far a check went; the names are those of the contract."""

    WORDS = "WORDS"
    ENTAILMENT = "ENTAILMENT"


@dataclass(frozen=True, slots=True)
class Overruling:
    """Who published a task in spite of what was found, and why."""

    by: str
    reason: str
    at: datetime


@dataclass(frozen=True, slots=True)
class LeakCheck:
    """What was found. `judge` is the hash of its configuration, "" where none was asked.

    `claims` counts those that the judge ruled on.
    """

    depth: Depth
    leaks: tuple[Leak, ...] = ()
    judge: str = ""
    quality: str = ""
    claims: int = 0
    overruling: Overruling | None = None


class LeakChecker:
    """Checks public parts. `judge` is None where no judge is configured."""

    def __init__(self, judge: Entails | None) -> None:
        self._judge = judge

    async def check(self, public: str, secrets: Secrets, findings: Sequence[str]) -> LeakCheck:
        """Look for everything in a public part. Raises what asking the judge raises."""
        by_words = await asyncio.to_thread(secrets.leaks, public)
        told = [finding for finding in findings if finding.strip()]
        if self._judge is None or not told or not public.strip():
            return LeakCheck(Depth.WORDS, tuple(by_words[:MOST_LEAKS]))
        rulings = await self._judge.entail(public, told, searching=True)
        found = [*by_words, *(leak for ruled in rulings.ruled if (leak := _leak(ruled)))]
        leaks = tuple(dict.fromkeys(found))[:MOST_LEAKS]
        return LeakCheck(Depth.ENTAILMENT, leaks, rulings.judge, rulings.quality, len(rulings.ruled))


def _leak(ruled: Ruled) -> Leak | None:
    """A claim that follows gives itself away; one without a verdict is not known to be safe.

    From an open question nothing follows, whatever a judge that looks at words makes of it.
    """
    evidence = " ".join(ruled.evidence.split())
    if ruled.verdict is Verdict.ENTAILED and not asks_openly(evidence):
        return Leak(LeakKind.FINDING, evidence or "the text as a whole")
    if ruled.verdict is Verdict.UNSCORED:
        return Leak(LeakKind.UNDECIDED, "")
    return None
