"""Which number belongs to what: "98% at k = 1 and 71% at k = 5", "94% of adults and 71% of children".

A sentence is cut where it goes from one value to the next. Each value takes the conditions and the words of
its piece; a piece that names no condition of some kind stands under that of the piece before it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from firetrial_judge import lexicon
from firetrial_judge.quantities import Quantity, agree, quantities
from firetrial_judge.words import same, stems, words

_JOINT = r"(?:and|but|while|whereas|versus|vs\.?|against|instead of|compared (?:with|to)|up from|down from)"
_CUT = re.compile(rf"\s*[;,]\s+(?:{_JOINT}\s+)?|\s+{_JOINT}\s+|\s+to\s+(?=[-+]?\d)")
_SYMBOL = re.compile(r"\b([A-Za-z]{1,12})\s*=\s*$")
_NEXT_WORD = re.compile(r"[\s-]*(?:of\s+)?(?:the\s+)?([A-Za-z]{3,})")
_STOP = stems(lexicon.STOP) | stems(lexicon.COUNTING) | stems(lexicon.GENERIC) | stems("average")
_STOP -= stems("without")

Conditions = Mapping[str, Quantity]
_Piece = tuple[list[Quantity], frozenset[str], dict[str, Quantity]]
_FROM = re.compile(r"\bfrom\s+(?:about\s+)?$", re.IGNORECASE)
_NOUN_BEFORE = re.compile(r"\b([A-Za-z]{3,})\s+(?:of\s+|=\s*)?$")


@dataclass(frozen=True, slots=True)
class Bound:
    """A measured value with the words of its piece of the sentence and the conditions it stands under.

    `own` are the words that no other value of the sentence has beside it, `names` the names before it.
    `initial` values are those that something changed from.
    """

    quantity: Quantity
    names: frozenset[str]
    about: frozenset[str]
    own: frozenset[str]
    conditions: Conditions
    initial: bool = False


@lru_cache(maxsize=4096)
def bindings(sentence: str) -> tuple[Bound, ...]:
    """Every measured value of a sentence, in order."""
    pieces: list[_Piece] = []
    standing: dict[str, Quantity] = {}
    numbers = quantities(sentence)
    for start, end in _spans(sentence):
        inside = [n for n in numbers if start <= n.start < end]
        standing = standing | {_kind(sentence, n): n for n in inside if n.condition}
        about = _about(sentence, start, end, inside)
        pieces.append(([n for n in inside if not n.condition], about, standing))
    late = _named_late(pieces)
    found = []
    for i, (values, about, conditions) in enumerate(pieces):
        others = frozenset[str]().union(*(a for j, (v, a, _) in enumerate(pieces) if j != i and v))
        found += [
            Bound(
                value,
                _names(sentence, value),
                about,
                about - others,
                late | conditions,
                bool(_FROM.search(sentence[: value.start])),
            )
            for value in values
        ]
    return tuple(found)


def _about(sentence: str, start: int, end: int, inside: Sequence[Quantity]) -> frozenset[str]:
    """The words that name what a piece's value belongs to: those after it, "94% of adults", else before."""
    value = next((n for n in inside if not n.condition), None)
    sides = [(value.end, end), (start, value.start), (0, end)] if value else [(start, end)]
    for a, b in sides:
        found = frozenset(w.stem for w in words(sentence[a:b]) if w.stem not in _STOP)
        if found:
            return found
    return frozenset()


def _names(sentence: str, value: Quantity) -> frozenset[str]:
    """The names in the clause that leads to a value; the subject is among them."""
    return frozenset(w.stem for w in words(sentence[: value.start]) if w.is_name)


def _named_late(pieces: Sequence[_Piece]) -> dict[str, Quantity]:
    """The condition of a sentence that names it once, after its values: "falls by 3, to 59%, at k = 1"."""
    last = pieces[-1][2] if pieces else {}
    return {
        kind: value
        for kind, value in last.items()
        if all(conditions.get(kind, value) == value for _, _, conditions in pieces)
    }


def _spans(sentence: str) -> list[tuple[int, int]]:
    cuts = list(_CUT.finditer(sentence))
    starts = [0, *(c.end() for c in cuts)]
    ends = [*(c.start() for c in cuts), len(sentence)]
    return list(zip(starts, ends, strict=True))


def _kind(sentence: str, number: Quantity) -> str:
    """What a condition is a value of: the symbol before it, else its unit or the noun after it."""
    before = sentence[max(0, number.start - 24) : number.start]
    symbol = _SYMBOL.search(before)
    if symbol:
        return symbol[1].lower()
    named = _NOUN_BEFORE.search(before)
    if named and words(named[1])[0].stem not in _STOP and not named[1].endswith("ing"):
        return words(named[1])[0].stem
    noun = _NEXT_WORD.match(sentence[number.end : number.end + 24])
    if number.unit == "%" or noun is None:
        return number.unit or "number"
    found = words(noun[1])
    return found[0].stem if found else "number"


def conditions(sentence: str) -> dict[str, Quantity]:
    """The numbers that say where a finding holds, by what they are values of."""
    return {_kind(sentence, n): n for n in quantities(sentence) if n.condition}


def compatible(claim: Conditions, given: Conditions) -> bool:
    """Whether no condition of the claim has another value where the number is given."""
    return all(kind not in given or agree(value, given[kind]) for kind, value in claim.items())


def belongs(
    stems_: frozenset[str], names: frozenset[str], where: Conditions, bound: Bound, among: Sequence[Bound]
) -> bool:
    """Whether the claim's words speak of this value rather than of another one of the sentence."""
    if names and bound.names and names.isdisjoint(bound.names):
        return False
    rival = any(_hits(b.own, stems_) for b in among if b is not bound)
    told_apart = not bound.own and any(kind in bound.conditions for kind in where)
    return _hits(bound.own, stems_) > 0 or not rival or told_apart


def _hits(own: frozenset[str], stems_: frozenset[str]) -> int:
    return sum(any(same(word, other) for other in stems_) for word in own)


def difference(bounds: Sequence[Bound], left: frozenset[str], right: frozenset[str]) -> int | None:
    """1, 0 or -1: how the value that belongs to `left` compares with the one of `right`; None if unclear."""
    pairs = [
        (a.quantity, b.quantity)
        for a in bounds
        for b in bounds
        if a is not b and a.quantity.unit == b.quantity.unit and _hits(a.own, left) and _hits(b.own, right)
        if not _hits(a.own, right) and not _hits(b.own, left)
    ]
    if len(pairs) != 1:
        return None
    a, b = pairs[0]
    return (a.value > b.value) - (a.value < b.value)


def trend(bounds: Sequence[Bound], kind: frozenset[str]) -> int | None:
    """1 or -1: whether values rise or fall with the condition that `kind` names; None if unclear."""
    signs = set()
    for a in bounds:
        for b in bounds:
            for name in kind & a.conditions.keys() & b.conditions.keys():
                step = a.conditions[name].value - b.conditions[name].value
                change = a.quantity.value - b.quantity.value
                if a.quantity.unit == b.quantity.unit and step and change:
                    signs.add(1 if step * change > 0 else -1)
    return signs.pop() if len(signs) == 1 else None
