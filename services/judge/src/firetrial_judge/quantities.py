"""Numbers with their units, as findings write them: digits, words, fractions of a count, bounds."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from firetrial_judge import lexicon

_UNITS = lexicon.NUMBERS.split()
_TENS = {
    "twenty": 20,
    "thirty": 30,
    "forty": 40,
    "fifty": 50,
    "sixty": 60,
    "seventy": 70,
    "eighty": 80,
    "ninety": 90,
}
_WORDS: dict[str, float] = {word: float(i) for i, word in enumerate(_UNITS)} | {
    k: float(v) for k, v in _TENS.items()
}
_FRACTIONS = {
    "half": 0.5, "third": 1 / 3, "quarter": 0.25, "thirds": 1 / 3, "quarters": 0.25,
    "fifth": 0.2, "fifths": 0.2, "tenth": 0.1, "tenths": 0.1,
}  # fmt: skip
_WORD = "|".join(sorted(_WORDS, key=len, reverse=True))
_NUMBER = (
    r"(?:(?<![\w.-])-?\d[\d,]*(?:\.\d+)?"
    rf"|\b(?:{'|'.join(_TENS)})-(?:{'|'.join(_UNITS[1:10])})\b|\b(?:{_WORD})\b)"
)
_OF = re.compile(rf"({_NUMBER})(?: out)? of (?:the |all )?({_NUMBER})(?!\s*%)", re.IGNORECASE)
_FRACTION = re.compile(
    r"\b(?:(one|two|three|four|nine)[ -])?(half|thirds?|quarters?|fifths?|tenths?)\b", re.IGNORECASE
)
_PLAIN = re.compile(
    rf"(?P<number>{_NUMBER})(?P<scale>\s?(?:k|m|b|thousand|million|billion)\b)?"
    r"(?P<unit>\s?%|\s?percent(?:age points?)?\b|\s?pp\b|[-\s]?(?:points?|times|fold|x|bits?)\b)?",
    re.IGNORECASE,
)
_SCALES = {"k": 1e3, "thousand": 1e3, "m": 1e6, "million": 1e6, "b": 1e9, "billion": 1e9}
_CONDITION = re.compile(
    r"(?:\b(?:at|with|under|beyond|above|below|up to|first|top|layer|figure|table|for|k)\s*=?\s*|[=(]\s*)$",
    re.IGNORECASE,
)
_ABOVE = re.compile(
    r"\b(?:(?:more|longer|higher|greater) than|over|above|at least|beyond|exceed(?:s|ed|ing)?)\s+$",
    re.IGNORECASE,
)
_BELOW = re.compile(r"\b(?:(?:less|fewer|lower|shorter) than|under|below|at most)\s+$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number: value (a share of 1 where `unit` is "%"), unit, and how it is used.

    `condition` says that it sets where a finding holds (at 40% noise, k = 15); `bound` is ">" or "<" for a
    limit, else empty.
    """

    value: float
    unit: str
    start: int
    end: int
    condition: bool = False
    bound: str = ""

    def satisfies(self, other: Quantity) -> bool:
        """Whether this number lies within the other's bound, "above 90%" or "fewer than 10"."""
        if self.unit != other.unit and "" not in {self.unit, other.unit}:
            return False
        return self.value > other.value if other.bound == ">" else self.value < other.value

    def matches(self, other: Quantity) -> bool:
        """Equal within what repeating an experiment changes: 2 % of the value, or half a point of a share."""
        if self.unit != other.unit and "" not in {self.unit, other.unit}:
            return False
        share = not {"%", "points"}.isdisjoint({self.unit, other.unit})
        tolerance = max(0.02 * abs(self.value), 0.0051 if share else 0.0)
        scales = (1.0, 0.01) if self.unit != other.unit else (1.0,)
        return any(
            abs(self.value * a - other.value * b) <= tolerance
            for a in scales
            for b in scales
            if a == 1 or b == 1
        )


@lru_cache(maxsize=4096)
def quantities(text: str) -> tuple[Quantity, ...]:
    """Every number in the text, in order. A count of a count, "12 of 16", is the share 0.75."""
    found: list[Quantity] = []
    taken: list[tuple[int, int]] = []
    for match in _OF.finditer(text):
        part, whole = _value(match[1]), _value(match[2])
        if 0 <= part <= whole and whole > 0:
            found.append(_quantity(text, part / whole, "%", match.start(), match.end()))
            taken.append(match.span())
    for match in _FRACTION.finditer(text):
        times = _WORDS[match[1].lower()] if match[1] else 1.0
        found.append(_quantity(text, times * _FRACTIONS[match[2].lower()], "%", match.start(), match.end()))
        taken.append(match.span())
    for match in _PLAIN.finditer(text):
        if any(a < match.end() and match.start() < b for a, b in taken):
            continue
        found.append(_plain(text, match))
    return tuple(sorted((q for q in found if not _is_pronoun(text, q)), key=lambda q: q.start))


def _plain(text: str, match: re.Match[str]) -> Quantity:
    value = _value(match["number"])
    scale = (match["scale"] or "").strip().lower()
    value *= _SCALES.get(scale, 1.0)
    unit = _unit((match["unit"] or "").strip(" -").lower())
    return _quantity(
        text, value / 100 if unit in {"%", "points"} else value, unit, match.start(), match.end()
    )


def _unit(written: str) -> str:
    if written.startswith("%") or written == "percent":
        return "%"
    if written.startswith(("point", "pp", "percentage")):
        return "points"
    if written.startswith(("time", "fold", "x")):
        return "times"
    return "bits" if written.startswith("bit") else ""


def _quantity(text: str, value: float, unit: str, start: int, end: int) -> Quantity:
    before = text[max(0, start - 24) : start]
    hyphened = bool(re.match(r"-[A-Za-z]", text[end : end + 2])) or unit == "bits"
    condition = hyphened or bool(_CONDITION.search(before))
    bound = ">" if _ABOVE.search(before) else "<" if _BELOW.search(before) else ""
    return Quantity(value, unit, start, end, condition, bound)


def _is_pronoun(text: str, quantity: Quantity) -> bool:
    """ "one" is mostly no number: "the other one", "one of the models"."""
    return text[quantity.start : quantity.end].lower() in {"one", "zero"} and quantity.unit == ""


def _value(written: str) -> float:
    low = written.lower().replace(",", "")
    if low in _WORDS:
        return _WORDS[low]
    if low[0].isalpha():
        tens, ones = low.split("-")
        return _WORDS[tens] + _WORDS[ones]
    return float(low)
