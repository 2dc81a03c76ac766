"""Numbers as a conclusion writes them: how much, to which precision, in which unit, and whether a result.

Every pattern here is bounded, so that reading takes time in proportion to the text.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice, pairwise

from firetrial_analyzer.integrity.sorting import STANDARD_LEVEL, Masks, Sort, sort_of


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number in a text. `half` is half a unit of its last digit, in the unit in which it is written.

    `unit` is "" or one of %, x, s, ms, min, h; `sign` is "", "+" or "-"; `pair` is the position of the other
    number of "3 of 20", or -1.
    """

    text: str
    start: int
    end: int
    value: float
    half: float
    unit: str = ""
    sign: str = ""
    sort: Sort = Sort.RESULT
    pair: int = -1

    @property
    def decimal(self) -> bool:
        return self.half < 0.5


# Numbers that are read of a text.
MOST = 2000
# More digits than a measurement has; float() of a million of them would take long.
_MAX_DIGITS = 40
_HUGE = 1e100
_WHOLE, _MOST_POINTS = 0.5, 100
_DIGITS = r"(?:\d{1,3}(?:,\d{3})+(?!\d)(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)"
_POWER = r"(?:[eE][-+−]?\d{1,3}(?!\w)|\s?[×x·*]\s?10\^?\{?[-−+⁻]?[\d⁰¹²³⁴-⁹]{1,3}\}?)"
_GAP = "[ \u00a0]?"
_UNIT = (
    rf"(?:{_GAP}%|[ \u00a0-]?(?:percentage[ \u00a0-]points?|percent|points?|pp)\b|-?fold\b"
    rf"|{_GAP}(?:×|x\b|times\b)"
    rf"|{_GAP}(?:milliseconds?|msec|ms|seconds?|secs?|s|minutes?|mins?|hours?|hrs?|h|million|thousand)\b"
    r"|[kKM]\b)"
)
_NUMBER = re.compile(
    rf"(?<![\w.])(?P<sign>[-−+](?=[$€£]?[\d.]))?(?P<money>[$€£])?(?P<digits>{_DIGITS})"
    rf"(?P<power>{_POWER})?(?P<unit>{_UNIT})?"
)
NUMBER_WORDS = (
    "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
)  # fmt: skip
# A small count in words says how a study is made, but for a part of a whole, a factor or a share.
_IN_WORDS = re.compile(
    rf"\b(?P<a>{'|'.join(NUMBER_WORDS)})(?:\s(?:out\s)?of\s(?:the\s|all\s)?(?P<b>{'|'.join(NUMBER_WORDS)})\b"
    r"|[\s-](?P<unit>percent|points?|fold|times)\b)",
    re.IGNORECASE,
)
_OF = re.compile(r"\s?/\s?|\s(?:out\s)?of\s(?:the\s|all\s)?")
_UNITS = {
    "%": "%", "percent": "%", "pp": "%", "point": "%", "percentage point": "%", "fold": "x", "×": "x",
    "x": "x", "time": "x", "millisecond": "ms", "msec": "ms", "ms": "ms", "second": "s", "sec": "s", "s": "s",
    "minute": "min", "min": "min", "hour": "h", "hr": "h", "h": "h",
}  # fmt: skip
_SCALES = {"k": 1e3, "thousand": 1e3, "m": 1e6, "million": 1e6}
_ROUGHLY = re.compile(
    r"(?:[~≈]|\b(?:about|around|roughly|approximately|nearly|almost|some|circa|over)) ?[$€£]?$", re.IGNORECASE
)
_SUPERSCRIPTS = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹−", "-0123456789-")


def is_usual(value: float) -> bool:
    """Whether a number is one that squares, products and ratios can be made of: 0, or of no absurd size."""
    return value == 0 or 1 / _HUGE <= abs(value) <= _HUGE


