"""How good verdicts on proposals are, against what reviewers gave.

A proposal is high from a mean score of 3 on, low up to 2, and left out between. An FP is a low one that was
called high. Shares have Wilson's intervals; the balanced accuracy, half the sum of two independent shares,
has the one that follows from theirs (MOVER: Zou and Donner 2008, "Construction of confidence limits about
effect measures").
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from firetrial_kit.shares import wilson
from firetrial_parser.soundness.assessment import Bucket
from firetrial_parser.soundness.proposal import Proposal

HIGH_FROM = 3.0
LOW_TO = 2.0


def label(score: float) -> Bucket | None:
    """The bucket of a mean score; None where it is neither. Both bounds are inclusive."""
    if score >= HIGH_FROM:
        return Bucket.HIGH
    return Bucket.LOW if score <= LOW_TO else None


@dataclass(frozen=True, slots=True)
class Figure:
    """A share, 0 to 1, with its 95 % interval; None where there is nothing to divide by."""

    value: float | None
    low: float | None = None
    high: float | None = None

    def to_json(self) -> dict[str, float | None]:
        return {"value": self.value, "low": self.low, "high": self.high}


def share(hits: int, of: int) -> Figure:
    """`hits` among `of`."""
    return Figure(hits / of, *wilson(hits / of, of)) if of else Figure(None)


@dataclass(frozen=True, slots=True)
class Confusion:
    """Proposals by label and verdict. Those without a usable verdict are in no share, and counted apart."""

    low_called_low: int = 0
    low_called_high: int = 0
    high_called_high: int = 0
    high_called_low: int = 0
    low_unparsed: int = 0
    high_unparsed: int = 0

    @classmethod
    def of(cls, pairs: Iterable[tuple[Bucket, Bucket | None]]) -> Confusion:
        """Count (label, verdict); a verdict of None is one that could not be read."""
        counted = Counter(pairs)
        low, high = Bucket.LOW, Bucket.HIGH
        return cls(
            counted[low, low],
            counted[low, high],
            counted[high, high],
            counted[high, low],
            counted[low, None],
            counted[high, None],
        )

    @property
    def low_recall(self) -> Figure:
        return share(self.low_called_low, self.low_called_low + self.low_called_high)

    @property
    def high_recall(self) -> Figure:
        return share(self.high_called_high, self.high_called_high + self.high_called_low)

    @property
    def fpr(self) -> Figure:
        """Low proposals called high: one minus the recall of low."""
        return share(self.low_called_high, self.low_called_low + self.low_called_high)

    @property
    def accuracy(self) -> Figure:
        hits = self.low_called_low + self.high_called_high
        return share(hits, hits + self.low_called_high + self.high_called_low)

    @property
    def balanced_accuracy(self) -> Figure:
        low, high = self.low_recall, self.high_recall
        if low.value is None or high.value is None:
            return Figure(None)
        middle = (low.value + high.value) / 2
        return Figure(middle, middle - _reach(low, high, "low") / 2, middle + _reach(low, high, "high") / 2)

    def to_json(self) -> dict[str, Any]:
        counts = {name: getattr(self, name) for name in self.__slots__}
        names = ("low_recall", "high_recall", "fpr", "accuracy", "balanced_accuracy")
        return {"counts": counts} | {name: getattr(self, name).to_json() for name in names}


def _reach(first: Figure, second: Figure, bound: str) -> float:
    return math.hypot(*((one.value or 0.0) - getattr(one, bound) for one in (first, second)))


@dataclass(frozen=True, slots=True)
class MeanThreshold:
    """High on the side of the high class's mean, beyond the middle of both means; at it, high.

    Nothing is trained: both means are those of the set that is scored. Where they are equal, high is the
    upper side.
    """

    threshold: float
    high_above: bool = True

    @classmethod
    def of(cls, high: Sequence[float], low: Sequence[float]) -> MeanThreshold:
        """From the values of both classes, neither of them empty."""
        means = sum(high) / len(high), sum(low) / len(low)
        return cls(sum(means) / 2, means[0] >= means[1])

    def verdict(self, value: float) -> Bucket:
        beyond = value >= self.threshold if self.high_above else value <= self.threshold
        return Bucket.HIGH if beyond else Bucket.LOW


# Length in words parted by white space, title and names of parts left out; the others in entries.
TRAITS: dict[str, Callable[[Proposal], float]] = {
    "length_words": lambda proposal: float(proposal.words),
    "experiments": lambda proposal: float(len(proposal.experiments)),
    "risks": lambda proposal: float(len(proposal.risks)),
}


def baselines(labelled: Sequence[tuple[Proposal, Bucket]]) -> dict[str, dict[str, Any]]:
    """What deciding without reading comes to: always the same, or by the mean of one trait."""
    told: dict[str, dict[str, Any]] = {}
    for bucket in (Bucket.HIGH, Bucket.LOW):
        told[f"always_{bucket}"] = Confusion.of((true, bucket) for _, true in labelled).to_json()
    for name, trait in TRAITS.items():
        values = {b: [trait(one) for one, true in labelled if true is b] for b in Bucket}
        if not values[Bucket.HIGH] or not values[Bucket.LOW]:
            continue  # without both classes there is no middle
        rule = MeanThreshold.of(values[Bucket.HIGH], values[Bucket.LOW])
        scored = Confusion.of((true, rule.verdict(trait(one))) for one, true in labelled)
        told[f"mean_{name}"] = {
            "threshold": rule.threshold,
            "high": "at or above" if rule.high_above else "at or below",
            **scored.to_json(),
        }
    return told
