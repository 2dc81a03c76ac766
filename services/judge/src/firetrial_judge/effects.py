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
BAD_NOUNS = stems(lexicon.BAD_NOUNS)
_NEGATION = stems(lexicon.NEGATION) - stems("not_more not_better not_worse")
_SCANT = stems("few little minimal negligible minority")
_SLIGHT = _SCANT | stems("no nothing hardly barely")
_EFFECTS = stems(lexicon.EFFECTS)
_GAINS = _EFFECTS | stems(lexicon.GAINS)
_FAILING = stems("fail failure lack without unable lose") | _NEGATION
_FAILS = stems("fail")
_WITHOUT = stems("without")
_CHANGING = stems(lexicon.CHANGE)
_BIAS, _TOWARDS = stems("bias biased"), stems("toward towards")
_SAME = stems("same equal equally identical")
_MEASURES = stems("accuracy performance score speed quality rate result f1")
_STAYING = stems("stay remain is are was were keep")
_POOR = stems("poor bad weak unreliable")
_PREDICTORS = stems("predictor indicator proxy estimator guide signal")
_VANISHING = stems("vanish disappear")
_TIMES = stems("times twice half")
_CONDITIONS = stems("even with for at on under given when")
_DIFFERENCES, _MINOR = stems("difference gap effect"), stems("small minor tiny negligible slight")
_NEITHER, _NOR = stems("neither"), stems("nor")
_HARDLY = stems("hardly barely slightly marginally")
_COMPARATIVES = frozenset(lexicon.COMPARATIVES.split())
_MUCH = stems("much many little low high well soon long far")
_ROBUST = frozenset({"robust", "resistant", "tolerant", "insensitive"})
_RELATED = stems("correlation correlate relation relationship association associate")
_SCALED_INVERSE = stems("negative")  # alone it sets a condition: "negative labels"
_GRADES = stems("more less greater larger stronger smaller weaker least most")
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
    factors = _factors(words, stems_)
    denials = 0
    used: set[int] = set()
    for i, word in enumerate(words):
        if i not in used and _denies(words, stems_, i, word):
            denials += _deny(stems_, i, factors, used)
    valued = any(stems_[i] in _GOOD | _BAD for i in factors)
    signs = UP
    for factor in factors.values():
        signs = frozenset(a * b for a, b in product(signs, factor))
    if not valued and any(_is_bad(stems_, i) for i in range(len(stems_))):
        signs = frozenset(-s for s in signs)
    if denials % 2:
        signs = _ALL - signs
    return Effect(signs, bool(factors) or denials > 0)


def _factors(words: Sequence[Word], stems_: Sequence[str]) -> dict[int, Signs]:
    """What each word of direction leaves open, by its place."""
    # "Small k is the most accurate" says how accuracy goes with k; "at small k" alone says where.
    ranked = any(word.folded in _SUPERLATIVES for word in words)
    factors = {
        i: _TABLE[word.stem]
        for i, word in enumerate(words)
        if word.stem in _TABLE and (ranked or directional(word))
    } | _levelled(words, stems_)
    for i in list(factors):
        if stems_[i] in _CHANGING and not _GRADES.isdisjoint(stems_[max(0, i - 1) : i + 2]):
            del factors[i]  # "more sensitive" is up, and no longer up or down
        elif words[i].folded in _COMPARATIVES and not _HARDLY.isdisjoint(stems_[max(0, i - 1) : i]):
            factors[i] |= FLAT
    return factors


def _denies(words: Sequence[Word], stems_: Sequence[str], i: int, word: Word) -> bool:
    """Whether a word denies something: not the "hardly" of "hardly worse", nor the "nor" after "neither"."""
    graded = word.stem in _HARDLY and any(after.folded in _COMPARATIVES for after in words[i + 1 : i + 2])
    repeated = word.stem in _NOR and not _NEITHER.isdisjoint(stems_[:i])
    return (word.stem in _NEGATION or word.stem in _FAILS) and not (graded or repeated)


