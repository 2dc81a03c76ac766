"""The parts of two findings, side by side: subject, names, numbers, comparison, scope, cause."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache

from firetrial_judge import lexicon
from firetrial_judge.effects import BAD_NOUNS, DOWN, Effect, directional, effect
from firetrial_judge.quantities import Quantity, quantities
from firetrial_judge.words import Word, opposite, same, stems, words

_STOP = stems(lexicon.STOP) | stems("at_least at_most up_to rather_than")
_GENERIC = stems(lexicon.GENERIC)
_EVERY, _SOME = stems(lexicon.ALL), stems(lexicon.SOME)
_ALMOST = stems("almost nearly not")
_OTHER_MEASURES = stems(lexicon.OTHER_MEASURES)
ALL, SOME = 3, 1
_ONLY = stems("only solely exclusively except besides")
_EXCEPT = stems("except besides")
_CAUSAL, _METHOD = stems(lexicon.CAUSAL), stems(lexicon.METHOD)
_COMPARING = stems("match outperform beat surpass exceed underperform prefer favor")
_PREFERRING = stems("prefer favor")
_SUBJECT = 6  # words at a clause's start that can name its subject
_ONE_SIDED = 0.6
_ENDING = stems("of for in on at with by when if than to from and or as while on under among across")
_SIZES = stems(lexicon.SIZES)
_HEAD = 2  # words that can open a subject: "much larger models"
_LACKING = stems("without")
_JOINTS = frozenset({"than"}) | stems("above below")
_RATHER = frozenset({"to"}) | stems("rather_than")
_WITHIN = 9  # words between "prefer" and its "over"
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
    exclusive: bool  # holds "only" somewhere

    @property
    def compares(self) -> bool:
        """Whether the clause sets two named sides against each other."""
        return bool(self.right)

    @property
    def directed(self) -> bool:
        """Whether a word of direction or negation is there, "without" aside, which only sets a condition."""
        told = [word for word in self.words if directional(word) and word.stem not in _LACKING]
        return self.effect.stated and (bool(told) or self.effect.signs != DOWN)

    @property
    def unwelcome(self) -> bool:
        """Whether what it speaks of is better when there is less of it."""
        return any(word.stem in BAD_NOUNS for word in self.words)

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
        exclusive=not _ONLY.isdisjoint(found_stems),
        method=not reading.stated and not _METHOD.isdisjoint(found_stems),
    )


def _has_content(word: Word) -> bool:
    if word.stem in _STOP or word.stem in _COUNTING:
        return False
    return not directional(word) or word.stem in _DIMENSIONS


def _sides(found: Sequence[Word]) -> tuple[frozenset[str], frozenset[str]]:
    """What stands before and after "than", "over", "as … as" or a verb of winning; empty without any."""
    stems_ = [word.stem for word in found]
    for i, stem in enumerate(stems_):
        before = stems_[max(0, i - _WITHIN) : i]
        joint = stem in _JOINTS or (stem == "over" and not _COMPARING.isdisjoint(before))
        joint = joint or (stem in _RATHER and not _PREFERRING.isdisjoint(before) and "over" not in stems_)
        joint = joint or (stem == "as" and "as" in stems_[max(0, i - 3) : max(0, i - 1)])
        if joint or (stem in _COMPARING - _PREFERRING and "over" not in stems_[i : i + _WITHIN]):
            preferring = (n + 1 for n, s in enumerate(stems_[:i]) if s in _PREFERRING)
            left, right = _content(stems_[next(preferring, 0) : i]), _content(stems_[i + 1 :])
            right = right or frozenset(stems_[i + 1 :])  # "than its own"
            if right:
                return left, right
    return frozenset(), frozenset()


def _content(stems_: Sequence[str]) -> frozenset[str]:
    return frozenset(s for s in stems_ if s not in _STOP or s in _LACKING)


def _quantifier(stems_: Sequence[str]) -> int:
    if _EXCEPT.isdisjoint(stems_) and any(
        s in _EVERY and not _ALMOST.intersection(stems_[max(0, i - 1) : i]) for i, s in enumerate(stems_)
    ):
        return ALL
    return SOME if not _SOME.isdisjoint(stems_) else 2


@dataclass(frozen=True, slots=True)
class Match:
    """How a hypothesis lies on a premise.

    `covered` and `covering` are the weighted shares, in [0, 1], of the hypothesis's content words that have
    a partner in the premise, and of the premise's that have one in the hypothesis. `novel` are content words
    without partner: `names` of them name a thing, `measure` another measure, `object` what a word of
    direction acts on. `likeness` in [0, 1] compares the word order, `moved` in [0, 1] is the share of the
    hypothesis's words of direction that the premise has.
    """

    covered: float
    covering: float
    novel: tuple[str, ...]
    names: tuple[str, ...]
    likeness: float
    swapped: bool
    opposed: bool
    measure: str
    moved: float
    object: str


def match(premise: Parts, hypothesis: Parts, nearby: Sequence[Word] = ()) -> Match:
    """Lay the hypothesis on the premise; a partner among the words `nearby` counts a quarter."""
    covered, novel = _cover(hypothesis.content, premise.words, nearby)
    covering, _ = _cover(premise.content, hypothesis.words)
    return Match(
        covered=covered,
        covering=covering,
        novel=tuple(w.folded for w in novel),
        names=tuple(w.written for w in novel if w.is_name),
        likeness=_likeness_in_order(premise.words, hypothesis.words),
        swapped=_swapped(premise, hypothesis),
        moved=_share(_directions(hypothesis), _directions(premise)),
        object=_object(premise, hypothesis, novel),
        measure=next((w.folded for w in novel if w.stem in _OTHER_MEASURES), ""),
        opposed=any(opposite(n.stem, p.stem) for n in novel for p in premise.words),
    )


def _object(premise: Parts, hypothesis: Parts, novel: Sequence[Word]) -> str:
    """The novel word, if any, that stands right after a word of direction: "improves code *generation*"."""
    for i, word in enumerate(hypothesis.words):
        if not directional(word):
            continue
        if word.stem in _SIZES and i > _HEAD and not _among(word, premise.words):
            return word.folded
        for after in hypothesis.words[i + 1 : i + 4]:
            if after.stem in _ENDING:
                break
            if after in novel and after.stem not in _GENERIC:
                return after.folded
    return ""


def _directions(clause: Parts) -> frozenset[str]:
    return frozenset(word.stem for word in clause.words if directional(word))


def _weight(word: Word) -> float:
    return 2.0 if word.is_name else 0.4 if word.stem in _GENERIC else 1.0


def _cover(
    wanted: Sequence[Word], given: Sequence[Word], nearby: Sequence[Word] = ()
) -> tuple[float, list[Word]]:
    absent = [word for word in wanted if not _among(word, given)]
    novel = [word for word in absent if not _among(word, nearby)]
    total = sum(map(_weight, wanted))
    missed = (3 * sum(map(_weight, absent)) + sum(map(_weight, novel))) / 4
    return (1.0 - missed / total if total else 1.0), novel


def _among(word: Word, given: Sequence[Word]) -> bool:
    return any(same(word.stem, other.stem) for other in given)


def _likeness_in_order(premise: Sequence[Word], hypothesis: Sequence[Word]) -> float:
    a, b = [word.stem for word in premise], [word.stem for word in hypothesis]
    return SequenceMatcher(None, a, b, autojunk=False).ratio()


def _swapped(premise: Parts, hypothesis: Parts) -> bool:
    """Whether the two sides of the premise's comparison have changed places in the hypothesis.

    Looked at are the rivals, which stand after "than" alone; what stands before it is mixed with the rest.
    """
    left, right = _apart(premise.left, premise.right), _apart(premise.right, premise.left)
    if not right:
        return False
    if hypothesis.compares:
        mine, rival = _apart(hypothesis.left, hypothesis.right), _apart(hypothesis.right, hypothesis.left)
        both = frozenset(a for a in rival if any(same(a, b) for b in right))
        if both and both != rival:  # what both name after "than" tells nothing: "on small datasets"
            right, rival = _apart(right, both), rival - both
            if not right:
                return False
        crossed = _share(rival, left) + _share(right, mine)
        return crossed > _share(rival, right) + _share(right, rival)
    spoken = frozenset(word.stem for word in hypothesis.words)
    preferring = any(word.stem in _PREFERRING for word in premise.words)
    head = premise.words if preferring else premise.words[:_SUBJECT]
    subject = frozenset(w.stem for w in head if w.stem in left and not directional(w))
    return bool(subject) and _share(right, spoken) > _ONE_SIDED and _share(subject, spoken) <= 0.5


def _apart(side: frozenset[str], other: frozenset[str]) -> frozenset[str]:
    """What tells one side of a comparison from the other."""
    return frozenset(a for a in side if not any(same(a, b) for b in other))


def _share(wanted: frozenset[str], given: frozenset[str]) -> float:
    return sum(any(same(x, y) for y in given) for x in wanted) / len(wanted) if wanted else 0.0
