"""Whether the numbers of a claim are those of the reference, and what values say that no word says."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from firetrial_judge.alignment import Parts
from firetrial_judge.bindings import Bound, Conditions, belongs, bindings, compatible, difference, trend
from firetrial_judge.effects import Effect
from firetrial_judge.quantities import Quantity, agree, derived, quantities
from firetrial_judge.verdict import Verdict

Reason = tuple[Verdict, str]

_MANY, _FEW = frozenset({"most", "majority"}), frozenset({"few", "minority", "hardly"})
_COUNTED = re.compile(r"\s+of\s+(?:the\s+|all\s+)?[a-z]")


@dataclass(frozen=True, slots=True)
class _Asked:
    """A number of the claim, the claim's words and names, and the conditions that the number stands under."""

    number: Quantity
    spoken: frozenset[str]
    names: frozenset[str]
    where: Conditions
    compares: bool

    def speaks_of(self, bound: Bound, among: Sequence[Bound]) -> bool:
        """Whether a value of the reference belongs to what the claim speaks of."""
        under = compatible(self.where, bound.conditions)
        # "from 71% to 34%": the first value is what was before, unless the claim says under what condition.
        usable = not bound.initial or any(kind in bound.conditions for kind in self.where)
        return under and usable and belongs(self.spoken, self.names, self.where, bound, among)


def clash(hypothesis: Parts, near: Sequence[str]) -> Reason | None:
    """A number of the claim that is not given: contradicted if the first sentence has another in its place.

    `near` are the sentences of the reference that may give it, first the one that is compared.
    """
    given = bindings(near[0])
    for asked in _asked(hypothesis):
        if any(_is_given(asked, sentence) for sentence in near):
            continue
        number = asked.number
        rivals = [
            bound
            for bound in given
            if bound.quantity.unit == number.unit
            and asked.speaks_of(bound, given)
            and not any(bound.quantity.matches(mine) for mine in hypothesis.numbers)
        ]
        unsaid = any(kind not in bound.conditions for bound in rivals for kind in asked.where)
        written = hypothesis.text[number.start : number.end]
        if number.condition or number.bound or unsaid or not rivals:
            return Verdict.NEUTRAL, f"the reference does not give {written}"
        return Verdict.CONTRADICTED, f"the reference gives another number than {written}"
    return None


def _asked(hypothesis: Parts) -> list[_Asked]:
    spoken = frozenset(word.stem for word in hypothesis.words)
    names = frozenset(word.stem for word in hypothesis.content if word.is_name)
    own = {bound.quantity.start: bound.conditions for bound in bindings(hypothesis.text)}
    return [
        _Asked(number, spoken, names, own.get(number.start, {}), hypothesis.compares)
        for number in hypothesis.numbers
    ]


def _is_given(asked: _Asked, sentence: str) -> bool:
    """Whether a sentence gives the number, for the same thing and under the same conditions."""
    number, numbers = asked.number, quantities(sentence)
    if number.condition:
        return any(agree(number, other) for other in numbers)
    if number.bound and any(number.bound == other.bound and agree(number, other) for other in numbers):
        return True
    if any(number.matches(change) for change in derived(sentence)):
        return True
    given = bindings(sentence)
    if asked.compares and number.unit == "points" and any(number.matches(gap) for gap in _gaps(given)):
        return True
    return any(
        (number.matches(bound.quantity) or number.satisfied_by(bound.quantity))
        and asked.speaks_of(bound, given)
        for bound in given
    )


def _gaps(given: Sequence[Bound]) -> list[Quantity]:
    """The differences between the values of one unit."""
    values = [bound.quantity for bound in given]
    return [replace(a, value=abs(a.value - b.value)) for a in values for b in values if a.unit == b.unit]


def confirmed(hypothesis: Parts, sentence: str) -> bool:
    """Whether the claim has measured values, all of which one sentence gives under the same conditions."""
    asked = [one for one in _asked(hypothesis) if not one.number.condition]
    return hypothesis.measures and bool(asked) and all(_is_given(one, sentence) for one in asked)


def share_clash(premise: Parts, hypothesis: Parts) -> Reason | None:
    """A claim about most or few of something against a counted share, "3 of 20"."""
    asked = {word.folded for word in hypothesis.words} & (_MANY | _FEW)
    shares = [n.value for n in premise.numbers if n.unit == "%" and _COUNTED.match(premise.text[n.end :])]
    counted = [n.value for n in premise.numbers if " of " in premise.text[n.start : n.end]]
    given = counted or shares
    if len(asked) != 1 or len(given) != 1 or hypothesis.numbers:
        return None
    if (given[0] > 0.5) != bool(asked & _MANY):
        return Verdict.CONTRADICTED, "the reference counts another share"
    return None


def computed(sentence: str, hypothesis: Parts) -> Effect | None:
    """What the sentence's values say where the claim compares what they belong to, or tells their trend."""
    given = bindings(sentence)
    if len(given) < 2 or hypothesis.measures:
        return None
    left, right = hypothesis.left - hypothesis.right, hypothesis.right - hypothesis.left
    order = difference(given, left, right) if hypothesis.compares else None
    if order is None:
        order = trend(given, frozenset(word.stem for word in hypothesis.words))
    if order is None:
        return None
    return Effect(frozenset({-order if hypothesis.unwelcome else order}), stated=True)
