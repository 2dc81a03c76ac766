"""The offline entailment judge: a sentence embedding to find the place, the claims' parts to decide.

An embedding alone cannot decide: a contradiction differs from its premise by one word and lies closer to it
than a paraphrase does. So it only ranks the premise's sentences and backs up what the words leave open:
names, numbers, scope and comparison tell whether both speak of the same thing, `effects` whether they agree.
It is a demonstration and a smoke test: see the README for its measured quality.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from firetrial_judge.alignment import Match, Parts, match, parts
from firetrial_judge.claims import Claim, Extraction, extract
from firetrial_judge.clauses import findings
from firetrial_judge.effects import DOWN, FLAT, Effect
from firetrial_judge.embedding import MODEL_ID, SentenceEmbedder, Vector
from firetrial_judge.judgement import JudgeConfig, Spent
from firetrial_judge.text import clean, units
from firetrial_judge.verdict import Ruling, Span, Verdict

VERSION = "offline-1"
"""Raised with every change of rules or words that can change a verdict."""
QUALITY = (
    "offline judge, for demonstration: entailed against the rest right on 82 % of 60 pairs written beside "
    "its development and on 85 % of 60 pairs of another hand (always answering no: 67 %)"
)

_GATE = 0.30  # below this cosine two sentences speak of different things, whatever words they share
_MOST_SENTENCES = 2000
_MOST_CHARS = 2000  # of one sentence: hostile text has sentences of any length
_NEAREST = 4  # sentences of the premise that are looked at closely
_COPY = 0.62  # likeness of word order from which one new word is a replacement, not a paraphrase
_COPY_COVER = 0.85
_FREE_COVER = 0.62
_CLOSE = 0.80  # cosine at which a free paraphrase may leave more words unmatched
_CLOSE_COVER = 0.50


@dataclass(frozen=True, slots=True)
class _Reading:
    """What one clause of the premise says about the hypothesis, and how near it is."""

    verdict: Verdict
    why: str
    nearness: float
    span: Span


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
        readings = [
            reading
            for i in nearest
            if cosines[i] >= _GATE
            for reading in _readings(reference.sentences[i], claim, cosines[i], reference.spans[i])
        ]
        return _conclude(claim_id, readings)


def _line(text: str) -> str:
    return " ".join(text[:_MOST_CHARS].split())


def _readings(sentence: str, claim: str, cosine: float, span: Span) -> list[_Reading]:
    hypothesis = parts(claim)
    clauses = list(dict.fromkeys([sentence, *findings(sentence)]))
    return [_read(parts(clause), hypothesis, cosine, span) for clause in clauses]


def _read(premise: Parts, hypothesis: Parts, cosine: float, span: Span) -> _Reading:
    found = match(premise, hypothesis)
    nearness = found.covered + 0.3 * cosine + 0.1 * found.covering
    obstacle = _obstacle(premise, hypothesis, found, cosine)
    if obstacle:
        return _Reading(Verdict.NEUTRAL, obstacle, nearness, span)
    verdict, why = _relation(premise, hypothesis, found)
    return _Reading(verdict, why, nearness, span)


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


def _relation(premise: Parts, hypothesis: Parts, found: Match) -> tuple[Verdict, str]:
    """The verdict on two clauses about the same thing."""
    says = premise.effect.turned() if found.swapped else premise.effect
    if says.signs.isdisjoint(hypothesis.effect.signs):
        return Verdict.CONTRADICTED, "the reference points the other way"
    differing = _number_clash(premise, hypothesis)
    if differing is not None:
        return differing
    if hypothesis.quantifier > premise.quantifier and (hypothesis.quantifier == 3 or premise.quantifier == 1):
        return Verdict.NEUTRAL, "the claim is more general than the reference"
    if _follows(says, hypothesis.effect):
        return Verdict.ENTAILED, "the reference says the same"
    return Verdict.NEUTRAL, "the reference leaves the direction open"


def _follows(premise: Effect, hypothesis: Effect) -> bool:
    nothing_gained = premise.signs == FLAT | DOWN and hypothesis.signs == FLAT
    return premise.signs <= hypothesis.signs or nothing_gained


def _number_clash(premise: Parts, hypothesis: Parts) -> tuple[Verdict, str] | None:
    """A number of the claim that the reference lacks: contradicted if it has another in its place."""
    for number in hypothesis.numbers:
        if any(number.matches(other) for other in premise.numbers):
            continue
        if number.bound and any(other.satisfies(number) for other in premise.numbers):
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


def _conclude(claim_id: str, readings: Sequence[_Reading]) -> Ruling:
    """The nearest reading that decides, unless a much nearer one leaves it open."""
    if not readings:
        return Ruling(claim_id, Verdict.NEUTRAL, "no sentence of the reference is near")
    best = max(readings, key=lambda r: r.nearness)
    decided = [r for r in readings if r.verdict is not Verdict.NEUTRAL and r.nearness >= best.nearness - 0.15]
    chosen = max(decided, key=lambda r: r.nearness) if decided else best
    return Ruling(claim_id, chosen.verdict, chosen.why[:_MOST_CHARS], chosen.span)


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
    """The offline judge with its embedding model, about 0.5 s. Raises EmbeddingUnavailable."""
    return OfflineBackend(OfflineJudge(SentenceEmbedder()))
