"""What one sentence of a reference says about a claim: the same, the opposite, or nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from firetrial_judge import figures
from firetrial_judge.alignment import ALL, SOME, Match, Parts, match, parts
from firetrial_judge.bindings import bindings
from firetrial_judge.clauses import findings
from firetrial_judge.effects import DOWN, FLAT, Effect
from firetrial_judge.quantities import Quantity
from firetrial_judge.verdict import Verdict
from firetrial_judge.words import Word

_SLIGHT = 0.05  # a change below this bound is told as none
_COPY = 0.62  # likeness of word order from which one new word is a replacement, not a paraphrase
_COPY_COVER = 0.85
_FREE_COVER = 0.70
_SAME_SUBJECT = 0.60  # share of the premise's words that a contradiction must be about
_CLOSE = 0.80  # cosine at which a free paraphrase may leave more words unmatched
_CLOSE_COVER = 0.60


@dataclass(frozen=True, slots=True)
class Reading:
    """What one clause of the premise says about the hypothesis, and how near it is."""

    verdict: Verdict
    why: str
    nearness: float
    sentence: str
    confirmed: bool = False


@dataclass(frozen=True, slots=True)
class Around:
    """What the near sentences of the premise hold together: a claim may join what two of them say."""

    words: tuple[Word, ...]
    sentences: tuple[str, ...]

    @staticmethod
    def of(sentences: Sequence[str]) -> Around:
        taken = [parts(sentence) for sentence in sentences]
        return Around(tuple(word for one in taken for word in one.words), tuple(sentences))

    def without(self, sentence: str) -> Around:
        """Without the words of a sentence whose clauses say different things of different subjects."""
        others = [other for other in self.sentences if other != sentence]
        return replace(self, words=tuple(word for other in others for word in parts(other).words))

    def beside(self, sentence: str) -> tuple[str, ...]:
        """The sentence, then the others."""
        return (sentence, *(other for other in self.sentences if other != sentence))


def readings(sentence: str, hypothesis: Parts, cosine: float, around: Around) -> list[Reading]:
    """What each finding of a sentence says about the hypothesis; `cosine` is the sentences' own."""
    # Never the whole of a sentence that joins findings: their directions would mix.
    clauses = findings(sentence)
    beside = around.without(sentence) if len(clauses) > 1 else around
    return [_read(sentence, parts(clause), hypothesis, cosine, beside) for clause in clauses]


def _read(sentence: str, premise: Parts, hypothesis: Parts, cosine: float, around: Around) -> Reading:
    found = match(premise, hypothesis, around.words)
    nearness = (
        found.covered
        + 0.3 * cosine
        + 0.1 * found.covering
        + 0.2 * _given(hypothesis, premise.numbers)
        + 0.3 * found.moved
    )
    obstacle = _obstacle(premise, hypothesis, found, cosine)
    if obstacle:
        return Reading(Verdict.NEUTRAL, obstacle, nearness, sentence)
    verdict, why = _relation(sentence, premise, hypothesis, found, around)
    return Reading(verdict, why, nearness, sentence, figures.confirmed(hypothesis, sentence))


def _obstacle(premise: Parts, hypothesis: Parts, found: Match, cosine: float) -> str:
    """Why the two do not speak of the same thing; empty if they do."""
    unheard = _unheard_of(found, cosine)
    if unheard:
        return "the reference does not speak of " + ", ".join(unheard)
    other = found.measure or found.object
    if other:
        return f"the reference does not speak of {other}"
    if hypothesis.causal and not premise.causal:
        return "the claim adds a cause"
    if hypothesis.compares and not premise.compares and not premise.numbers:
        return "the claim adds a comparison"
    if premise.method and hypothesis.effect.stated and not premise.numbers:
        return "the reference tells what was done, not what was found"
    return "the claim is about another condition" if found.opposed and found.likeness >= _COPY else ""


def _unheard_of(found: Match, cosine: float) -> tuple[str, ...]:
    """The claim's words that the reference has no partner for, where they are too many to be a paraphrase."""
    if found.names:
        return found.names
    copy = found.likeness >= _COPY
    needed = _COPY_COVER if copy else _CLOSE_COVER if cosine >= _CLOSE else _FREE_COVER
    return found.novel if found.covered < needed else ()


