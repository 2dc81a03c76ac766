"""What people say of attributions: a word on one claim, and how far attributions and people agree.

A word confirms what was attributed or names the type or kind that is right. Kappa is Cohen's (1960); the
share of confirmations has Wilson's interval.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from firetrial_analyzer.attribution import Attribution
from firetrial_analyzer.distributions import wilson
from firetrial_analyzer.taxonomy.catalogue import Taxonomy
from firetrial_analyzer.variance import Interval
from firetrial_kit.errors import Fault, check
from firetrial_kit.ids import digest

MAX_REVIEWER = 128
MAX_NOTE = 4000
# Words on one run; its record holds them all but their notes.
MAX_REVIEWS = 1000


@dataclass(frozen=True, slots=True)
class Review:
    """A person's word on one claim. `attributed` is what stood there then, "" where nothing settled it.

    `type` is what is right: an error type of a missed claim, a kind of a false one (`missed` says which).
    """

    claim_id: str
    reviewer: str
    missed: bool
    attributed: str
    type: str
    note: str
    reviewed_at: datetime

    @property
    def confirmed(self) -> bool:
        return self.attributed == self.type

    @property
    def key(self) -> str:
        """Of the claim and the reviewer, whose later word replaces the earlier."""
        return digest(self.claim_id, self.reviewer, length=24)


@dataclass(frozen=True, slots=True)
class RunReviews:
    """All words on one run's attribution by key, without their notes."""

    run_id: str
    experiment_id: str
    reviews: Mapping[str, Review] = field(default_factory=dict)


def word(
    found: Attribution,
    taxonomy: Taxonomy,
    claim_id: str,
    *,
    reviewer: str,
    type_: str,
    note: str,
    at: datetime,
) -> Review:
    """A word on a claim; `type_` is empty where it confirms. Raises INVALID with every fault."""
    missed = {one.claim_id: one.type for one in found.missed}
    false = {one.claim_id: str(one.kind) for one in found.false_positives}
    is_missed = claim_id in missed
    allowed = [e.id for e in (taxonomy.error_types if is_missed else taxonomy.false_positive_kinds)]
    attributed = (missed if is_missed else false).get(claim_id, "")
    faults = []
    if claim_id not in missed and claim_id not in false:
        wrong = ", ".join([*missed, *false]) or "none: the run has no wrong claim"
        faults.append(Fault("claim_id", claim_id, f"must be a claim that was attributed: {wrong}"))
    elif type_ and type_ not in allowed:
        faults.append(Fault("type", type_, f"must be one of {', '.join(allowed)}"))
    elif not type_ and not attributed:
        faults.append(Fault("type", type_, f"nothing is there to confirm: name one of {', '.join(allowed)}"))
    if not 0 < len(reviewer.strip()) <= MAX_REVIEWER:
        faults.append(Fault("reviewer", reviewer, f"must have 1 to {MAX_REVIEWER} characters"))
    if len(note) > MAX_NOTE:
        faults.append(Fault("note", note, f"must have at most {MAX_NOTE} characters"))
    check("the review", faults)
    return Review(claim_id, reviewer.strip(), is_missed, attributed, type_ or attributed, note, at)


@dataclass(frozen=True, slots=True)
class Agreement:
    """Over words of people. `confusion` counts (attributed, said) pairs; the rest is None where undefined."""

    reviewed: int
    confirmed: int
    share: float | None
    interval: Interval | None
    kappa: float | None
    confusion: tuple[tuple[str, str, int], ...]


def agreement(reviews: Iterable[Review]) -> Agreement:
    pairs = Counter((review.attributed, review.type) for review in reviews)
    total = pairs.total()
    confirmed = sum(count for (attributed, said), count in pairs.items() if attributed == said)
    share = confirmed / total if total else None
    return Agreement(
        total,
        confirmed,
        share,
        wilson(share, total) if share is not None else None,
        _kappa(pairs),
        tuple((attributed, said, count) for (attributed, said), count in sorted(pairs.items())),
    )


def _kappa(pairs: Counter[tuple[str, str]]) -> float | None:
    """(observed - expected) / (1 - expected); None where both always say one and the same."""
    total = pairs.total()
    if not total:
        return None
    attributed: Counter[str] = Counter()
    said: Counter[str] = Counter()
    for (left, right), count in pairs.items():
        attributed[left] += count
        said[right] += count
    observed = sum(count for (left, right), count in pairs.items() if left == right) / total
    expected = sum(attributed[one] * said[one] for one in attributed) / total**2
    return (observed - expected) / (1 - expected) if expected < 1 else None
