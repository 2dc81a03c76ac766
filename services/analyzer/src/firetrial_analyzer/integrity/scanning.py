"""Numbers in outputs and code, fast: which of millions could be one of the few that are looked for."""

import math
import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from firetrial_analyzer.integrity.quantities import Quantity
from firetrial_analyzer.taxonomy.actions import Line

Numbers = NDArray[np.float64]
# (unit of an output, factor from its value to the quantity's, low, high)
Way = tuple[str, float, float, float]

# Numbers in names (gpt-4), clock times and versions are left out, and so is what is too long to be measured.
# The patterns begin with a digit: a search for one is many times faster than one for what is around it.
_PLAIN = re.compile(
    r"([\d.](?<![\w.][\d.])(?<![A-Za-z]-\d)(?<!\d:\d)"
    r"(?:(?<=\.)\d{1,40}+|(?<=\d)\d{0,39}+(?:\.\d{1,40}+)?+(?:[eE][-+]?\d{1,3}+)?+))"
    r"(?![\d:.]\d)(?![\da-gijln-rt-wyzA-JLN-Z_])"
)
_GROUPED = re.compile(r"(\d(?<![\w.,]\d)\d{0,2}(?:,\d{3}){1,12}(?:\.\d{1,40}+)?)(?![\d,.]\d)(?!\d)")
_THOUSANDS = re.compile(r"(\d(?<![\w.]\d)\d{0,11}+(?:\.\d{1,12}+)?)([kKM])\b")
_UNIT = re.compile(
    r"[ \u00a0]?(?P<unit>%|percent\b|pp\b|points?\b|x\b|×|ms\b|milliseconds?\b|s\b|secs?\b|seconds?\b"
    r"|min(?:ute)?s?\b"
    r"|h(?:ou)?rs?\b|h\b|k\b|K\b|M\b)"
)
_UNITS = {"%": "%", "percent": "%", "pp": "%", "point": "%", "×": "x", "millisecond": "ms", "sec": "s",
          "second": "s", "minute": "min", "hour": "h", "hr": "h"}  # fmt: skip