@dataclass(frozen=True, slots=True)
class _Pair:
    """A clause of the reference and the claim, both about the same thing, and what the clause says of it."""

    premise: Parts
    hypothesis: Parts
    found: Match
    says: Effect
    several_values: bool

    @property
    def values_only(self) -> bool:
        """A bare list of values, "98% at k = 1", points nowhere: its numbers alone decide."""
        return self.hypothesis.measures and self.premise.measures and not self.hypothesis.directed


def _relation(
    sentence: str, premise: Parts, hypothesis: Parts, found: Match, around: Around
) -> figures.Reason:
    """The verdict on two clauses about the same thing."""
    computed = None if premise.compares else figures.computed(sentence, hypothesis)
    said = premise.effect.turned() if found.swapped else premise.effect
    several = computed is None and len(bindings(sentence)) > 1
    pair = _Pair(premise, hypothesis, found, computed or said, several)
    counted = figures.share_clash(premise, hypothesis) or _hardly_any_change(pair)
    if counted is not None:
        return counted
    numbers = figures.clash(hypothesis, around.beside(sentence))
    if numbers is not None and (pair.values_only or numbers[0] is Verdict.NEUTRAL):
        return numbers
    return _opposition(pair) or numbers or _excess(pair) or _agreement(pair)


def _hardly_any_change(pair: _Pair) -> figures.Reason | None:
    small = any(
        n.unit in {"points", "%"} and n.value <= _SLIGHT and n.bound == "<" for n in pair.premise.numbers
    )
    if pair.hypothesis.effect.signs == FLAT and small:
        return Verdict.ENTAILED, "the reference gives hardly any change"
    return None


def _opposition(pair: _Pair) -> figures.Reason | None:
    """What to say where the two point opposite ways."""
    premise, hypothesis, found = pair.premise, pair.hypothesis, pair.found
    if pair.values_only or not pair.says.signs.isdisjoint(hypothesis.effect.signs):
        return None
    if pair.several_values and not premise.directed:
        return Verdict.NEUTRAL, "the reference gives values, from which the claim cannot be told"
    if max(found.covering, found.likeness) < _SAME_SUBJECT:
        return Verdict.NEUTRAL, "the reference points the other way, but perhaps of something else"
    # That something grows in one place does not deny that it falls everywhere else; that it stays does.
    if hypothesis.quantifier == ALL != premise.quantifier and FLAT.isdisjoint(pair.says.signs):
        return Verdict.NEUTRAL, "the claim is more general than the reference, which differs in one case"
    if premise.exclusive and not hypothesis.exclusive:
        return Verdict.NEUTRAL, "the reference points the other way, but only for some"
    return Verdict.CONTRADICTED, "the reference points the other way"


def _excess(pair: _Pair) -> figures.Reason | None:
    """What the claim says beyond the reference."""
    premise, hypothesis = pair.premise, pair.hypothesis
    general = hypothesis.quantifier == ALL or premise.quantifier == SOME
    if hypothesis.quantifier > premise.quantifier and general:
        return Verdict.NEUTRAL, "the claim is more general than the reference"
    if pair.several_values and not premise.directed and not pair.values_only:
        return Verdict.NEUTRAL, "the reference gives values, from which the claim cannot be told"
    if hypothesis.effect.stated and not (premise.effect.stated or pair.says.stated or premise.numbers):
        return Verdict.NEUTRAL, "the reference names no direction"
    return None


def _agreement(pair: _Pair) -> figures.Reason:
    if pair.values_only or _follows(pair.says, pair.hypothesis.effect):
        return Verdict.ENTAILED, "the reference says the same"
    return Verdict.NEUTRAL, "the reference leaves the direction open"


def _follows(premise: Effect, hypothesis: Effect) -> bool:
    nothing_gained = premise.signs == FLAT | DOWN and hypothesis.signs == FLAT
    return premise.signs <= hypothesis.signs or nothing_gained


def _given(hypothesis: Parts, numbers: Sequence[Quantity]) -> float:
    """The share of the claim's numbers that are among these."""
    mine = hypothesis.numbers
    return sum(any(n.matches(other) for other in numbers) for n in mine) / len(mine) if mine else 0.0
