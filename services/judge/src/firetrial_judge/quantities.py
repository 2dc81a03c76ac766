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
    r"(?:\b(?:temperature|layer|epoch|step|dose|level|length|noise|depth|rank|seed|size|sparsity|threshold|"
    r"(?:learning|dropout) rate|version)s?\s+(?:of\s+|=\s*)?"
    r"|\bbetween\s+|\bbetween\s+\S{1,12}\s+and\s+"
    r"|\b(?:at|on|across|with|when|where|if|once|after|under|beyond|above|below|up to|first|top|layer|figure|"
    r"table|for|k|(?!reach|achiev|scor|yield|giv|cost|los|gain)\w{3,}ing)\s*=?\s*|[=(]\s*)$",
    re.IGNORECASE,
)
# What a change of a measured value opens with is no condition: "reaches 81%", "falls to 59%".
_MEASURED = re.compile(
    r"\b(?:accura\w+|scores?|error|f1|recall|precision|loss|rate)\s+(?:of|=|at|for)\s*=?\s*$", re.IGNORECASE
)
_COMPARED = re.compile(r"\bcompared (?:with|to)\s+$", re.IGNORECASE)
_ROUGHLY = re.compile(
    r"\b(?:about|around|roughly|approximately|nearly|almost|some|~|circa)\s+$|[~≈]\s*$", re.IGNORECASE
)
_FACTORS = {"halv": 0.5, "doub": 1.0, "trip": 2.0}
_FACTOR = re.compile(r"\b(halv|doubl|tripl)(?:e|es|ed|ing)\b", re.IGNORECASE)
_RANGE = re.compile(
    r"\bbetween\s+(\d[\d,]*(?:\.\d+)?)%?\s+and\s+(\d[\d,]*(?:\.\d+)?)\s?(%|points?|pp\b|percentage points?)?",
    re.IGNORECASE,
)
_FROM_TO = re.compile(
    r"\bfrom\s+(\d[\d,]*(?:\.\d+)?)\s*(%?)[^.;,]{0,40}?\s+to\s+(\d[\d,]*(?:\.\d+)?)\s*(%?)",
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
    limit, else empty; `rough` numbers are written as fractions or with "about".
    """

    value: float
    unit: str
    start: int
    end: int
    condition: bool = False
    bound: str = ""
    rough: bool = False

    def satisfied_by(self, other: Quantity) -> bool:
        """Whether the other lies within this one's bound, "above 90%" or "fewer than 10"."""
        if self.unit != other.unit and "" not in {self.unit, other.unit}:
            return False
        above, below = other.value > self.value, other.value < self.value
        return (self.bound == ">" and above) or (self.bound == "<" and below)

    def matches(self, other: Quantity) -> bool:
        """Equal within what repeating an experiment changes.

        That is 5 % of the value, for shares and points at least 0.5 and at most 1 point; 10 % where one of
        the two is rough.
        """
        if self.unit != other.unit and "" not in {self.unit, other.unit}:
            return False
        share = not {"%", "points"}.isdisjoint({self.unit, other.unit})
        scales = (1.0, 0.01) if self.unit != other.unit else (1.0,)
        rough = self.rough or other.rough
        return any(
            abs(self.value * a - other.value * b)
            <= _tolerance(max(abs(self.value * a), abs(other.value * b)), share, rough)
            for a in scales
            for b in scales
            if a == 1 or b == 1
        )


def _tolerance(value: float, share: bool, rough: bool) -> float:
    if rough:
        return 0.1 * value
    relative = 0.05 * value
    return min(max(relative, 0.005), 0.01) + 1e-9 if share else relative


def agree(a: Quantity, b: Quantity) -> bool:
    """Whether two conditions are the same; set by the experimenter, they need no tolerance."""
    return abs(a.value - b.value) <= 0.005 * abs(a.value) + 1e-9


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
    rough = bool(_ROUGHLY.search(before) or _FRACTION.fullmatch(text[start:end]))
    return Quantity(
        value,
        unit,
        start,
        end,
        condition and not (_MEASURED.search(before) or _COMPARED.search(before)),
        bound,
        rough,
    )


def derived(text: str) -> tuple[Quantity, ...]:
    """What "from 8% to 6%", "halves" or "between 2 and 3" say beside their numbers.

    That is the change in points and as a share of where it began, the factor, and the middle.
    """
    found: list[Quantity] = []
    for match in _FACTOR.finditer(text):
        factor, span = _FACTORS[match[1].lower()[:4]], match.span()
        found.append(Quantity(factor, "%", *span, rough=True))
        found.append(Quantity(1 + factor if factor >= 1 else factor, "times", *span, rough=True))
    for match in _RANGE.finditer(text):
        unit = _unit(match[3].strip().lower()) if match[3] else ""
        middle = (_value(match[1]) + _value(match[2])) / 2
        found.append(Quantity(middle / 100 if unit else middle, unit, *match.span(), rough=True))
    for match in _FROM_TO.finditer(text):
        begin, end = _value(match[1]), _value(match[3])
        share, change = bool(match[2] or match[4]), abs(end - begin)
        found.append(Quantity(change / 100 if share else change, "points" if share else "", *match.span()))
        if begin:
            found.append(Quantity(change / abs(begin), "%", *match.span(), rough=True))
    return tuple(found)


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
