"""The offline entailment judge: a sentence embedding to find the place, the claims' parts to decide.

An embedding alone cannot decide: a contradiction differs from its premise by one word and lies closer to it
than a paraphrase does. So it only ranks the premise's sentences and backs up what the words leave open:
names, numbers, scope and comparison tell whether both speak of the same thing, `effects` whether they agree.
It is a demonstration and a smoke test: see the README for its measured quality.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from firetrial_judge.alignment import Match, Parts, match, parts
from firetrial_judge.claims import Claim, Extraction, extract
from firetrial_judge.clauses import findings
from firetrial_judge.effects import DOWN, FLAT, Effect
from firetrial_judge.embedding import MODEL_ID, SentenceEmbedder, Vector
from firetrial_judge.judgement import JudgeConfig, Spent
from firetrial_judge.quantities import Quantity
from firetrial_judge.text import clean, uncited, units
from firetrial_judge.verdict import Ruling, Span, Verdict
from firetrial_judge.words import Word

VERSION = "offline-1"
"""Raised with every change of rules or words that can change a verdict."""
QUALITY = (
    "offline judge, for demonstration: entailed against the rest right on 80 % of 60 pairs written beside "
    "its development and on 87 % of 60 pairs of another hand, both read during it (always answering no: 67 %)"
)

_GATE = 0.30  # below this cosine two sentences speak of different things, whatever words they share
_MOST_SENTENCES = 2000
_MOST_CHARS = 2000  # of one sentence: hostile text has sentences of any length
_NEAREST = 4  # sentences of the premise that are looked at closely
_COPY = 0.62  # likeness of word order from which one new word is a replacement, not a paraphrase
_COPY_COVER = 0.85
_FREE_COVER = 0.62
_SAME_SUBJECT = 0.60  # share of the premise's words that a contradiction must be about
_CLOSE = 0.80  # cosine at which a free paraphrase may leave more words unmatched
_CLOSE_COVER = 0.50


@dataclass(frozen=True, slots=True)
class _Reading:
    """What one clause of the premise says about the hypothesis, and how near it is."""

    verdict: Verdict
    why: str
    nearness: float
    sentence: str


@dataclass(frozen=True, slots=True)
class _Around:
    """What the near sentences of the premise hold together: a claim may join what two of them say."""

    words: tuple[Word, ...]
    numbers: tuple[Quantity, ...]

    @staticmethod
    def of(sentences: Sequence[str]) -> _Around:
        taken = [parts(sentence) for sentence in sentences]
        return _Around(
            tuple(word for one in taken for word in one.words),
            tuple(number for one in taken for number in one.numbers),
        )


@dataclass(frozen=True, slots=True)
class Reference:
    """A text made ready: its sentences, where they stand, and their vectors, one row each."""

    spans: tuple[Span, ...]
    sentences: tuple[str, ...]
    vectors: Vector


class OfflineJudge:
    """Decides premise and hypothesis pairs without a network. Thread-safe, deterministic."""

    def __init__(self, embedder: SentenceEmbedder) -> None:
        self._embedder = embedder

    def read(self, text: str) -> Reference:
        """Prepare a text to judge claims against; of a text beyond _MOST_SENTENCES the rest is left out."""
        cleaned = clean(text)
        spans = tuple(units(cleaned)[:_MOST_SENTENCES])
        sentences = tuple(_line(cleaned[s.start : s.end]) for s in spans)
        return Reference(spans, sentences, self._embedder.embed(sentences))

    def rule(self, reference: Reference, claim: str, claim_id: str = "") -> Ruling:
        """Whether the reference entails the claim.

        The evidence is the sentence of the reference that decides, None where no sentence is near.
        """
        claim = _line(clean(claim))
        if not reference.sentences or not claim:
            return Ruling(claim_id, Verdict.NEUTRAL, "nothing to compare")
        cosines = [float(c) for c in reference.vectors @ self._embedder.embed([claim])[0]]
        nearest = sorted(range(len(cosines)), key=lambda i: (-cosines[i], i))[:_NEAREST]
        near = [i for i in nearest if cosines[i] >= _GATE]
        around = _Around.of([reference.sentences[i] for i in near])
        readings = [
            reading
            for i in near
            for reading in _readings(reference.sentences[i], parts(claim), cosines[i], around)
        ]
        return _conclude(claim_id, readings, dict(zip(reference.sentences, reference.spans, strict=True)))


def _line(text: str) -> str:
    return " ".join(uncited(text[:_MOST_CHARS]).split())


def _readings(sentence: str, hypothesis: Parts, cosine: float, around: _Around) -> list[_Reading]:
    # Never the whole of a sentence that joins findings: their directions would mix.
    clauses = findings(sentence)
    return [_read(sentence, parts(clause), hypothesis, cosine, around) for clause in clauses]


def _read(sentence: str, premise: Parts, hypothesis: Parts, cosine: float, around: _Around) -> _Reading:
    found = match(premise, hypothesis, around.words)
    nearness = found.covered + 0.3 * cosine + 0.1 * found.covering + 0.2 * _given(hypothesis, premise.numbers)
    obstacle = _obstacle(premise, hypothesis, found, cosine)
    if obstacle:
        return _Reading(Verdict.NEUTRAL, obstacle, nearness, sentence)
    verdict, why = _relation(premise, hypothesis, found, around)
    return _Reading(verdict, why, nearness, sentence)


def _obstacle(premise: Parts, hypothesis: Parts, found: Match, cosine: float) -> str:
    """Why the two do not speak of the same thing; empty if they do."""
    unheard = _unheard_of(found, cosine)
    if unheard:
        return "the reference does not speak of " + ", ".join(unheard)
    if hypothesis.causal and not premise.causal:
        return "the claim adds a cause"
    if hypothesis.compares and not premise.compares and not premise.numbers:
        return "the claim adds a comparison"
    if premise.method and hypothesis.effect.stated:
        return "the reference tells what was done, not what was found"
    return "the claim is about another condition" if found.opposed and found.likeness >= _COPY else ""


def _unheard_of(found: Match, cosine: float) -> tuple[str, ...]:
    """The claim's words that the reference has no partner for, where they are too many to be a paraphrase."""
    if found.names:
        return found.names
    copy = found.likeness >= _COPY
    needed = _COPY_COVER if copy else _CLOSE_COVER if cosine >= _CLOSE else _FREE_COVER
    return found.novel if found.covered < needed else ()


