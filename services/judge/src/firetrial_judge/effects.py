"""Which way a finding points: the outcomes it leaves open, as a set of up, no change, down.

A sentence starts as "it holds" (up). Each word of direction multiplies in its own set ("reduces" is down,
"affects" is up or down, "unchanged" is no change); an outcome of which less is better (error, loss) turns a
plain direction round, so that both "improves accuracy" and "reduces error" are up; a negation takes the
complement. One finding then follows from another if its set contains the other's, and excludes it if the two
sets are disjoint.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from firetrial_judge import lexicon
from firetrial_judge.words import Word, stems

Signs = frozenset[int]
UP: Signs = frozenset({1})
DOWN: Signs = frozenset({-1})
FLAT: Signs = frozenset({0})
CHANGE: Signs = frozenset({1, -1})
_ALL: Signs = frozenset({1, 0, -1})

_GOOD, _BAD = stems(lexicon.GOOD), stems(lexicon.BAD)
_TABLE: dict[str, Signs] = {
    **dict.fromkeys(stems(lexicon.CHANGE), CHANGE),
    **dict.fromkeys(stems(lexicon.UP) | _GOOD, UP),
    **dict.fromkeys(stems(lexicon.DOWN) | _BAD, DOWN),
    **dict.fromkeys(stems(lexicon.FLAT), FLAT),
    **dict.fromkeys(stems("not_better not_more"), frozenset({0, -1})),
    **dict.fromkeys(stems("not_worse"), frozenset({0, 1})),
}
_BAD_NOUNS = stems(lexicon.BAD_NOUNS)
_NEGATION = stems(lexicon.NEGATION) - stems("not_more not_better not_worse")
_SCANT = stems("few little minimal negligible minority")
_SLIGHT = _SCANT | stems("no nothing hardly barely scarcely")
_EFFECTS = stems(lexicon.EFFECTS)
_GAINS = _EFFECTS | stems(lexicon.GAINS)
_FAILING = stems("fail failure lack without unable lose") | _NEGATION
_WITHOUT = stems("without")
_SCALARS = frozenset(lexicon.SCALARS.split())
_SUPERLATIVES = frozenset(lexicon.SUPERLATIVES.split())
_REACH = 4  # words between a negation and what it denies


@dataclass(frozen=True, slots=True)
class Effect:
    """The outcomes left open, and whether any word of direction, change or negation was read."""

    signs: Signs
    stated: bool

    def turned(self) -> Effect:
        """The same finding about the two sides of a comparison exchanged."""
        return Effect(frozenset(-sign for sign in self.signs), self.stated)


def effect(words: Sequence[Word]) -> Effect:
    """Read the direction of one clause."""
    stems_ = [word.stem for word in words]
    # "Small k is the most accurate" says how accuracy goes with k; "at small k" alone says where.
    ranked = any(word.folded in _SUPERLATIVES for word in words)
    factors: dict[int, Signs] = {
        i: _TABLE[word.stem]
        for i, word in enumerate(words)
        if word.stem in _TABLE and (ranked or directional(word))
    }
    denials = 0
    used: set[int] = set()
    for i, word in enumerate(stems_):
        if word not in _NEGATION or i in used:
            continue
        denials += _deny(stems_, i, factors, used)
    valued = any(stems_[i] in _GOOD | _BAD for i in factors)
    signs = UP
    for factor in factors.values():
        signs = frozenset(a * b for a, b in product(signs, factor))
    if not valued and any(s in _BAD_NOUNS for s in stems_):
        signs = frozenset(-s for s in signs)
    if denials % 2:
        signs = _ALL - signs
    return Effect(signs, bool(factors) or denials > 0)


def _deny(stems_: Sequence[str], at: int, factors: dict[int, Signs], used: set[int]) -> int:
    """Apply one negation; returns 1 if it denies the whole clause."""
    word = stems_[at]
    reach = range(at + 1, min(at + 1 + _REACH, len(stems_)))
    if word in _WITHOUT:
        factors[at] = DOWN
        return 0
    failing = next((i for i in reach if stems_[i] in _FAILING), None)
    if failing is not None and word not in _SCANT:
        used.add(failing)
        factors.pop(failing, None)
        return 0
    effects = _GAINS if word in _SLIGHT else _EFFECTS
    denied = next((i for i in reach if stems_[i] in effects), None)
    if denied is not None:
        factors[denied] = FLAT
        return 0
    if word in _SCANT:
        factors[at] = DOWN
        return 0
    return 1


def directional(word: Word) -> bool:
    """Whether a word speaks of direction, change or negation rather than of a subject."""
    return word.stem in _NEGATION or (word.stem in _TABLE and word.folded not in _SCALARS)
