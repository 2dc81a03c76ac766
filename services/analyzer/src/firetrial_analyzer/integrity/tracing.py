"""Where the numbers of a conclusion come from: looked for while a run goes by, so that no run is too long.

A number that stands anywhere in outputs proves little where thousands of numbers stand: 0.87 is then there
by chance. So a place counts where its line is about the same thing (it shares a word with the sentence), or
where so few numbers of that size were printed that a made-up one would meet one of them in less than CHANCE
of the cases. An output counts for nothing where the code that was written before it has the number in it.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import numpy as np

from firetrial_analyzer.integrity.labels import label, sentences, shared
from firetrial_analyzer.integrity.literals import digits, sets
from firetrial_analyzer.integrity.passages import Passage
from firetrial_analyzer.integrity.quantities import MOST, Quantity, count, is_usual, quantities
from firetrial_analyzer.integrity.scanning import Found, Numbers, Text, Wanted, Way, admissible, header
from firetrial_analyzer.integrity.sorting import Sort
from firetrial_analyzer.taxonomy.steps import MAX_QUOTE, Citation, cite

# Without a word in common, a place is believed where a made-up number would fit as seldom as this; it has to
# be more seldom where the place has words of its own, and so is about something else.
CHANCE = 0.05
CHANCE_NAMED = 0.02
# Numbers of a conclusion that are looked for.
MAX_TARGETS = 400
# Numbers are counted when so many have come together.
_BATCH = 20_000
_ENOUGH = 3
# Characters between a percentage and the numbers that share its sign.
_BESIDE = 40
_MOST_LOOKED_AT = 2000
_MOST_IN_CODE = 200
_AROUND = 120
_MOST_P_VALUES = 1000
_P_VALUE = re.compile(
    r"[pP](?<!\w[pP])(?:val|_?values?|-values?|>\|\w\|)?(?:\s?\([^)\n]{0,20}\))?[\"']?\s{0,3}[=:<|,]?\s{0,3}"
    r"(\d{0,3}\.\d{1,30}(?:[eE]-\d{1,3})?|\d(?:\.\d{1,20})?[eE]-\d{1,3})"
)
_RATE = re.compile(r"\blearning[ -]rate\b", re.IGNORECASE)
_CONVENTIONAL = frozenset({0.05, 0.95, 0.25, 0.75, 0.99, 0.01, 1.96})


@dataclass(frozen=True, slots=True)
class Place:
    """Where a number was found, and its value in the unit of the conclusion's number.

    `row` counts the lines of all passages; `citation` is None in a file.
    """

    step: int
    row: int
    value: float
    citation: Citation | None
    file: str = ""


@dataclass(frozen=True, slots=True)
class Literal:
    """A number that stands in code, the words beside it, and half a unit of its last digit.

    It `sets` something where it is no measured value that was typed in.
    """

    place: Place
    words: frozenset[str]
    half: float
    sets: bool


@dataclass(slots=True)
class Target:
    """A number that is looked for, the words of its sentence, and what was found so far."""

    quantity: Quantity
    sentence: tuple[int, int]
    words: frozenset[str]
    ways: list[Way]
    labelled: list[Place] = field(default_factory=list)
    bare: list[Place] = field(default_factory=list)
    named: list[Place] = field(default_factory=list)
    in_code: list[Literal] = field(default_factory=list)
    hard_coded: tuple[Place, Place] | None = None
    around: set[int] = field(default_factory=set)
    looked_at: int = 0

    @property
    def settled(self) -> bool:
        return len(self.labelled) >= _ENOUGH or self.looked_at >= _MOST_LOOKED_AT

    @property
    def forms(self) -> float:
        """How many numbers of this precision there are between half and twice its size."""
        half = self.quantity.half
        return max(1.0, 1.5 * abs(self.quantity.value) / (2 * half)) if half else 1.0

    @property
    def set_in_code(self) -> list[Place]:
        """Where code has it as a setting: whole, or of few digits, and no result that was typed in."""
        item = self.quantity
        return [
            literal.place
            for literal in self.in_code
            if literal.sets and (not item.unit or shared(literal.words, self.words))
        ]

    @property
    def places(self) -> list[Place]:
        """What counts as evidence."""
        if self.labelled:
            return self.labelled
        chance = 0.0 if len(self.around) <= 1 else len(self.around) / self.forms
        return (self.bare if chance <= CHANCE else []) + (self.named if chance <= CHANCE_NAMED else [])


class Tracer:
    """Sees code and outputs in their order, and then says of each number where it is."""

    def __init__(self, conclusion: str) -> None:
        read = quantities(conclusion)
        self.quantities = read
        spans = sentences(conclusion)
        results = [item for item in read if item.sort is not Sort.NONE]
        looked_for = results[:MAX_TARGETS]
        self.targets = {
            item.start: _target(conclusion, item, spans, ways=_ways(item, read)) for item in looked_for
        }
        self.left_out = max(0, count(conclusion) - MOST) + len(results) - len(looked_for)
        self.p_values: list[Place] = []
        self._bounds = any(item.sort is Sort.BOUND for item in looked_for)
        self._open = list(self.targets.values())
        self._wanted = _wanted(self._open)
        self._batch: list[Numbers] = []
        self._size = 0
        self._rows = 0

    def see(self, passage: Passage) -> None:
        """Take the next passage of the run."""
        if not self._open or not passage.lines:
            return
        text = Text.of(passage.lines)
        numbers = text.numbers()
        if not passage.code:
            self._count(numbers)
            self._see_p(passage, text)
        if self._wanted.any(numbers):
            for found in text.found(self._wanted):
                self._look(passage, text, found)
                if all(target.settled for target in self._open):
                    break
            if any(target.settled for target in self._open):
                self._open = [target for target in self._open if not target.settled]
                self._wanted = _wanted(self._open)
        self._rows += len(passage.lines)

    def end(self) -> None:
        """Nothing more comes."""
        self._flush()

    def _look(self, passage: Passage, text: Text, found: Found) -> None:
        words: frozenset[str] | None = None
        for target in self._open:
            full = len(target.in_code) >= _MOST_IN_CODE if passage.code else target.settled
            value = None if full else _fits(target, found)
            if value is None:
                continue
            place = self._place(passage, text, found.line, found.start, value)
            words = _words(text, found) if words is None else words
            if passage.code:
                setting = sets(text.lines[found.line].text, found.start, found.value, found.half)
                target.in_code.append(Literal(place, words, found.half, setting))
            else:
                self._output(target, place, words, found)

    def _output(self, target: Target, place: Place, words: frozenset[str], found: Found) -> None:
        target.looked_at += 1
        typed = next((item for item in target.in_code if _typed(item, found, words)), None)
        if typed is not None:
            target.hard_coded = target.hard_coded or (typed.place, place)
        elif shared(words, target.words):
            target.labelled.append(place)
        elif len(others := target.named if words else target.bare) < _ENOUGH:
            others.append(place)

    def _see_p(self, passage: Passage, text: Text) -> None:
        """Keep the p-values that any bound of the conclusion could be about."""
        if not self._bounds or len(self.p_values) >= _MOST_P_VALUES:
            return
        for match in _P_VALUE.finditer(text.whole):
            line = bisect_right(text.begins, match.start()) - 1
            start = match.start() - text.begins[line]
            self.p_values.append(self._place(passage, text, line, start, float(match[1])))

    def _place(self, passage: Passage, text: Text, line: int, start: int, value: float) -> Place:
        shown = text.lines[line]
        low = 0 if len(shown.text) <= MAX_QUOTE else max(0, start - MAX_QUOTE // 2)
        quote = cite(shown.step, shown.text[low : low + MAX_QUOTE]) if shown.step else None
        return Place(shown.step, self._rows + line, value, quote, passage.file)

    def _count(self, numbers: Numbers) -> None:
        self._batch.append(numbers)
        self._size += len(numbers)
        if self._size >= _BATCH:
            self._flush()

    def _flush(self) -> None:
        numbers = np.unique(np.concatenate(self._batch)) if self._batch else np.array([])
        self._batch, self._size = [], 0
        for target in self._open:
            _count_around(target, numbers)


def _ways(item: Quantity, every: list[Quantity]) -> list[Way]:
    """How it may stand in an output. Beside a percentage a bare number may be one: "5.2 % [1.4, 9.0]"."""
    near = bisect_left(every, item.start, key=lambda other: other.start)
    beside = every[max(0, near - 2) : near + 3]
    percent = any(other.unit == "%" and abs(other.start - item.start) < _BESIDE for other in beside)
    return admissible(item) + (admissible(replace(item, unit="%")) if percent and not item.unit else [])


def _target(text: str, item: Quantity, spans: list[tuple[int, int]], ways: list[Way]) -> Target:
    n = next((n for n, (low, high) in enumerate(spans) if low <= item.start < high), -1)
    low, high = spans[n] if n >= 0 else (0, len(text))
    told = text[max(low, item.start - 400) : min(high, item.end + 200)]
    words = label(f"{told} lr" if _RATE.search(told) else told)
    return Target(item, (low, high), words | _heading(text, spans, n), ways)


def _heading(text: str, spans: list[tuple[int, int]], n: int) -> frozenset[str]:
    """The words over a list, or over the columns of a table."""
    if n <= 0 or not text[spans[n][0] :].lstrip().startswith(("-", "*", "|", "•")):
        return frozenset()
    for low, high in reversed(spans[max(0, n - 20) : n]):
        above = text[low:high].strip()
        if above.endswith(":") or above.startswith("#"):
            return label(above[-300:])
        if above.startswith("|") and not any(letter.isdigit() for letter in above):
            return label(above[:300])
    return frozenset()


def _wanted(targets: Iterable[Target]) -> Wanted:
    return Wanted([(low, high) for target in targets for _, _, low, high in target.ways])


def _fits(target: Target, found: Found) -> float | None:
    """The value in the unit of the target, where it rounds to it."""
    wanted = target.quantity
    if wanted.sign and (wanted.sign == "-") != found.negative and wanted.value:
        return None
    for unit, factor, low, high in target.ways:
        if low <= found.value <= high and (
            found.unit == unit or (not found.unit and _may_lack(target, unit))
        ):
            return found.value * factor
    return None


def _may_lack(target: Target, unit: str) -> bool:
    """Whether an output may leave the unit out. A share told in percent, as 73.2, has three digits then."""
    item = target.quantity
    return unit != "%" or item.unit == "%" or abs(item.value) >= 100 * item.half


def _words(text: Text, found: Found) -> frozenset[str]:
    """Of the number's line near the number, and of the lines without numbers above it."""
    line = text.lines[found.line].text
    near = line[max(0, found.start - _AROUND) : found.start + _AROUND // 2]
    return label(near) | label(header(text, found.line))


def _typed(literal: Literal, found: Found, words: frozenset[str]) -> bool:
    """Whether an output only shows what was typed into the code as a result, perhaps rounded."""
    if literal.sets or literal.half > found.half * (1 + 1e-9):
        return False
    return _specific(literal.place.value, literal.half) or bool(shared(words, literal.words))


def _specific(value: float, half: float) -> bool:
    """Whether a number in code is none that programs have anyway, such as 0.5, 100 or 0.05."""
    count = digits(value)
    return count >= 3 or (count == 2 and half <= 0.005 and value not in _CONVENTIONAL)


def _count_around(target: Target, numbers: Numbers) -> None:
    """The different numbers of about this size, told as exactly as the target is."""
    size, half = abs(target.quantity.value), target.quantity.half
    if not (half and is_usual(size) and is_usual(half)) or len(target.around) > CHANCE * target.forms + 1:
        return
    for factor in {factor for unit, factor, _, _ in target.ways if _may_lack(target, unit)}:
        near = numbers[(numbers >= size / 2 / factor) & (numbers <= size * 2 / factor)] * factor
        target.around.update(np.unique(np.rint(near / (2 * half))).astype(int).tolist()[:5000])
