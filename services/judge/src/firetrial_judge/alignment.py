"""The parts of two findings, side by side: subject, names, numbers, comparison, scope, cause."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache

from firetrial_judge import lexicon
from firetrial_judge.effects import Effect, directional, effect
from firetrial_judge.quantities import Quantity, quantities
from firetrial_judge.words import Word, opposite, same, stems, words

_STOP = stems(lexicon.STOP) | stems("at_least at_most up_to more_than fewer_than rather_than")
_GENERIC = stems(lexicon.GENERIC)
_ALL, _SOME = stems(lexicon.ALL), stems(lexicon.SOME)
_CAUSAL, _METHOD = stems(lexicon.CAUSAL), stems(lexicon.METHOD)
_COMPARING = stems("outperform beat surpass exceed underperform prefer favor")
_COUNTING, _DIMENSIONS = stems(lexicon.COUNTING), stems(lexicon.DIMENSIONS)


@dataclass(frozen=True, slots=True)
class Parts:
    """One clause taken apart."""

    text: str
    words: tuple[Word, ...]
    content: tuple[Word, ...]
    effect: Effect
    numbers: tuple[Quantity, ...]
    left: frozenset[str]
    right: frozenset[str]
    quantifier: int  # 3 all, 2 most or unsaid, 1 some
    causal: bool
    method: bool

    @property
    def compares(self) -> bool:
        """Whether the clause sets two named sides against each other."""
        return bool(self.right)

    @property
    def measures(self) -> bool:
        """Whether it gives a measured value, not only a count of things ("two groups")."""
        return any(q.unit or not q.value.is_integer() for q in self.numbers)


@lru_cache(maxsize=4096)
def parts(clause: str) -> Parts:
    """Take a clause apart."""
    found = words(clause)
    found_stems = [word.stem for word in found]
    content = tuple(w for w in found if _has_content(w))
    left, right = _sides(found)
    reading = effect(found)
    return Parts(
        text=clause,
        words=found,
        content=content,
        effect=reading,
        numbers=quantities(clause),
        left=left,
        right=right,
        quantifier=_quantifier(found_stems),
        causal=not _CAUSAL.isdisjoint(found_stems),
        method=not reading.stated and not _METHOD.isdisjoint(found_stems),
    )


def _has_content(word: Word) -> bool:
    if word.stem in _STOP or word.stem in _COUNTING:
        return False
    return not directional(word) or word.stem in _DIMENSIONS


def _sides(found: Sequence[Word]) -> tuple[frozenset[str], frozenset[str]]:
    """What stands before and after "than", "over" or a verb of winning; empty without a comparison."""
    stems_ = [word.stem for word in found]
    for i, stem in enumerate(stems_):
        over = stem == "over" and not _COMPARING.isdisjoint(stems_[max(0, i - 4) : i])
        if stem == "than" or over or (stem in _COMPARING and "over" not in stems_[i : i + 5]):
            left, right = _content(stems_[:i]), _content(stems_[i + 1 :])
            if right:
                return left, right
    return frozenset(), frozenset()


def _content(stems_: Sequence[str]) -> frozenset[str]:
    return frozenset(s for s in stems_ if s not in _STOP)


def _quantifier(stems_: Sequence[str]) -> int:
    if not _ALL.isdisjoint(stems_):
        return 3
    return 1 if not _SOME.isdisjoint(stems_) else 2


@dataclass(frozen=True, slots=True)
class Match:
    """How a hypothesis lies on a premise.

    `covered` and `covering` are the weighted shares, in [0, 1], of the hypothesis's content words that have
    a partner in the premise, and of the premise's that have one in the hypothesis. `novel` are content words
    without partner, `names` the novel ones that name a thing. `likeness` in [0, 1] compares the word order.
    """

    covered: float
    covering: float
    novel: tuple[str, ...]
    names: tuple[str, ...]
    likeness: float
    swapped: bool
    opposed: bool


def match(premise: Parts, hypothesis: Parts, nearby: Sequence[Word] = ()) -> Match:
    """Lay the hypothesis on the premise; a partner among the words `nearby` counts half."""
    covered, novel = _cover(hypothesis.content, premise.words, nearby)
    covering, _ = _cover(premise.content, hypothesis.words)
    return Match(
        covered=covered,
        covering=covering,
        novel=tuple(w.folded for w in novel),
        names=tuple(w.written for w in novel if w.is_name),
        likeness=_likeness_in_order(premise.words, hypothesis.words),
        swapped=_swapped(premise, hypothesis),
        opposed=any(opposite(n.stem, p.stem) for n in novel for p in premise.words),
    )


def _weight(word: Word) -> float:
    return 2.0 if word.is_name else 0.4 if word.stem in _GENERIC else 1.0


def _cover(
    wanted: Sequence[Word], given: Sequence[Word], nearby: Sequence[Word] = ()
) -> tuple[float, list[Word]]:
    absent = [word for word in wanted if not _among(word, given)]
    novel = [word for word in absent if not _among(word, nearby)]
    total = sum(map(_weight, wanted))
    missed = (sum(map(_weight, absent)) + sum(map(_weight, novel))) / 2
    return (1.0 - missed / total if total else 1.0), novel


def _among(word: Word, given: Sequence[Word]) -> bool:
    return any(same(word.stem, other.stem) for other in given)


def _likeness_in_order(premise: Sequence[Word], hypothesis: Sequence[Word]) -> float:
    a, b = [word.stem for word in premise], [word.stem for word in hypothesis]
    return SequenceMatcher(None, a, b, autojunk=False).ratio()


def _swapped(premise: Parts, hypothesis: Parts) -> bool:
    if not (premise.compares and hypothesis.compares):
        return False
    p_left, p_right = _apart(premise.left, premise.right), _apart(premise.right, premise.left)
    h_left, h_right = _apart(hypothesis.left, hypothesis.right), _apart(hypothesis.right, hypothesis.left)
    straight = _likeness(p_left, h_left) + _likeness(p_right, h_right)
    crossed = _likeness(p_left, h_right) + _likeness(p_right, h_left)
    return crossed > straight


def _apart(side: frozenset[str], other: frozenset[str]) -> frozenset[str]:
    """What tells one side of a comparison from the other."""
    return side - other


def _likeness(a: frozenset[str], b: frozenset[str]) -> float:
    if not a or not b:
        return 0.0
    hits = sum(any(same(x, y) for y in b) for x in a) + sum(any(same(x, y) for y in a) for x in b)
    return hits / (len(a) + len(b))
