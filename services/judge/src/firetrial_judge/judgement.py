"""A judgement: what an agent concluded, laid against what is true, claim by claim, in both directions.

In mode `text` every claim of one side is checked against the other side's whole text, in two passes: the
agent's claims against the ground truth give precision, the ground truth's against the conclusion recall. In
mode `set` the other side's claims stand for its text, which also says which claims match.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from firetrial_judge import hostile
from firetrial_judge.claims import Claim, Extraction
from firetrial_judge.judge import Convention, Judge, JudgeConfig, Mode, Question
from firetrial_judge.panel import Opinion, Panel, in_order
from firetrial_judge.score import Score, score
from firetrial_judge.text import MAX_CHARS
from firetrial_judge.verdict import Ruling, Span, Verdict
from firetrial_kit import tenants
from firetrial_kit.asking import Spent
from firetrial_kit.ids import digest

__all__ = [
    "Convention",
    "Judge",
    "JudgeConfig",
    "Judgement",
    "Match",
    "Mode",
    "Spent",
    "in_order",
    "judge_texts",
    "judgement_id",
    "text_hash",
]


@dataclass(frozen=True, slots=True)
class Match:
    """An agent's claim and one of the ground truth of which one entails the other."""

    agent_claim: str
    truth_claim: str


@dataclass(frozen=True, slots=True)
class Judgement:
    """The result for one run. Spans of claims and evidence are in characters of the text they lie in.

    `agent_opinions` hold one opinion per agent claim, with evidence in the ground truth; `truth_opinions` one
    per ground-truth claim, with evidence in the conclusion (or its `core_idea`, where that was judged); both
    in the order of the claims. `pairs` are known in mode SET only.
    """

    id: str
    config: JudgeConfig
    agent_claims: tuple[Claim, ...]
    agent_opinions: tuple[Opinion, ...]
    truth_claims: tuple[Claim, ...]
    truth_opinions: tuple[Opinion, ...]
    score: Score
    notes: tuple[str, ...] = ()
    spent: Spent = field(default_factory=Spent)
    flags: tuple[str, ...] = ()
    pairs: tuple[Match, ...] = ()
    core_idea: str = ""

    @property
    def agent_rulings(self) -> tuple[Ruling, ...]:
        return tuple(opinion.ruling for opinion in self.agent_opinions)

    @property
    def truth_rulings(self) -> tuple[Ruling, ...]:
        return tuple(opinion.ruling for opinion in self.truth_opinions)


def judgement_id(run_id: str, conclusion: str, truth: str, config: JudgeConfig) -> str:
    """The same run, texts and config give the same id: "j-" and 32 hex digits."""
    hashes = text_hash(conclusion), text_hash(truth), config.hash
    return tenants.beside(run_id, "j-" + digest(run_id, *hashes, config.convention, length=32))


def text_hash(text: str) -> str:
    """SHA-256 of a text's UTF-8 bytes; lone surrogates, which have none, are kept apart by an escape."""
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()


async def judge_texts(
    judge: Judge, *, run_id: str, conclusion: str, truth: str, true: Extraction | None = None
) -> Judgement:
    """Judge a conclusion against a ground truth, whose claims may be at hand already as `true`.

    Raises what the judge raises; UNSCORED is no error.
    """
    panel = judge if isinstance(judge, Panel) else Panel([judge])
    screened = hostile.screen(conclusion)
    idea, spent = await panel.core_idea(screened.text) if panel.config.core_idea else ("", Spent())
    said = idea or screened.text
    agent, true, cost = await _both_claims(panel, said, truth, true)
    sets = _Sets(agent.claims, true.claims) if panel.config.mode is Mode.SET else None
    asked = (
        [sets.on_agent, sets.on_truth]
        if sets
        else [Question(agent.claims, truth), Question(true.claims, said)]
    )
    (on_agent, on_truth), paid, notes = await panel.consider(asked)
    pairs = sets.pairs(on_agent, on_truth) if sets else ()
    if sets:
        on_agent = _in_text(on_agent, sets.on_agent, true.claims)
        on_truth = _in_text(on_truth, sets.on_truth, agent.claims)
    return Judgement(
        id=judgement_id(run_id, conclusion, truth, panel.config),
        config=panel.config,
        agent_claims=agent.claims,
        agent_opinions=on_agent,
        truth_claims=true.claims,
        truth_opinions=on_truth,
        score=score(
            [o.ruling.verdict for o in on_agent],
            [o.ruling.verdict for o in on_truth],
            convention=panel.config.convention,
            surplus=agent.beyond,
        ),
        notes=_notes("conclusion", (*_cut(conclusion), *screened.notes, *agent.notes))
        + _notes("ground truth", true.notes)
        + notes,
        spent=spent + cost + paid,
        flags=screened.flags
        + (("text_capped",) if _cut(conclusion) else ())
        + _flags(agent, true, (*on_agent, *on_truth), notes),
        pairs=pairs,
        core_idea=idea,
    )