_SCALES = {"k": 1e3, "K": 1e3, "M": 1e6}
_SECONDS = {"ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
# A unit that stands in the name of a value: elapsed_ms, "time (s)".
_NAMED = re.compile(
    r"(?:[_(](?P<short>ms|secs?|s|min|h)|(?:^|[\W_])(?P<long>ms|milliseconds|seconds|minutes|hours))"
    r"[)\"']{0,2}\s?[=:]?\s?$"
)
_HEADER_LINES = 40
_LETTER, _DIGIT = re.compile("[A-Za-z]"), re.compile("(?<![A-Za-z_])[0-9]")
# Progress bars show every number in passing; what counts is how many there are.
_BAR = re.compile(r"\d{1,3}%\|[^|]{0,400}\|\s*\d+/|\[[\d:]{2,20}<[^\]]{0,60}\]")


@dataclass(frozen=True, slots=True)
class Found:
    """A number at `start` of a line. `value` is without its sign, `half` is half a unit of its last digit."""

    line: int
    start: int
    end: int
    value: float
    half: float
    negative: bool
    unit: str


@dataclass(frozen=True, slots=True)
class Text:
    """Lines, and where each begins in the text that they make."""

    lines: tuple[Line, ...]
    whole: str
    begins: tuple[int, ...]

    @classmethod
    def of(cls, lines: tuple[Line, ...]) -> "Text":
        shown = [_BAR.sub(_blank, line.text) if "%|" in line.text else line.text for line in lines]
        begins, at = [], 0
        for text in shown:
            begins.append(at)
            at += len(text) + 1
        return cls(lines, "\n".join(shown), tuple(begins))

    def numbers(self) -> Numbers:
        """The values of all numbers, without their signs."""
        found = _PLAIN.findall(self.whole)
        grouped = _GROUPED.findall(self.whole) if "," in self.whole else []
        thousands = [float(digits) * _SCALES[unit] for digits, unit in _THOUSANDS.findall(self.whole)]
        return np.array([*map(float, found), *(float(text.replace(",", "")) for text in grouped), *thousands])

    def found(self, wanted: "Wanted") -> Iterator[Found]:
        """Those that are wanted, with their places."""
        for pattern in (_PLAIN, _GROUPED) if "," in self.whole else (_PLAIN,):
            for match in pattern.finditer(self.whole):
                value = float(match[1].replace(",", ""))
                scaled = value * _SCALES.get(self.whole[match.end() : match.end() + 1], 1.0)
                if wanted.has(scaled):
                    yield self._at(match, value)

    def _at(self, match: re.Match[str], value: float) -> Found:
        line = bisect_right(self.begins, match.start()) - 1
        start = match.start() - self.begins[line]
        unit = _UNIT.match(self.whole, match.end())
        name = unit["unit"] if unit else ""
        scale = _SCALES.get(name, 1.0)
        name = "" if name in _SCALES else _unit(name)
        before = self.whole[max(0, match.start() - 14) : match.start()]
        negative = before[-1:] in ("-", "−") and not before[-2:-1].isalnum()
        if not name and (named := _NAMED.search(before)):
            name = _unit(named["short"] or named["long"])
        return Found(
            line, start, start + len(match[1]), value * scale, _half(match[1]) * scale, negative, name
        )


def _unit(name: str) -> str:
    bare = name.removesuffix("s") or name
    return _UNITS.get(bare, name if name in _SECONDS else bare)


def _blank(match: re.Match[str]) -> str:
    """As long, without its percentage: only the part and the whole of a bar are counts."""
    text = match.group()
    if text.startswith("["):
        return " " * len(text)
    digits = len(text.rstrip("/")) - len(text.rstrip("/").rstrip("0123456789"))
    return " " * (len(text) - digits - 1) + text[-digits - 1 :]


def _half(digits: str) -> float:
    mantissa, _, exponent = digits.lower().partition("e")
    decimals = len(mantissa.partition(".")[2])
    power = int(exponent or 0) - decimals
    return 0.5 * 10.0**power if -300 < power < 300 else 0.0


def header(text: Text, line: int) -> str:
    """The two nearest lines above that have words and no numbers but in names (f1)."""
    found: list[str] = []
    for above in reversed(text.lines[max(0, line - _HEADER_LINES) : line]):
        shown = above.text[:200]
        if not shown.strip() and found:
            break
        if _LETTER.search(shown) and not _DIGIT.search(shown):
            found.append(shown)
            if len(found) == 2:
                break
    return " ".join(found)


class Wanted:
    """The values that may be one of the quantities looked for, as intervals."""

    def __init__(self, intervals: list[tuple[float, float]]) -> None:
        merged: list[list[float]] = []
        for low, high in sorted(intervals):
            if merged and low <= merged[-1][1]:
                merged[-1][1] = max(merged[-1][1], high)
            else:
                merged.append([low, high])
        self._lows = [low for low, _ in merged]
        self._highs = [high for _, high in merged]
        self._arrays = np.array(self._lows), np.array(self._highs)

    def has(self, value: float) -> bool:
        place = bisect_right(self._lows, value) - 1
        return place >= 0 and value <= self._highs[place]

    def any(self, values: Numbers) -> bool:
        """Whether one of the values is wanted."""
        lows, highs = self._arrays
        if not len(lows) or not len(values):
            return False
        place = np.searchsorted(lows, values, side="right") - 1
        return bool(((place >= 0) & (values <= highs[np.maximum(place, 0)])).any())


EVERY = Wanted([(0.0, math.inf)])


def admissible(wanted: Quantity) -> list[Way]:
    """The ways in which an output may have a value that rounds to the quantity.

    Half of the last digit on both sides: half-even and half-up are both rounding.
    """
    ways: list[tuple[str, float]] = [(wanted.unit, 1.0)]
    if wanted.unit == "%":
        ways += [("", 1.0), ("", 100.0)]
    elif wanted.unit == "" and wanted.decimal and abs(wanted.value) <= 1:
        ways += [("%", 0.01), ("x", 1.0)]
    elif wanted.unit == "x":
        ways += [("", 1.0)]
    elif wanted.unit in _SECONDS:
        ways = [(unit, size / _SECONDS[wanted.unit]) for unit, size in _SECONDS.items()] + [("", 1.0)]
        ways += [("", 1 / _SECONDS[wanted.unit])]  # programs tell seconds without saying so
    size = abs(wanted.value)
    slack = wanted.half * (1 + 1e-9) + size * 1e-12
    return [(unit, factor, (size - slack) / factor, (size + slack) / factor) for unit, factor in ways]