def _is_bad(stems_: Sequence[str], at: int) -> bool:
    """A bias is a bad thing to have more of; a bias towards something is a preference."""
    towards = stems_[at] in _BIAS and not _TOWARDS.isdisjoint(stems_[at + 1 : at + 3])
    return stems_[at] in BAD_NOUNS and not towards


def _levelled(words: Sequence[Word], stems_: Sequence[str]) -> dict[int, Signs]:
    """Words that point a way only together: as good as, robust to noise, a poor predictor."""
    found: dict[int, Signs] = {}
    for i in range(len(words)):
        equal = any(says(stems_, i) for says in (_as_good_as, _the_same, _vanishes, _is_small))
        if equal or _robust_to(words, stems_, i):
            found[i] = FLAT
        elif _poor_predictor(stems_, i) or (stems_[i] in _SCALED_INVERSE and not _RELATED.isdisjoint(stems_)):
            found[i] = DOWN
    return found


def _as_good_as(stems_: Sequence[str], i: int) -> bool:
    after = stems_[i + 1 : i + 5]
    scaled = not _TIMES.isdisjoint(stems_[max(0, i - 1) : i])  # three times as often as
    return stems_[i] == "as" and "as" in after[1:] and after[0] not in _MUCH and not scaled


def _the_same(stems_: Sequence[str], i: int) -> bool:
    measured = not _MEASURES.isdisjoint(stems_[i + 1 : i + 4])
    stays = not _STAYING.isdisjoint(stems_[max(0, i - 3) : i])
    return stems_[i] in _SAME and (measured or stays)


def _robust_to(words: Sequence[Word], stems_: Sequence[str], i: int) -> bool:
    graded = not _GRADES.isdisjoint(stems_[max(0, i - 1) : i])
    return words[i].folded in _ROBUST and "to" in stems_[i + 1 : i + 2] and not graded


def _vanishes(stems_: Sequence[str], i: int) -> bool:
    return stems_[i] in _VANISHING and not _GAINS.isdisjoint(stems_[max(0, i - 4) : i])


def _is_small(stems_: Sequence[str], i: int) -> bool:
    """ "The differences were small" says nearly that there were none."""
    after = stems_[i + 1 : i + 4]
    return stems_[i] in _DIFFERENCES and not (_STAYING.isdisjoint(after) or _MINOR.isdisjoint(after))


def _poor_predictor(stems_: Sequence[str], i: int) -> bool:
    return stems_[i] in _POOR and not _PREDICTORS.isdisjoint(stems_[i + 1 : i + 3])


def _deny(stems_: Sequence[str], at: int, factors: dict[int, Signs], used: set[int]) -> int:
    """Apply one negation; returns 1 if it denies the whole clause."""
    word = stems_[at]
    reach = range(at + 1, min(at + 1 + _REACH, len(stems_)))
    if word in _WITHOUT or word in _SCANT:
        return _lessen(stems_, at, factors, reach)
    if word in _FAILS:
        factors.pop(at, None)
        return 1
    failing = next((i for i in reach if stems_[i] in _FAILING - _NOR), None)
    if failing is not None:
        used.add(failing)
        factors.pop(failing, None)
        return 0
    effects = _GAINS if word in _SLIGHT else _EFFECTS
    denied = next((i for i in reach if stems_[i] in effects), None)
    if denied is not None:
        factors[denied] = FLAT
    return int(denied is None)


def _lessen(stems_: Sequence[str], at: int, factors: dict[int, Signs], reach: range) -> int:
    """Apply "without" or a scant amount, which point down; not "even without", "with few labels"."""
    denied = next((i for i in reach if stems_[i] in _GAINS), None) if stems_[at] in _SCANT else None
    if denied is not None:
        factors[denied] = FLAT
    elif _CONDITIONS.isdisjoint(stems_[max(0, at - 1) : at]):
        factors[at] = DOWN
    return 0


def directional(word: Word) -> bool:
    """Whether a word speaks of direction, change or negation rather than of a subject."""
    return word.stem in _NEGATION or (word.stem in _TABLE and word.folded not in _SCALARS)