async def _both_claims(
    panel: Panel, conclusion: str, truth: str, true: Extraction | None
) -> tuple[Extraction, Extraction, Spent]:
    """The claims of both sides as a1, a2, … and t1, t2, …, so that an id alone tells the side."""
    if true is None:
        (agent, spent), (true, cost) = await asyncio.gather(panel.claims(conclusion), panel.claims(truth))
        spent += cost
    else:
        agent, spent = await panel.claims(conclusion)
    return _named(agent, "a"), _named(true, "t"), spent


def _named(extraction: Extraction, side: str) -> Extraction:
    claims = tuple(replace(claim, id=f"{side}{n}") for n, claim in enumerate(extraction.claims, 1))
    return replace(extraction, claims=claims)


def _on(side: Extraction, reference: str) -> Question:
    return Question(side.claims, reference)


class _Sets:
    """Each side's claims as the other side's reference: a line each."""

    def __init__(self, agent: tuple[Claim, ...], true: tuple[Claim, ...]) -> None:
        self._agent, self._true = agent, true
        self.on_agent = Question(agent, _lines(true))
        self.on_truth = Question(true, _lines(agent))

    def pairs(self, on_agent: Sequence[Opinion], on_truth: Sequence[Opinion]) -> tuple[Match, ...]:
        """Which claims match: found where a verdict of ENTAILED points at a claim of the other side."""
        found = {
            Match(opinion.ruling.claim_id, self._true[line].id)
            for opinion, line in _pointing(on_agent, self.on_agent.reference)
        } | {
            Match(self._agent[line].id, opinion.ruling.claim_id)
            for opinion, line in _pointing(on_truth, self.on_truth.reference)
        }
        agent, true = _places(self._agent), _places(self._true)
        return tuple(sorted(found, key=lambda m: (agent[m.agent_claim], true[m.truth_claim])))


def _lines(claims: Sequence[Claim]) -> str:
    return "\n".join(" ".join(claim.text.split()) for claim in claims)


def _places(claims: Sequence[Claim]) -> dict[str, int]:
    return {claim.id: place for place, claim in enumerate(claims)}


def _pointing(opinions: Sequence[Opinion], reference: str) -> Iterator[tuple[Opinion, int]]:
    """The entailed claims whose evidence is known, and the line of the reference that it lies in."""
    for opinion in opinions:
        if opinion.ruling.verdict is Verdict.ENTAILED and opinion.ruling.evidence:
            yield opinion, _line(opinion.ruling.evidence, reference)


def _line(span: Span, reference: str) -> int:
    return reference.count("\n", 0, span.start)


def _in_text(opinions: Sequence[Opinion], question: Question, claims: Sequence[Claim]) -> tuple[Opinion, ...]:
    """Evidence in a list of claims, as evidence in the text that they were taken from."""
    moved = []
    for opinion in opinions:
        evidence = opinion.ruling.evidence
        if evidence:
            claim = claims[_line(evidence, question.reference)]
            evidence = Span(claim.start, claim.end)
        moved.append(replace(opinion, ruling=replace(opinion.ruling, evidence=evidence)))
    return tuple(moved)


def _notes(side: str, notes: Iterable[str]) -> tuple[str, ...]:
    """What was found about a side's text, each once."""
    return tuple(dict.fromkeys(f"{side}: {note}" for note in notes))


def _cut(conclusion: str) -> tuple[str, ...]:
    """That a text is too long to be read whole, where it is."""
    if len(conclusion) <= MAX_CHARS:
        return ()
    return (f"text cut at {MAX_CHARS} of {len(conclusion)} characters",)


def _flags(
    agent: Extraction, true: Extraction, opinions: Sequence[Opinion], notes: Sequence[str]
) -> tuple[str, ...]:
    """What a reader of the scores must know, in fixed words."""
    told = {
        **dict.fromkeys(agent.flags, True),
        "no_claims": not agent.claims,
        "no_truth_claims": not true.claims,
        "unscored_claims": any(o.ruling.verdict is Verdict.UNSCORED for o in opinions),
        "panel_disagreement": any(o.flip_rate for o in opinions),
        "panel_incomplete": any(" abstained: " in note for note in notes),
    }
    return tuple(flag for flag, holds in told.items() if holds)
