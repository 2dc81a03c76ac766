"""The trace of every number of a conclusion, from what was found in the run."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from firetrial_analyzer.integrity.explaining import MOST_EXPLAINED, Explainer
from firetrial_analyzer.integrity.findings import NumberTrace, Trace
from firetrial_analyzer.integrity.labels import label, shared
from firetrial_analyzer.integrity.ledger import Cell, Ledger, numerals
from firetrial_analyzer.integrity.papers import read
from firetrial_analyzer.integrity.passages import Passage
from firetrial_analyzer.integrity.quantities import Quantity, quantities
from firetrial_analyzer.integrity.sorting import Sort
from firetrial_analyzer.integrity.tracing import Place, Target, Tracer
from firetrial_analyzer.integrity.ways import HERE, Wish
from firetrial_analyzer.taxonomy.steps import Citation

# Whole numbers below this say how a study is made, where nothing says that they were measured.
_SMALL = 13
_DEVIATES = re.compile(r"[\s$%]{0,3}(?:±|\\pm|\+/-|\+-)[\s$]{0,3}")
_SPREAD = re.compile(r"(?:±|\+/?-|\b(?:SD|std|SE|standard (?:deviation|error))(?: of)?)\s?$")
_CLAUSE, _PARAGRAPH = 50, 600
_DIGIT = re.compile("[0-9]")
_BYTES = re.compile(r"\s?[kKMG]i?B")
# Characters from a number to the next one that it belongs to.
_NEIGHBOUR = 40
# Characters around a number that tell of an operation.
_CUE_BEFORE, _CUE_AFTER = 80, 50


@dataclass(frozen=True, slots=True)
class _InTable:
    """What tells of an operation, the words that say what a number of a table is about, and its column."""

    told: str
    words: frozenset[str]
    name: str


class Numbers:
    """Follows the numbers of one conclusion through one run."""

    def __init__(self, conclusion: str, instruction: str = "") -> None:
        self._text = conclusion
        self._tracer = Tracer(conclusion)
        self._given = _given(instruction)
        self._ledger = Ledger()
        # Of derived numbers, by where they begin: their values before rounding.
        self._exact: dict[int, float] = {}
        self._table = dict(_of_cells(conclusion, self._tracer.targets))

    def _mean(self, item: Quantity) -> Quantity | None:
        """The number before a ±, which this one is a deviation of."""
        before = [other for other in self._tracer.quantities if other.end <= item.start][-1:]
        told = before and _DEVIATES.fullmatch(self._text[before[0].end : item.start])
        return before[0] if told else None

    def see(self, passage: Passage) -> None:
        """Take the next passage of the run."""
        self._tracer.see(passage)
        self._ledger.see(passage)

    @property
    def left_out(self) -> int:
        """Numbers of the conclusion that were not looked for: there are too many."""
        return self._tracer.left_out

    @property
    def all_read(self) -> bool:
        """Whether everything was looked through for derivations."""
        return self._ledger.all_read

    def hard_coded(self) -> list[tuple[Quantity, Place, Place]]:
        """Numbers whose only outputs show what the code before them has: (number, code, output)."""
        return [
            (target.quantity, *target.hard_coded)
            for target in self._tracer.targets.values()
            if target.hard_coded and not self._places(target) and target.quantity.sort is Sort.RESULT
        ]

    def traces(self) -> tuple[NumberTrace, ...]:
        """To be asked once everything was seen. Numbers that were not looked for are not told of."""
        self._tracer.end()
        found = {item.start: trace for item in self._tracer.quantities if (trace := self._first(item))}
        explainer = Explainer(self._ledger)
        # What follows from outputs may be a part of what others follow from.
        for explain in (explainer.explain, explainer.explain_by):
            lacking = [key for key, trace in found.items() if trace.trace is Trace.UNTRACED]
            for key in lacking[:MOST_EXPLAINED]:
                target = self._tracer.targets[key]
                wish = self._wish(target)
                if wish and (derived := explain(wish, self._known(target, found))):
                    self._exact[key] = derived.value
                    found[key] = replace(
                        found[key], trace=Trace.DERIVED, source=derived.how, citations=derived.citations
                    )
        return tuple(self._last(trace) for trace in found.values())

    def _first(self, item: Quantity) -> NumberTrace | None:
        """By what stands in the run and in the instruction."""
        if item.sort is Sort.NONE:
            return NumberTrace(item.text, item.start, item.end, Trace.NOT_A_RESULT)
        target = self._tracer.targets.get(item.start)
        if target is None:
            return None
        bare = NumberTrace(item.text, item.start, item.end, Trace.UNTRACED)
        if item.sort is Sort.BOUND:
            return self._bound(item, target, bare)
        if places := self._places(target):
            return _traced(bare, places)
        if self._is_given(target):
            return replace(bare, trace=Trace.GIVEN, source="the instruction")
        return bare

    def _bound(self, item: Quantity, target: Target, bare: NumberTrace) -> NumberTrace:
        """Where a test printed a p-value on this side of the bound."""
        above = self._text[max(0, item.start - 3) : item.start].rstrip(" =")[-1:] in (">", "≥")
        found = [
            p for p in self._tracer.p_values if (p.value >= item.value if above else p.value <= item.value)
        ]
        nearest = sorted(found, key=lambda p: abs(p.value - item.value))
        return _traced(bare, nearest[:1] or target.labelled)

    def _places(self, target: Target) -> list[Place]:
        if places := target.places or self._with_a_neighbour(target):
            return places
        return target.set_in_code

    def _with_a_neighbour(self, target: Target) -> list[Place]:
        """Where it stands in one line with a number that it stands beside: "0.71 ± 0.02"."""
        start = target.quantity.start
        rows = {
            place.row
            for other in self._tracer.targets.values()
            if other is not target and abs(other.quantity.start - start) < _NEIGHBOUR
            for place in other.labelled
        }
        found = (*target.bare, *target.named)
        return [place for place in found if place.row in rows]

    def _is_given(self, target: Target) -> bool:
        setting = target.quantity.sort is Sort.SETTING or target.quantity.pair >= 0
        return any(
            (item.value, item.unit) == (target.quantity.value, target.quantity.unit)
            and (setting or shared(words, target.words))
            for item, words in self._given
        )

    def _wish(self, target: Target) -> Wish | None:
        """What is to be looked for; None for what follows from nothing."""
        item = target.quantity
        if item.sort is Sort.BOUND or not item.half or (item.sort is Sort.SETTING and item.decimal):
            return None
        sentence, words = self._about(target)
        in_table = item.start in self._table
        beside = self._text[max(0, item.start - _CLAUSE) : item.end + _CLAUSE]
        return Wish(
            item,
            sentence,
            words,
            near=words if in_table else label(beside),
            mean=self._mean(item),
            scales=_scales(item, self._text[item.end :][:4]),
            typed=target.hard_coded is not None and not target.in_code[0].sets,
            exact=in_table,
        )

    def _about(self, target: Target) -> tuple[str, frozenset[str]]:
        """What tells of an operation, and the words and numbers that say what the number is about."""
        item = target.quantity
        if item.start in self._table:
            return self._table[item.start].told, self._table[item.start].words
        low, high = target.sentence
        before = self._text[max(low, item.start - _CLAUSE) : item.start]
        after = self._text[item.end : min(high, item.end + _CLAUSE)]
        return self._near(target, low), target.words | numerals(f"{before} {after}")

    def _known(self, target: Target, found: dict[int, NumberTrace]) -> list[Cell]:
        """Numbers of the conclusion whose own place is known, those of the paragraph as beside it."""
        start = target.quantity.start
        low = max(self._text.rfind("\n", 0, start), start - _PARAGRAPH)
        known: list[Cell] = []
        for key, other in self._tracer.targets.items():
            if other is target or not _is_known(found[key]):
                continue
            same = key not in self._table or other.sentence == target.sentence
            row = HERE if same and low <= key < target.sentence[1] else -2 - other.sentence[0]
            known.append(self._as_part(other, found[key], row))
        if target.quantity.sort is Sort.SETTING:
            known += [
                Cell(item.value, "=given", HERE, words, is_set=True)
                for item, words in self._given
                if not item.decimal and not item.unit
            ]
        return known

    def _as_part(self, target: Target, trace: NumberTrace, row: int) -> Cell:
        """A number of the conclusion as one that others may follow from."""
        item = target.quantity
        at = self._table.get(item.start)
        value = self._exact.get(item.start) or _exact(target)
        spread = _SPREAD.search(self._text[max(0, item.start - _NEIGHBOUR) : item.start])
        return Cell(
            value / 100 if item.unit == "%" else value,
            f"={at.name if at else item.start}",
            row,
            at.words if at else frozenset(),
            next(iter(trace.citations), None),
            "±" if spread else item.unit,
            own=label(at.name) if at else frozenset(),
            column=(-1, item.start),
            is_set=bool(target.set_in_code),
        )

    def _last(self, trace: NumberTrace) -> NumberTrace:
        """A small whole number that is said in passing is no result."""
        target = self._tracer.targets.get(trace.start)
        small = target is not None and trace.trace is Trace.UNTRACED and self._is_small(target.quantity)
        return replace(trace, trace=Trace.NOT_A_RESULT) if small else trace

    def _near(self, target: Target, low: int) -> str:
        """The words around a number, from `low` on: they say by what operation it follows."""
        item = target.quantity
        before = self._text[max(low, item.start - _CUE_BEFORE) : item.start]
        return before + self._text[item.start : min(target.sentence[1], item.end + _CUE_AFTER)]

    def _is_small(self, item: Quantity) -> bool:
        small = not item.decimal and not item.unit and not item.sign and item.value < _SMALL
        said = self._text[max(0, item.start - 3) : item.start].rstrip()[-1:]
        return small and item.pair < 0 and said not in ("=", ":", "≈", "~")


def _of_cells(text: str, targets: Mapping[int, Target]) -> Iterator[tuple[int, _InTable]]:
    """Where a number of a table begins → what its row and its column say of it."""
    begins = sorted(targets)
    for row in read(text).rows:
        names = " ".join(cell.text for cell in row.cells if not _DIGIT.search(cell.text))
        for cell in row.cells:
            inside = begins[bisect_left(begins, cell.start) : bisect_left(begins, cell.end)]
            others = [other.text for other in row.cells if other is not cell]
            first = row.cells[0].header
            words = label(f"{cell.header} {names} {first}") | numerals(" ".join([cell.header, *others[:2]]))
            told = " ".join([cell.header, *others])
            for n, start in enumerate(inside):
                yield start, _InTable(told, words, cell.header + "±" * n)


def _given(instruction: str) -> list[tuple[Quantity, frozenset[str]]]:
    """Numbers of the instruction with the words around them."""
    return [
        (item, label(instruction[max(0, item.start - 80) : item.end + 60]))
        for item in quantities(instruction)
        if item.sort is not Sort.NONE
    ]


def _is_known(trace: NumberTrace) -> bool:
    """Whether another number may follow from it."""
    return trace.trace in (Trace.TRACED, Trace.GIVEN, Trace.DERIVED)


def _exact(target: Target) -> float:
    """As it was found first, for it was measured more exactly than it is told."""
    return target.places[0].value if target.places else abs(target.quantity.value)


def _scales(item: Quantity, after: str) -> tuple[float, ...]:
    """By what a value may be told: shares in percent, bytes in thousands."""
    if item.unit == "%" or (not item.unit and item.decimal and 1 < abs(item.value) <= 100):
        return (1.0, 100.0)
    return (1.0, 1e-3, 1e-6, 1 / 1024) if _BYTES.match(after) else (1.0,)


def _traced(bare: NumberTrace, places: Sequence[Place]) -> NumberTrace:
    if not places:
        return bare
    citations: tuple[Citation, ...] = tuple(
        dict.fromkeys(place.citation for place in places if place.citation)
    )
    where = places[0].file or f"step {places[0].step}"
    return replace(bare, trace=Trace.TRACED, source=where, citations=citations)
