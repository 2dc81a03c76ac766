"""Numbers as papers write them, and whether a number of a statement is one of the paper's.

A number is the paper's where one of the paper's rounds to it at its own precision (12.3 for 12.34), also
where one is a percentage and the other the share (12.3% for 0.123), one has its thousands set apart, a factor
of its own (1.5k, 7B, 3 million, 2e-4, 2 × 10^-4) or is spelt out in the paper (three for 3). Minus signs are
left out of account, and percent signs that the paper leaves out, as tables do. Half, twice and other words of
a statement are not read, nor are sums and differences worked out: a statement must have the paper's numbers.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from math import isfinite

_NUMBER = re.compile(
    r"(?<![\w.])(?P<digits>\d{1,3}(?:[,\u2009\u202f]\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)"
    r"(?:\s?[×x·*]\s?10\s?\^?\s?\{?(?P<power>[-−–]?\d{1,3})\}?|[eE](?P<exponent>[-−–+]?\d{1,3})(?!\w)"
    r"|\s?(?P<factor>thousand|million|billion|trillion)\b|(?P<letter>[kKMBT])(?![\w])"
    r"|\s?(?P<percent>%|percent\b|per cent\b|pp\b|percentage points?\b))?"
)
_SPACED = re.compile(r"(?<![\w.,])\d{1,3}(?: \d{3})+(?![\w.,])")
_LETTERS = {"k": 3, "K": 3, "M": 6, "B": 9, "T": 12}
_FACTORS = {"thousand": 3, "million": 6, "billion": 9, "trillion": 12} | _LETTERS
_COUNT = (
    "zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen"
    "|seventeen|eighteen|nineteen|twenty"
)
_TENS = {"thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90}
_WORDS = {word: n for n, word in enumerate(_COUNT.split("|"))} | _TENS | {"hundred": 100, "thousand": 1000}
_WORD = re.compile(rf"\b(?:{'|'.join(_WORDS)})\b", re.IGNORECASE)
MAX_POWER = 30  # of ten; what goes beyond is a misprint or a trap
_TINY = 1e-9  # relative; floats of the same decimal number differ by less


@dataclass(frozen=True, slots=True)
class Number:
    """A number as it stands in a text: `digits`, a `power` of ten (9 for 7B), and whether it is in percent.

    `named` is set where the power is a letter or a word, which may as well be part of a name.
    """

    text: str
    digits: Decimal
    power: int = 0
    percent: bool = False
    named: bool = False

    @property
    def value(self) -> float:
        """What it says."""
        return float(self.digits.scaleb(self.power))

    @property
    def places(self) -> int:
        """Its last decimal place; negative for tens, hundreds and so on."""
        return -int(self.digits.as_tuple().exponent) - self.power


def numbers(text: str) -> Iterator[Number]:
    """The numbers of a text in digits, in their order."""
    for match in _NUMBER.finditer(text):
        digits = Decimal(re.sub(r"[,\u2009\u202f]", "", match["digits"]))
        factor = _FACTORS.get(match["factor"] or match["letter"] or "", 0)
        power = factor or _power(match["power"] or match["exponent"] or "0")
        yield Number(match[0].strip(), digits, power, bool(match["percent"]), bool(factor))


def _power(text: str) -> int:
    power = int(text.translate(str.maketrans("−–", "--")))
    return max(-MAX_POWER, min(power, MAX_POWER))


class Numerals:
    """All numbers of a text, for look-ups."""

    def __init__(self, text: str) -> None:
        found = list(numbers(text))
        values = [n.value for n in found]
        values += [float(n.digits) for n in found if n.named]
        values += [float(match[0].replace(" ", "")) for match in _SPACED.finditer(text)]
        values += [float(_WORDS[word.lower()]) for word in _WORD.findall(text)]
        self._values = sorted(set(values))
        self._shares = sorted({n.value / 100 for n in found if n.percent})
        self._percentages = sorted({100 * value for value in values if value <= 1})

    def hold(self, number: Number) -> bool:
        """Whether one of the text's numbers is this one, as the module tells."""
        other = self._percentages if number.percent else self._shares
        return (
            _rounds(self._values, number.value, number.places)
            or (number.named and _rounds(self._values, float(number.digits), number.places + number.power))
            or _rounds(other, number.value, number.places)
        )

    def missing(self, text: str) -> list[Number]:
        """The numbers of `text`, each once, that are not there."""
        once = {number.text: number for number in numbers(text)}
        return [number for number in once.values() if not self.hold(number)]


def _rounds(values: list[float], value: float, places: int) -> bool:
    """Whether one of the sorted values is `value` once it is rounded to so many places, half either way."""
    if not isfinite(value):
        return value in values
    half = 0.5 * 10.0**-places
    slack = _TINY * (value + half)
    low, high = value - half - slack, value + half + slack
    at = bisect_left(values, low)
    return at < len(values) and values[at] <= high
