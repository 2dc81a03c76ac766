"""What is said of a proposal: a rationale, then a bucket with a confidence; and who can say it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Protocol

from firetrial_parser.asking import Bill
from firetrial_parser.soundness.hostile import screen
from firetrial_parser.soundness.identifiers import masked
from firetrial_parser.soundness.proposal import Proposal


class Mode(StrEnum):
    """How strictly: `aggressive` is low unless there is concrete evidence."""

    STANDARD = "standard"
    AGGRESSIVE = "aggressive"


class Bucket(StrEnum):
    """The verdict."""

    LOW = "low"
    HIGH = "high"


@dataclass(frozen=True, slots=True)
class Opinion:
    """What an assessor says; confidence from 1 to 5."""

    rationale: str
    bucket: Bucket
    confidence: int


@dataclass(frozen=True, slots=True)
class Assessment:
    """An opinion with how it came about. `screened` are passages that the assessor was not shown."""

    mode: Mode
    rationale: str
    bucket: Bucket
    confidence: int
    assessor: str
    quality: str
    screened: tuple[str, ...] = ()
    identifiers_masked: bool = False


class Assessor(Protocol):
    """Whoever has opinions. `name` says which model or rules, `quality` what is known of how good it is."""

    @property
    def name(self) -> str: ...

    @property
    def quality(self) -> str: ...

    async def opinion(self, proposal: Proposal, mode: Mode, bill: Bill) -> Opinion:
        """Of a proposal that was screened. Raises ModelErrors, CORRUPT for an answer that cannot be read."""
        ...


async def assess(
    proposal: Proposal, mode: Mode, assessor: Assessor, bill: Bill, *, mask_identifiers: bool = False
) -> Assessment:
    """The assessor's opinion of what it may be shown. Raises what `Assessor.opinion` raises."""
    named = masked(proposal) if mask_identifiers else proposal
    screened = await asyncio.to_thread(screen, named)
    opinion = await assessor.opinion(replace(screened.proposal, title=""), mode, bill)
    return Assessment(
        mode,
        opinion.rationale,
        opinion.bucket,
        opinion.confidence,
        assessor.name,
        assessor.quality,
        screened.notes,
        mask_identifiers,
    )
