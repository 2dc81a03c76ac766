"""What a paper mainly contributes, told from title and abstract by words alone, without a model."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from enum import StrEnum

from firetrial_parser.selection.patterns import Hit, Patterns, Where, rules

RULES = "contribution-v1"
_IN_TITLE = 2.0  # a title is chosen with more care than any sentence of the abstract
_NAMED = 3  # cues that a reason names


class Kind(StrEnum):
    """Kinds of contribution; the names are those of the contract. Only the first is kept."""

    EMPIRICAL = "EMPIRICAL"
    ARCHITECTURE = "ARCHITECTURE"
    BENCHMARK = "BENCHMARK"
    TRAINING = "TRAINING"
    THEORY = "THEORY"


@dataclass(frozen=True, slots=True)
class Contribution:
    """A paper's kind, by which method and why. `close` marks one that is kept though another kind is near."""

    kind: Kind
    method: str
    reason: str
    close: bool = False
    cues: tuple[Hit, ...] = ()

    @property
    def kept(self) -> bool:
        """Whether the paper goes on to the criteria."""
        return self.kind is Kind.EMPIRICAL or self.close


class LexicalClassifier:
    """Adds the weights of the cues that it finds, by kind; see the rules for what counts."""

    def __init__(self) -> None:
        told = rules(RULES)
        self.version = str(told["version"])
        self._close = float(told["close"])
        self._cues = [
            (kind, float(weight), Patterns(kind.lower(), patterns))
            for kind in Kind
            for weight, patterns in told[kind.lower()].items()
        ]

    def classify(self, title: str, abstract: str) -> Contribution:
        """The kind with the largest sum; EMPIRICAL where nothing is found, for people to decide."""
        sums: defaultdict[Kind, float] = defaultdict(float)
        weighed: list[tuple[float, Kind, Hit]] = []
        texts: tuple[tuple[Where, str, float], ...] = (
            ("title", title, _IN_TITLE),
            ("abstract", abstract, 1.0),
        )
        for kind, weight, patterns in self._cues:
            for where, text, factor in texts:
                for hit in patterns.hits(where, text):
                    sums[kind] += weight * factor
                    weighed.append((weight * factor, kind, hit))
        best = max(Kind, key=lambda kind: sums[kind])
        ahead = sums[best] - sums[Kind.EMPIRICAL]
        weighed.sort(key=lambda one: -one[0])
        return Contribution(
            best,
            self.version,
            _reason(best, [hit for _, kind, hit in weighed if kind is best]),
            close=best is not Kind.EMPIRICAL and ahead <= self._close,
            cues=tuple(hit for _, _, hit in weighed),
        )


def _reason(kind: Kind, hits: list[Hit]) -> str:
    if not hits:
        return "no word tells what it contributes"
    named = ", ".join(f"“{hit.text}”" for hit in hits[:_NAMED])
    return f"{named} {'speaks' if len(hits) == 1 else 'speak'} for {kind.lower()}"
