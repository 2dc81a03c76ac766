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
from firetrial_parser.leaks.passages import stated

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
        premise = stated(public)
        if self._judge is None or not told:
            return LeakCheck(Depth.WORDS, _distinct(by_words))
        if not premise:  # questions alone: nothing follows from them
            return LeakCheck(Depth.ENTAILMENT, _distinct(by_words))
        rulings = await self._judge.entail(premise, told, searching=True)
        found = [*by_words, *(leak for ruled in rulings.ruled if (leak := _leak(ruled)))]
        return LeakCheck(
            Depth.ENTAILMENT, _distinct(found), rulings.judge, rulings.quality, len(rulings.ruled)
        )


def _distinct(leaks: Sequence[Leak]) -> tuple[Leak, ...]:
    """Each leak in the fewest sentences that show it."""
    kept: list[Leak] = []
    for leak in sorted(dict.fromkeys(leaks), key=lambda leak: len(leak.sentence)):
        if not any(k.kind is leak.kind and k.sentence and k.sentence in leak.sentence for k in kept):
            kept.append(leak)
    return tuple(kept[:MOST_LEAKS])


def _leak(ruled: Ruled) -> Leak | None:
    """A claim that follows gives itself away; one without a verdict is not known to be safe."""
    if ruled.verdict is Verdict.ENTAILED:
        return Leak(LeakKind.FINDING, " ".join(ruled.evidence.split()) or "the text as a whole")
    if ruled.verdict is Verdict.UNSCORED:
        return Leak(LeakKind.UNDECIDED, "")
    return None