def _relation(premise: Parts, hypothesis: Parts, found: Match, around: _Around) -> tuple[Verdict, str]:
    """The verdict on two clauses about the same thing."""
    says = premise.effect.turned() if found.swapped else premise.effect
    # A bare list of values, "98% at k = 1", points nowhere: its numbers alone decide.
    values_only = hypothesis.measures and premise.measures and not hypothesis.effect.stated
    numbers = _number_clash(premise, hypothesis, around.numbers)
    if numbers is not None and (values_only or numbers[0] is Verdict.NEUTRAL):
        return numbers
    if not values_only and says.signs.isdisjoint(hypothesis.effect.signs):
        return _opposition(found)
    if numbers is not None:
        return numbers
    if hypothesis.quantifier > premise.quantifier and (hypothesis.quantifier == 3 or premise.quantifier == 1):
        return Verdict.NEUTRAL, "the claim is more general than the reference"
    if values_only or _follows(says, hypothesis.effect):
        return Verdict.ENTAILED, "the reference says the same"
    return Verdict.NEUTRAL, "the reference leaves the direction open"


def _opposition(found: Match) -> tuple[Verdict, str]:
    if max(found.covering, found.likeness) < _SAME_SUBJECT:
        return Verdict.NEUTRAL, "the reference points the other way, but perhaps of something else"
    return Verdict.CONTRADICTED, "the reference points the other way"


def _follows(premise: Effect, hypothesis: Effect) -> bool:
    nothing_gained = premise.signs == FLAT | DOWN and hypothesis.signs == FLAT
    return premise.signs <= hypothesis.signs or nothing_gained


def _given(hypothesis: Parts, numbers: Sequence[Quantity]) -> float:
    """The share of the claim's numbers that are among these."""
    mine = hypothesis.numbers
    return sum(any(n.matches(other) for other in numbers) for n in mine) / len(mine) if mine else 0.0


def _number_clash(premise: Parts, hypothesis: Parts, given: Sequence[Quantity]) -> tuple[Verdict, str] | None:
    """A number of the claim that is not given: contradicted if the premise has another in its place."""
    for number in hypothesis.numbers:
        if any(number.matches(other) for other in given):
            continue
        if number.bound and any(other.satisfies(number) for other in given):
            continue
        rivals = [
            other
            for other in premise.numbers
            if not other.condition
            and (other.unit == number.unit)
            and not any(other.matches(mine) for mine in hypothesis.numbers)
        ]
        written = hypothesis.text[number.start : number.end]
        if number.condition or number.bound or not rivals:
            return Verdict.NEUTRAL, f"the reference does not give {written}"
        return Verdict.CONTRADICTED, f"the reference gives another number than {written}"
    return None


def _conclude(claim_id: str, readings: Sequence[_Reading], places: Mapping[str, Span]) -> Ruling:
    """The nearest reading that decides, unless a much nearer one leaves it open."""
    if not readings:
        return Ruling(claim_id, Verdict.NEUTRAL, "no sentence of the reference is near")
    best = max(readings, key=lambda r: r.nearness)
    decided = [r for r in readings if r.verdict is not Verdict.NEUTRAL and r.nearness >= best.nearness - 0.15]
    chosen = max(decided, key=lambda r: r.nearness) if decided else best
    return Ruling(claim_id, chosen.verdict, chosen.why[:_MOST_CHARS], places[chosen.sentence])


class OfflineBackend:
    """The offline judge behind the `Judge` port; its work runs in a thread so that the loop stays free."""

    config = JudgeConfig(backend="offline", model=MODEL_ID, prompts=VERSION)
    quality = QUALITY

    def __init__(self, judge: OfflineJudge) -> None:
        self._judge = judge

    async def claims(self, text: str) -> tuple[Extraction, Spent]:
        """See `claims.extract`."""
        return await asyncio.to_thread(extract, text), Spent()

    async def rule(self, claims: Sequence[Claim], reference: str) -> tuple[Sequence[Ruling], Spent]:
        """One ruling per claim; never UNSCORED."""
        return await asyncio.to_thread(self._rule, claims, reference), Spent()

    def _rule(self, claims: Sequence[Claim], reference: str) -> list[Ruling]:
        prepared = self._judge.read(reference)
        return [self._judge.rule(prepared, claim.text, claim.id) for claim in claims]


def load() -> OfflineBackend:
    """The offline judge with its embedding model, in 0.5 s. Raises PRECONDITION where files are missing."""
    return OfflineBackend(OfflineJudge(SentenceEmbedder()))