def quantities(text: str, most: int = MOST) -> list[Quantity]:
    """The numbers of a text that are not parts of words, in its order; those of names are of sort NONE."""
    masks = Masks(text)
    matches = islice(_NUMBER.finditer(text), most)
    found = [item for match in matches if (item := _read(text, match, masks))]
    found += [item for match in islice(_IN_WORDS.finditer(text), most) for item in _worded(match)]
    return _paired(text, sorted(found, key=lambda item: item.start))


def count(text: str) -> int:
    """How many numbers there are, read or not."""
    return sum(1 for _ in _NUMBER.finditer(text))


def _read(text: str, match: re.Match[str], masks: Masks) -> Quantity | None:
    digits, power, unit = match["digits"], match["power"] or "", match["unit"] or ""
    start, end = match.span()
    if len(digits) > _MAX_DIGITS:
        return None
    sign = (match["sign"] or "").replace("−", "-")
    if sign and start and (text[start - 1].isalnum() or text[start - 1] in ")%]"):
        sign = ""
        start += 1
    value, half = _value(digits, power)
    name = unit.strip(" \u00a0-").lower().replace("-", " ").replace("\u00a0", " ")
    scale = _SCALES.get(name, 1.0)
    value, half = value * scale, half * scale
    if _ROUGHLY.search(text[max(0, start - 16) : start]) and half >= 0.5 and not name.startswith("%"):
        half = max(half, _zeros(digits) * scale / 2)
    found = "" if name in _SCALES or not name else _UNITS.get(name) or _UNITS[name.removesuffix("s")]
    if name.startswith("point") and half >= _WHOLE and value > _MOST_POINTS:
        found = ""  # of data, not of percent
    counted = half >= _WHOLE and not found
    share = half < 0.5 and value < 1
    sort = Sort.NONE if masks.cover(start) else sort_of(text, start, end, counted=counted, share=share)
    if found == "%" and STANDARD_LEVEL.match(text, end):
        sort = Sort.NONE
    signed = -value if sign == "-" else value
    return Quantity(text[start:end], start, end, signed, half, found, sign, sort)


def _value(digits: str, power: str) -> tuple[float, float]:
    """The number and half a unit of its last digit."""
    plain = digits.replace(",", "")
    decimals = len(plain) - plain.index(".") - 1 if "." in plain else 0
    exponent = 0
    if power:
        exponent = int(re.split(r"[eE]|10\^?\{?", power.rstrip("}"))[-1].translate(_SUPERSCRIPTS))
    scale = 10.0**exponent if abs(exponent) < 300 else 0.0
    return float(plain) * scale, 0.5 * 10.0**-decimals * scale


def _zeros(digits: str) -> float:
    """The place of the last digit that is no 0: 100 for 1,800."""
    plain = digits.replace(",", "")
    return 10.0 ** (len(plain) - len(plain.rstrip("0"))) if plain.isdigit() and plain.strip("0") else 1.0


def _worded(match: re.Match[str]) -> Iterator[Quantity]:
    unit = (match["unit"] or "").lower().removesuffix("s")
    for group in ("a", "b"):
        if match[group]:
            value = float(NUMBER_WORDS.index(match[group].lower()) + 2)
            yield Quantity(match[group], *match.span(group), value, 0.5, _UNITS[unit] if unit else "")


def _paired(text: str, found: list[Quantity]) -> list[Quantity]:
    """The numbers, those of "3 of 20" and "3/20" knowing of each other."""
    pairs: dict[int, int] = {}
    for n, (one, other) in enumerate(pairwise(found)):
        fits = one.sort is not Sort.NONE and 0 <= one.value <= other.value and not one.unit
        gap = text[one.end : other.start]
        if fits and len(gap) < 16 and _OF.fullmatch(gap) and not (one.decimal or other.decimal):
            pairs |= {n: n + 1, n + 1: n}
    return [_with_pair(item, pairs[n]) if n in pairs else item for n, item in enumerate(found)]


def _with_pair(item: Quantity, pair: int) -> Quantity:
    unit = "" if item.text.endswith(("point", "points")) else item.unit
    return replace(item, unit=unit, pair=pair, sort=Sort.RESULT if item.sort is Sort.NONE else item.sort)
