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

from firetrial_judge.alignment import parts
from firetrial_judge.claims import Claim, Extraction, extract
from firetrial_judge.clauses import findings
from firetrial_judge.embedding import MODEL_ID, SentenceEmbedder, Vector
from firetrial_judge.judgement import JudgeConfig, Spent
from firetrial_judge.reading import Around, Reading, readings
from firetrial_judge.text import clean, uncited, units
from firetrial_judge.verdict import Ruling, Span, Verdict

VERSION = "offline-2"
"""Raised with every change of rules or words that can change a verdict."""
QUALITY = (
    "offline judge, for demonstration: entailed against the rest right on 87 % of 60 pairs, and on 73 % of "
    "180 harder ones, that it was not fitted on (always answering no: 67 %); of the 60, 1 of 20 "
    "contradictions called entailed and 6 of 20 entailments missed; on 48 claims against several sentences "
    "right on 56 % (always no: 62 %)"
)

_GATE = 0.30  # below this cosine two sentences speak of different things, whatever words they share
_MOST_SENTENCES = 2000
_MOST_CHARS = 2000  # of one sentence: hostile text has sentences of any length
_TOGETHER = 64  # pairs whose sentences are embedded in one go
_AHEAD = 1000  # sentences embedded ahead, fewer than the embedder remembers
_NEAREST = 8  # sentences of the premise that are looked at closely
_NEAR = 0.15  # how much nearer another sentence must be to take precedence


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

    def prepare(self, texts: Sequence[str]) -> None:
        """Embed together what will be asked for soon, which is faster than one by one and gives the same."""
        cleaned = [clean(text) for text in texts]
        lines = [_line(text[span.start : span.end]) for text in cleaned for span in units(text)]
        self._embedder.embed(list(dict.fromkeys(lines))[:_AHEAD])

    def rule_pairs(self, pairs: Sequence[tuple[str, str]]) -> list[Ruling]:
        """The rulings on pairs of a reference and a claim, in order."""
        found: list[Ruling] = []
        for at in range(0, len(pairs), _TOGETHER):
            batch = pairs[at : at + _TOGETHER]
            self.prepare([text for pair in batch for text in pair])
            found += [self.rule(self.read(reference), claim) for reference, claim in batch]
        return found

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
        pieces = findings(_line(clean(claim)))
        if len(pieces) > 1:
            return _together([self._rule(reference, piece, claim_id) for piece in pieces])
        return self._rule(reference, pieces[0], claim_id)

    def near(self, reference: Reference, claim: str) -> list[int]:
        """The places of the sentences that speak of what the claim speaks of, the nearest first."""
        return list(self._near(reference, _line(clean(claim))))

    def _near(self, reference: Reference, claim: str) -> dict[int, float]:
        """The near sentences with their cosines, the nearest first."""
        if not reference.sentences or not claim:
            return {}
        cosines = [float(c) for c in reference.vectors @ self._embedder.embed([claim])[0]]
        nearest = sorted(range(len(cosines)), key=lambda i: (-cosines[i], i))[:_NEAREST]
        return {i: cosines[i] for i in nearest if cosines[i] >= _GATE}

    def _rule(self, reference: Reference, claim: str, claim_id: str) -> Ruling:
        if not reference.sentences or not claim:
            return Ruling(claim_id, Verdict.NEUTRAL, "nothing to compare")
        near = self._near(reference, claim)
        around = Around.of([reference.sentences[i] for i in near])
        found = [
            reading
            for i, cosine in near.items()
            for reading in readings(reference.sentences[i], parts(claim), cosine, around)
        ]
        return _conclude(claim_id, found, dict(zip(reference.sentences, reference.spans, strict=True)))


def _together(rulings: Sequence[Ruling]) -> Ruling:
    """One ruling on a claim that joins findings: all must follow, one that is contradicted decides."""
    order = (Verdict.CONTRADICTED, Verdict.NEUTRAL, Verdict.ENTAILED)
    return min(rulings, key=lambda ruling: order.index(ruling.verdict))


def _line(text: str) -> str:
    return " ".join(uncited(text[:_MOST_CHARS]).split())


def _conclude(claim_id: str, readings: Sequence[Reading], places: Mapping[str, Span]) -> Ruling:
    """The nearest reading that decides, unless a much nearer one leaves it open.

    What is said in one sentence is not unsaid by another that is no nearer, so entailment goes first, and
    furthest where that sentence gives all the claim's values.
    """
    if not readings:
        return Ruling(claim_id, Verdict.NEUTRAL, "no sentence of the reference is near")
    best = max(readings, key=lambda r: r.nearness)
    against = [
        r for r in readings if r.verdict is Verdict.CONTRADICTED and r.nearness >= best.nearness - _NEAR
    ]
    least = max((r.nearness for r in against), default=best.nearness) - _NEAR
    entailing = [
        r
        for r in readings
        if r.verdict is Verdict.ENTAILED and (r.confirmed or r.nearness >= max(least, best.nearness - _NEAR))
    ]
    decided = entailing or against
    chosen = max(decided, key=lambda r: r.nearness) if decided else best
    return Ruling(claim_id, chosen.verdict, chosen.why[:_MOST_CHARS], places[chosen.sentence])


class OfflineBackend:
    """The offline judge behind the `Judge` port; its work runs in a thread so that the loop stays free."""

    config = JudgeConfig(backend="offline", model=MODEL_ID, prompts=VERSION)
    quality = QUALITY

    def __init__(self, judge: OfflineJudge) -> None:
        self.judge = judge

    async def claims(self, text: str) -> tuple[Extraction, Spent]:
        """See `claims.extract`."""
        return await asyncio.to_thread(extract, text), Spent()

    async def rule(self, claims: Sequence[Claim], reference: str) -> tuple[Sequence[Ruling], Spent]:
        """One ruling per claim; never UNSCORED."""
        return await asyncio.to_thread(self._rule, claims, reference), Spent()

    async def prepare(self, texts: Sequence[str]) -> None:
        """See `OfflineJudge.prepare`."""
        await asyncio.to_thread(self.judge.prepare, texts)

    def _rule(self, claims: Sequence[Claim], reference: str) -> list[Ruling]:
        prepared = self.judge.read(reference)
        self.judge.prepare([claim.text for claim in claims])
        return [self.judge.rule(prepared, claim.text, claim.id) for claim in claims]


def load() -> OfflineBackend:
    """The offline judge with its embedding model, in 0.5 s. Raises PRECONDITION where files are missing."""
    return OfflineBackend(OfflineJudge(SentenceEmbedder()))
