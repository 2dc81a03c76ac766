"""Whether a premise entails hypotheses: asked by who wants to know what a text gives away.

A judge that reads sentence by sentence lets one sentence outweigh another, which is right for scoring and
wrong for searching: a text gives away what any of its sentences does, and what two of them do together. So in
a search each sentence, and each pair of neighbours read as one, is a premise of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from firetrial_judge.claims import Claim, kind_of
from firetrial_judge.judge import JudgeConfig, Question
from firetrial_judge.judges import Judges, Spec
from firetrial_judge.metrics import JudgeMetrics
from firetrial_judge.panel import Panel
from firetrial_judge.spending import Purses
from firetrial_judge.text import clean, units
from firetrial_judge.verdict import Ruling, Span, Verdict
from firetrial_judge.words import words
from firetrial_kit.asking import Spent

_PARAGRAPH = "\n\n"
_MOST_SENTENCES = 200  # of a premise that is searched; a longer one is read as a whole
_IN_COMMON = 2  # stems of longer words; a sentence that shares fewer with a claim cannot entail it by itself
_SHORT = 3  # letters
_ORDER = (Verdict.ENTAILED, Verdict.UNSCORED, Verdict.CONTRADICTED, Verdict.NEUTRAL)


@dataclass(frozen=True, slots=True)
class Entailed:
    """A ruling on one claim; `hypothesis` counts from 0, the evidence is a span of the premise."""

    hypothesis: int
    claim: Claim
    ruling: Ruling


@dataclass(frozen=True, slots=True)
class Checked:
    """All rulings in the order of the hypotheses, the judge that gave them, and what that cost."""

    found: tuple[Entailed, ...]
    config: JudgeConfig
    quality: str
    spent: Spent


class Entailing:
    """Rules on hypotheses for whoever asks. Neither they nor the premise are kept or logged."""

    def __init__(self, judges: Judges, purses: Purses, metrics: JudgeMetrics) -> None:
        self._judges = judges
        self._purses = purses
        self._metrics = metrics

    async def check(
        self, spec: Spec, premise: str, hypotheses: Sequence[str], *, atomic: bool, searching: bool
    ) -> Checked:
        """See `entail`. Raises PRECONDITION where there is no such judge, and what the judge raises."""
        purse = None if spec.max_cost_usd is None else self._purses.of("", spec.max_cost_usd)
        panel = self._judges.seat(spec, purse)
        checked = await entail(panel, premise, hypotheses, atomic=atomic, searching=searching)
        verdicts = (found.ruling.verdict for found in checked.found)
        self._metrics.count_verdicts(checked.config.backend, verdicts)
        return checked


async def entail(
    panel: Panel, premise: str, hypotheses: Sequence[str], *, atomic: bool, searching: bool
) -> Checked:
    """Rule on each hypothesis, or on each of its atomic claims.

    A hypothesis that holds no claim is ruled on as it stands. Raises what the judge raises.
    """
    claims, spent = await _claims(panel, hypotheses) if atomic else ([], Spent())
    told = {at for at, _ in claims}
    whole = [(at, _whole(at, text)) for at, text in enumerate(hypotheses) if at not in told and text.strip()]
    asked = sorted([*claims, *whole], key=lambda pair: pair[0])
    asked = [(at, replace(claim, id=f"h{n}")) for n, (at, claim) in enumerate(asked, 1)]
    ruled_on = tuple(claim for _, claim in asked)
    apart = searching and not panel.model_backed
    rulings, cost = await (_searched(panel, premise, ruled_on) if apart else _read(panel, premise, ruled_on))
    found = tuple(Entailed(at, claim, rulings[claim.id]) for at, claim in asked)
    return Checked(found, panel.config, panel.quality, spent + cost)


def _whole(at: int, text: str) -> Claim:
    return Claim(f"h{at}", " ".join(text.split()), 0, len(text), kind_of(text))


async def _claims(panel: Panel, hypotheses: Sequence[str]) -> tuple[list[tuple[int, Claim]], Spent]:
    """The atomic claims of all hypotheses, taken apart in one go, each with the number of its hypothesis."""
    extraction, spent = await panel.claims(_PARAGRAPH.join(hypotheses))
    ends: list[int] = []
    for text in hypotheses:
        ends.append((ends[-1] + len(_PARAGRAPH) if ends else 0) + len(text))
    return [
        (next((n for n, end in enumerate(ends) if claim.start < end), len(ends) - 1), claim)
        for claim in extraction.claims
    ], spent


async def _read(panel: Panel, premise: str, claims: tuple[Claim, ...]) -> tuple[dict[str, Ruling], Spent]:
    """Rulings by the premise as a whole."""
    if not claims:
        return {}, Spent()
    (opinions,), spent, _ = await panel.consider([Question(claims, premise)])
    return {opinion.ruling.claim_id: opinion.ruling for opinion in opinions}, spent


async def _searched(panel: Panel, premise: str, claims: tuple[Claim, ...]) -> tuple[dict[str, Ruling], Spent]:
    """The worst that any passage says of each claim, with the passage as its evidence."""
    passages = list(_passages(premise, claims))
    questions = [Question(about, _as_one(premise[span.start : span.end])) for span, about in passages]
    opinions, spent, _ = await panel.consider(questions)
    worst = {
        claim.id: Ruling(claim.id, Verdict.NEUTRAL, "no sentence shares words with it") for claim in claims
    }
    for (span, _), answers in zip(passages, opinions, strict=True):
        for opinion in answers:
            ruling = replace(opinion.ruling, evidence=span)
            if _ORDER.index(ruling.verdict) < _ORDER.index(worst[ruling.claim_id].verdict):
                worst[ruling.claim_id] = ruling
    return worst, spent


def _passages(premise: str, claims: tuple[Claim, ...]) -> Iterator[tuple[Span, tuple[Claim, ...]]]:
    """Each sentence, and each two that follow one another, with the claims that share words with it."""
    spans = units(clean(premise))
    if len(spans) > _MOST_SENTENCES:
        yield Span(0, len(premise)), claims
        return
    told = [(claim, _stems(claim.text)) for claim in claims]
    pairs = (Span(first.start, second.end) for first, second in pairwise(spans))
    for span in (*spans, *pairs):
        said = _stems(premise[span.start : span.end])
        about = tuple(c for c, stems in told if len(said & stems) >= min(_IN_COMMON, len(stems)))
        if about:
            yield span, about


def _stems(text: str) -> frozenset[str]:
    return frozenset(word.stem for word in words(text) if len(word.folded) > _SHORT)


def _as_one(passage: str) -> str:
    """Two sentences as one, so that what each says of the same thing is read together."""
    spans = units(clean(passage))
    parts = [passage[span.start : span.end].strip() for span in spans]
    return "; ".join([*(part.rstrip(".!?") for part in parts[:-1]), *parts[-1:]]) or passage
