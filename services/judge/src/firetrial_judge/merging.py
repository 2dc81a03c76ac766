"""Claims that say the same count once: each of the two entails the other."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import replace

from firetrial_judge.claims import Claim, Extraction
from firetrial_judge.verdict import Ruling, Verdict
from firetrial_judge.words import words

Rule = Callable[[Sequence[Claim], str], Awaitable[Sequence[Ruling]]]

_ALIKE = 0.6  # share of stems in common from which two claims may say the same
_MOST_PAIRS = 64  # that are looked at, nearest first: hostile text has thousands


async def merged(extraction: Extraction, rule: Rule) -> Extraction:
    """The claims without those that an earlier one entails and is entailed by; the number is noted."""
    claims = extraction.claims
    gone: set[str] = set()
    for first, second in _candidates(claims):
        if gone & {first.id, second.id}:
            continue
        if await _entails(first, second, rule) and await _entails(second, first, rule):
            gone.add(second.id)
    if not gone:
        return extraction
    kept = tuple(claim for claim in claims if claim.id not in gone)
    notes = (*extraction.notes, merge_note(len(gone)))
    return replace(extraction, claims=kept, notes=notes, found=max(0, extraction.found - len(gone)))


def merge_note(number: int) -> str:
    """How a reader is told that claims were merged."""
    return f"{number} claims merged with another that says the same"


async def _entails(premise: Claim, hypothesis: Claim, rule: Rule) -> bool:
    rulings = await rule([hypothesis], premise.text)
    return any(r.claim_id == hypothesis.id and r.verdict is Verdict.ENTAILED for r in rulings)


def _candidates(claims: Sequence[Claim]) -> list[tuple[Claim, Claim]]:
    """Pairs of claims, the earlier one first, that share most of their words; the nearest pairs first."""
    found = sorted(_alike(claims), key=lambda pair: (-pair[0], pair[1], pair[2]))
    return [(claims[first], claims[second]) for _, first, second in found[:_MOST_PAIRS]]


def _alike(claims: Sequence[Claim]) -> Iterator[tuple[float, int, int]]:
    stems = [frozenset(word.stem for word in words(claim.text)) for claim in claims]
    for second in range(len(claims)):
        for first in range(second):
            union = len(stems[first] | stems[second])
            share = len(stems[first] & stems[second]) / union if union else 0.0
            if share >= _ALIKE:
                yield share, first, second
