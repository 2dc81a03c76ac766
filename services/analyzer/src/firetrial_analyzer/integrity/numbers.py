"""The trace of every number of a conclusion, from what was found in the run."""

import re
from collections.abc import Sequence
from dataclasses import replace

from firetrial_analyzer.integrity.derivation import Derived, Part, beside
from firetrial_analyzer.integrity.findings import NumberTrace, Trace
from firetrial_analyzer.integrity.labels import label, shared
from firetrial_analyzer.integrity.passages import Passage
from firetrial_analyzer.integrity.quantities import Quantity, quantities
from firetrial_analyzer.integrity.sorting import Sort
from firetrial_analyzer.integrity.tables import Deriver, Wish
from firetrial_analyzer.integrity.tracing import Place, Target, Tracer
from firetrial_analyzer.taxonomy.steps import Citation

# Whole numbers below this say how a study is made, where nothing says that they were measured.
_SMALL = 13
_SAMPLES = label("num samples limit size count range question prompt example item trial max")
_DEVIATES = re.compile(r"[\s$%]{0,3}(?:±|\\pm|\+/-|\+-)[\s$]{0,3}")
# Characters from a number to the next one that it belongs to.
_NEIGHBOUR = 40
# Characters around a number that tell of an operation.
_CUE_BEFORE, _CUE_AFTER = 80, 50


class Numbers:
    """Follows the numbers of one conclusion through one run."""

    def __init__(self, conclusion: str, instruction: str = "") -> None:
        self._text = conclusion
        self._tracer = Tracer(conclusion)
        self._given = _given(instruction)
        self._deriver = Deriver(
            self._wish(target)
            for target in self._tracer.targets.values()
            if target.quantity.sort is not Sort.BOUND
        )

    def _wish(self, target: Target) -> Wish:
        item = target.quantity
        other = self._tracer.quantities[item.pair].value if item.pair >= 0 else 0.0
        sentence = self._near(target, target.sentence[0])
        whole = max(item.value, other) if other else 0.0
        return Wish(item.start, item, sentence, target.words, whole, self._mean(item))

    def _mean(self, item: Quantity) -> Quantity | None:
        """The number before a ±, which this one is a deviation of."""
        before = [other for other in self._tracer.quantities if other.end <= item.start][-1:]
        told = before and _DEVIATES.fullmatch(self._text[before[0].end : item.start])
        return before[0] if told else None

    def see(self, passage: Passage) -> None:
        """Take the next passage of the run."""
        self._tracer.see(passage)
        self._deriver.see(passage)

    @property
    def left_out(self) -> int:
        """Numbers of the conclusion that were not looked for: there are too many."""
        return self._tracer.left_out

    @property
    def all_tables(self) -> bool:
        """Whether everything was looked through for derivations."""
        return self._deriver.all_read

    def hard_coded(self) -> list[tuple[Quantity, Place, Place]]:
        """Numbers whose only outputs show what the code before them has: (number, code, output)."""
        return [
            (target.quantity, *target.hard_coded)
            for target in self._tracer.targets.values()
            if target.hard_coded and not target.places and target.quantity.sort is Sort.RESULT
        ]

    def traces(self) -> tuple[NumberTrace, ...]:
        """To be asked once everything was seen. Numbers that were not looked for are not told of."""
        self._tracer.end()
        found = {item.start: trace for item in self._tracer.quantities if (trace := self._first(item))}
        # What follows from outputs may be a part of what others follow from.
        for derive in (self._beside, self._in_outputs, self._beside):
            for target in self._tracer.targets.values():
                key = target.quantity.start
                if found[key].trace is Trace.UNTRACED and (derived := derive(target, found)):
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
        if target.quantity.sort is not Sort.SETTING:
            return []
        # What a study was set to do stands in its code.
        return [
            place
            for place, words, _ in target.in_code
            if shared(words, target.words) or (not target.quantity.decimal and words & _SAMPLES)
        ]

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

    def _beside(self, target: Target, found: dict[int, NumberTrace]) -> Derived | None:
        """From numbers of the same sentence or the one before."""
        item = target.quantity
        if item.sort is Sort.BOUND or (item.sort is Sort.SETTING and item.decimal):
            return None
        low = self._before(target.sentence[0])
        return beside(item, self._near(target, low), self._parts(low, target, found))

    def _in_outputs(self, target: Target, _: dict[int, NumberTrace]) -> Derived | None:
        return self._deriver.found(target.quantity.start)

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

    def _before(self, start: int) -> int:
        """Where the sentence before begins."""
        begins = sorted({target.sentence[0] for target in self._tracer.targets.values()})
        earlier = [begin for begin in begins if begin < start]
        return earlier[-1] if earlier else start

    def _parts(self, low: int, target: Target, found: dict[int, NumberTrace]) -> list[Part]:
        """Known numbers of the sentence and of the one before."""
        beside_it = [
            other
            for other in self._tracer.targets.values()
            if low <= other.quantity.start < target.sentence[1]
            and other is not target
            and _is_known(other.quantity, found[other.quantity.start])
        ]
        parts = [_part(other, found[other.quantity.start]) for other in beside_it]
        if target.quantity.sort is Sort.SETTING:
            parts += [
                Part(item.text, (item.value, item.value), item.unit)
                for item, _ in self._given
                if not item.decimal and not item.unit
            ]
        return parts

    def _is_small(self, item: Quantity) -> bool:
        small = not item.decimal and not item.unit and not item.sign and item.value < _SMALL
        said = self._text[max(0, item.start - 3) : item.start].rstrip()[-1:]
        return small and item.pair < 0 and said not in ("=", ":", "≈", "~")


def _given(instruction: str) -> list[tuple[Quantity, frozenset[str]]]:
    """Numbers of the instruction with the words around them."""
    return [
        (item, label(instruction[max(0, item.start - 80) : item.end + 60]))
        for item in quantities(instruction)
        if item.sort is not Sort.NONE
    ]


def _is_known(item: Quantity, trace: NumberTrace) -> bool:
    """Whether another number may follow from it; of derived ones only counts, or all would in the end."""
    counted = trace.trace is Trace.DERIVED and not item.decimal and not item.unit
    return counted or trace.trace in (Trace.TRACED, Trace.GIVEN)


def _part(target: Target, trace: NumberTrace) -> Part:
    """As it was found first, for it was measured more exactly than it is told."""
    item = target.quantity
    told = abs(item.value)
    exact = target.places[0].value if target.places else told
    citation = trace.citations[0] if trace.citations else None
    return Part(item.text, (exact, told), item.unit, citation)


def _traced(bare: NumberTrace, places: Sequence[Place]) -> NumberTrace:
    if not places:
        return bare
    citations: tuple[Citation, ...] = tuple(
        dict.fromkeys(place.citation for place in places if place.citation)
    )
    where = places[0].file or f"step {places[0].step}"
    return replace(bare, trace=Trace.TRACED, source=where, citations=citations)
