"""Numbers that follow from others: the drop between two accuracies, the mean of a column, a part of a whole.

With thousands of numbers anything can be derived, so a derivation counts only where the sentence tells of one
(a drop, a mean, a factor), where its parts stand together, and where a made-up number would have been
derivable too in less than a given share of the cases.
"""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import median, pstdev, stdev

from firetrial_analyzer.integrity.quantities import Quantity
from firetrial_analyzer.integrity.sorting import Sort
from firetrial_analyzer.taxonomy.steps import Citation

# A made-up number may be derivable in so many cases: from numbers that the conclusion itself puts beside it,
# and from numbers that stand in the outputs.
CHANCE_BESIDE = 0.3
CHANCE_IN_OUTPUTS = 0.05
# Numbers that are taken together by twos.
MAX_PAIRED = 24
_MOST_NEAR = 40_000

_CUES: dict[str, re.Pattern[str]] = {
    name: re.compile(pattern, re.IGNORECASE)
    for name, pattern in {
        "difference": r"\b(?:drop|f[ae]ll|decreas|increas|gain|improv|gap|differ|high|low|more|less|fewer"
        r"|r[io]s[ei]|points?\b|pp\b|percentage points|delta|reduc|lift|boost|margin|outperform|better|worse"
        r"|declin|degrad|faster|slower|loss|los[et]|advantage|spread|range|shift|chang|exceed|above|below|ahead)"
        r"|Δ|[+−]\d",
        "ratio": r"\b(?:times|fold|factor|ratio|twice|share|rate|per\b|each|proportion|of\b|average|percent)"
        r"|%|×|\dx\b",
        "change": r"%|\bpercent",
        "mean": r"\b(?:averag|mean|overall|across|avg|macro|pooled|per\b)",
        "sum": r"\b(?:total|sum|overall|altogether|combined|in all|together|all\b)",
        "rest": r"\b(?:err|fail|remain|rest\b|other|without|not\b|incorrect|wrong|miss|invalid|false)",
        "square": r"\b(?:r\^?2|r²|squared|variance)",
        "product": r"\b(?:total|in all|altogether|calls|prompts|overall|runs|queries|responses)",
    }.items()
}


@dataclass(frozen=True, slots=True)
class Derived:
    """How a number follows, for people, and the steps that show its parts."""

    how: str
    citations: tuple[Citation, ...] = ()


def cues(sentence: str, quantity: Quantity) -> frozenset[str]:
    """The operations that a sentence can be telling of."""
    found = {name for name, pattern in _CUES.items() if pattern.search(sentence)}
    if quantity.sign:
        found.add("difference")
    if quantity.sort is Sort.SETTING:
        found |= {"sum", "product"}
    if quantity.unit != "%":
        found.discard("change")
    return frozenset(found)


def of_two(a: float, b: float, told: frozenset[str]) -> Iterator[tuple[str, float]]:
    """Operations on two numbers, both ways; a share is told in percent as well."""
    if "difference" in told:
        yield "difference", abs(a - b)
    for one, other in ((a, b), (b, a)):
        if not other:
            continue
        if "ratio" in told:
            yield "ratio", abs(one / other)
        if "change" in told and "difference" in told:
            yield "change in percent", 100 * abs(one - other) / abs(other)
    if "mean" in told:
        yield "mean", (a + b) / 2
    if "sum" in told:
        yield "sum", a + b
    if "product" in told and a == int(a) and b == int(b) and min(a, b) > 1:
        yield "product", a * b


def of_one(a: float, told: frozenset[str], unit: str) -> Iterator[tuple[str, float]]:
    """Operations on one number: what is left of it to 1, or to 100 %, and its square."""
    if "rest" in told:
        yield "rest", abs((100 if unit == "%" and a > 1 else 1) - a)
    if "square" in told:
        yield "square", a * a


def of_many(values: Sequence[float], told: frozenset[str]) -> Iterator[tuple[str, float]]:
    if "mean" in told:
        yield "mean", math.fsum(values) / len(values)
        yield "median", median(values)
    if "sum" in told:
        yield "sum", math.fsum(values)
    if "difference" in told:
        yield "range", max(values) - min(values)


def deviations(values: Sequence[float]) -> tuple[float, float, float]:
    """Of a sample, of all there is, and the standard error of the mean; of two numbers at least."""
    return stdev(values), pstdev(values), stdev(values) / math.sqrt(len(values))


class Chances:
    """The values that could be derived for one number, told as exactly as it is, and the way that fits."""

    def __init__(self, quantity: Quantity) -> None:
        self._quantity = quantity
        self._size, self._half = abs(quantity.value), quantity.half
        self._near: set[int] = set()
        self._scales = (1.0, 100.0) if quantity.unit == "%" else (1.0,)
        self.found: Derived | None = None

    def offer(self, how: str, value: float, citations: tuple[Citation, ...] = ()) -> None:
        """A value that follows by some operation."""
        for scale in self._scales:
            if not math.isfinite(value) or not self._half:
                return
            scaled = abs(value) * scale
            if self._size / 2 <= scaled <= self._size * 2 and len(self._near) < _MOST_NEAR:
                self._near.add(round(scaled / (2 * self._half)))
            if (
                self.found is None
                and abs(scaled - self._size) <= self._half * (1 + 1e-9) + 1e-12 * self._size
            ):
                self.found = Derived(how, citations)

    def within(self, chance: float) -> Derived | None:
        """The derivation, where a made-up number would not have had one too often."""
        forms = max(1.0, 1.5 * self._size / (2 * self._half)) if self._half else 1.0
        seldom = len(self._near) <= 1 or len(self._near) / forms <= chance
        return self.found if seldom else None


@dataclass(frozen=True, slots=True)
class Part:
    """A number that is known: as the conclusion writes it, and as it was found."""

    text: str
    values: tuple[float, ...]
    unit: str
    citation: Citation | None = None


def beside(quantity: Quantity, sentence: str, parts: Sequence[Part]) -> Derived | None:
    """How a number follows from known ones that the conclusion puts beside it."""
    told, chances = cues(sentence, quantity), Chances(quantity)
    for part in parts[:MAX_PAIRED]:
        for value in part.values:
            for how, result in of_one(value, told, part.unit):
                chances.offer(f"{how} of {part.text}", result, _cited(part))
    for one, other in combinations(parts[:MAX_PAIRED], 2):
        for left, right in zip(one.values, other.values, strict=False):
            for how, result in of_two(left, right, told):
                chances.offer(f"{how} of {one.text} and {other.text}", result, _cited(one, other))
    return chances.within(CHANCE_BESIDE)


def _cited(*parts: Part) -> tuple[Citation, ...]:
    return tuple(dict.fromkeys(part.citation for part in parts if part.citation))
