"""How one number can follow from others, and the words by which a sentence tells of it."""

import math
import re
from collections.abc import Iterator, Sequence
from statistics import median

from firetrial_analyzer.integrity.quantities import Quantity
from firetrial_analyzer.integrity.sorting import Sort

_POINTS = re.compile(r"(?:points?|pp)$")
# Two-sided, of the normal distribution.
_Z95 = 1.959964
_CUES: dict[str, re.Pattern[str]] = {
    name: re.compile(pattern, re.IGNORECASE)
    for name, pattern in {
        "difference": r"\b(?:drop|f[ae]ll|decreas|increas|gain|improv|gap|differ|high|low|more|less|fewer"
        r"|r[io]s[ei]|points?\b|pp\b|percentage points|delta|reduc|lift|boost|margin|outperform|better|worse"
        r"|declin|degrad|faster|slower|loss|los[et]|advantage|spread|range|shift|chang|exceed|above|below|ahead"
        r"|shr[iu]n|gr[eo]w|sav(?:es?|ing)|cut|small|larg|short|long|than|cost|add|remov|lead|bias)|Δ|[+−]\d",
        "ratio": r"\b(?:times|fold|factor|ratio|twice|share|rate|per\b|each|proportion|of\b|average|percent"
        r"|recall|precision|accuracy|fraction|speed-?up)|%|×|\dx\b",
        "change": r"%|\bpercent",
        "mean": r"\b(?:averag|mean|overall|across|avg|macro|pooled|per\b|over\b|seeds|repeat|runs)",
        "sum": r"\b(?:total|sum|overall|altogether|combined|in all|together|all\b|both)",
        "rest": r"\b(?:err|fail|remain|rest\b|other|without|not\b|incorrect|wrong|miss|invalid|false)",
        "square": r"\b(?:r\^?2|r²|squared|variance)",
        "product": r"\b(?:total|in all|altogether|calls|prompts|overall|runs|queries|responses)",
        "deviation": r"±|\+/-|\\pm|\b(?:SD|std|deviation|spread|standard errors?|SEM?|var(?:ies|iation))\b",
        "interval": r"\b(?:CI|confidence|interval)\b",
        "extreme": r"\b(?:between|from|to|range|at (?:least|most)|best|worst|max\w*|min\w*|lowest|highest"
        r"|largest|smallest|longest|shortest|never|always|up to)\b",
        "count": r"\b(?:of|out of|all|rows|cases|runs|seeds|settings|configurations|times)\b|/\s?\d",
    }.items()
}


def cues(sentence: str, quantity: Quantity) -> frozenset[str]:
    """The operations that a sentence can be telling of."""
    found = {name for name, pattern in _CUES.items() if pattern.search(sentence)}
    if quantity.sign:
        found.add("difference")
    if quantity.sort is Sort.SETTING:
        found |= {"sum", "product", "count"}
    if quantity.pair >= 0:
        found |= {"sum", "count"}
    if _POINTS.search(quantity.text):
        found -= {"change", "ratio"}
    elif quantity.unit == "%":
        found |= {"change", "ratio"}
    else:
        found.discard("change")
    return frozenset(found)


def of_one(a: float) -> Iterator[tuple[str, str, float]]:
    """(cue, how, value): the number, what is left of it to 1, or to 100 %, and its square."""
    yield "", "rounding", a
    yield "rest", "rest", abs(1 - a)
    yield "square", "square", a * a


def of_two(a: float, b: float) -> Iterator[tuple[str, str, float]]:
    """(cue, how, value) of operations on two numbers, both ways."""
    yield "difference", "difference", abs(a - b)
    for one, other in ((a, b), (b, a)):
        if other:
            yield "ratio", "ratio", abs(one / other)
            yield "change", "change in percent", 100 * abs(one - other) / abs(other)
    yield "sum", "sum", a + b
    share, whole = (a, b) if a <= b else (b, a)
    if 0 < share < whole == int(whole) and (share < 1 or share == int(share)):
        rate = share if share < 1 else share / whole
        error = math.sqrt(rate * (1 - rate) / whole)
        yield "deviation", "standard error of the share", error
        yield from _interval(rate, error)
    yield from _interval(a, b)
    if a == int(a) and b == int(b) and min(a, b) > 1:
        yield "product", "product", a * b


def _interval(value: float, error: float) -> Iterator[tuple[str, str, float]]:
    """Bounds of the 95 % interval of a normal estimate with that standard error."""
    yield "interval", "half of an interval", _Z95 * error
    yield "interval", "lower bound", value - _Z95 * error
    yield "interval", "upper bound", value + _Z95 * error


def of_many(values: Sequence[float]) -> Iterator[tuple[str, str, float]]:
    """(cue, how, value) of what is told of some numbers as a whole."""
    n, mean = len(values), math.fsum(values) / len(values)
    yield "mean", "mean", mean
    yield "mean", "median", median(values)
    yield "extreme", "least", min(values)
    yield "extreme", "greatest", max(values)
    yield "difference", "range", max(values) - min(values)
    sample, population, error = deviations(values)
    yield "deviation", "deviation", sample
    yield "deviation", "population deviation", population
    yield "deviation", "standard error", error
    yield from _interval(mean, error)
    yield "sum", "sum", mean * n
    yield "count", "count", float(n)
    for sign in (sum(value > 0 for value in values), sum(value < 0 for value in values)):
        if 0 < sign < n:
            yield "count", "count of one sign", float(sign)


def deviations(values: Sequence[float]) -> tuple[float, float, float]:
    """Of a sample, of all there is, and the standard error of the mean; of two numbers at least."""
    n, mean = len(values), math.fsum(values) / len(values)
    squares = math.fsum((value - mean) ** 2 for value in values)
    sample = math.sqrt(squares / (n - 1))
    return sample, math.sqrt(squares / n), sample / math.sqrt(n)
