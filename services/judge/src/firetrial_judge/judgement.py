"""A judgement: what an agent concluded, laid against what is true, claim by claim, in both directions.

In mode `text` every claim of one side is checked against the other side's whole text, in two passes: the
agent's claims against the ground truth give precision, the ground truth's against the conclusion recall.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from typing import Protocol

from firetrial_judge.claims import Claim, Extraction
from firetrial_judge.score import Score, score
from firetrial_judge.verdict import Ruling, Verdict
from firetrial_kit.ids import digest


class Mode(StrEnum):
    """How claims are matched. TEXT: each against the other side's whole text."""

    TEXT = "text"


@dataclass(frozen=True, slots=True)
class JudgeConfig:
    """Everything that can change a verdict, and nothing else.

    `prompts` names the version of prompts or rules; `endpoint` the address asked, empty offline.
    """

    backend: str
    model: str
    prompts: str
    endpoint: str = ""
    mode: Mode = Mode.TEXT

    @property
    def hash(self) -> str:
        """SHA-256, lower-case hex."""
        return digest(asdict(self))


@dataclass(frozen=True, slots=True)
class Spent:
    """Model calls and tokens paid for; zero for the offline judge."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0

    def __add__(self, other: Spent) -> Spent:
        return Spent(
            self.calls + other.calls,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.cached_tokens + other.cached_tokens,
        )


@dataclass(frozen=True, slots=True)
class Judgement:
    """The result for one run. Spans of claims and evidence are in characters of the text they lie in.

    `agent_rulings` hold one ruling per agent claim, with evidence in the ground truth; `truth_rulings` one
    per ground-truth claim, with evidence in the conclusion; both in the order of the claims.
    """

    id: str
    config: JudgeConfig
    agent_claims: tuple[Claim, ...]
    agent_rulings: tuple[Ruling, ...]
    truth_claims: tuple[Claim, ...]
    truth_rulings: tuple[Ruling, ...]
    score: Score
    notes: tuple[str, ...] = ()
    spent: Spent = field(default_factory=Spent)


class Judge(Protocol):
    """Extracts claims and rules on them. Implemented by the offline and the model judge."""

    config: JudgeConfig
    quality: str  # what is known of how right it is, for people to read

    async def claims(self, text: str) -> tuple[Extraction, Spent]:
        """The claims of a text, by the same procedure whoever wrote it."""

    async def rule(self, claims: Sequence[Claim], reference: str) -> tuple[Sequence[Ruling], Spent]:
        """One ruling per claim against the reference text, in any order, UNSCORED where none could be had."""


def judgement_id(run_id: str, conclusion: str, truth: str, config: JudgeConfig) -> str:
    """The same run, texts and config give the same id: "j-" and 32 hex digits."""
    return "j-" + digest(run_id, text_hash(conclusion), text_hash(truth), config.hash, length=32)


def text_hash(text: str) -> str:
    """SHA-256 of a text's UTF-8 bytes; lone surrogates, which have none, are kept apart by an escape."""
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()


async def judge_texts(
    judge: Judge, *, run_id: str, conclusion: str, truth: str, true: Extraction | None = None
) -> Judgement:
    """Judge a conclusion against a ground truth, whose claims may be at hand already as `true`.

    Raises what the judge raises; UNSCORED is no error.
    """
    agent, spent = await judge.claims(conclusion)
    if true is None:
        true, cost = await judge.claims(truth)
        spent += cost
    agent, true = _named(agent, "a"), _named(true, "t")
    (on_agent, spent_precision), (on_truth, spent_recall) = await asyncio.gather(
        judge.rule(agent.claims, truth), judge.rule(true.claims, conclusion)
    )
    agent_rulings, truth_rulings = in_order(agent.claims, on_agent), in_order(true.claims, on_truth)
    return Judgement(
        id=judgement_id(run_id, conclusion, truth, judge.config),
        config=judge.config,
        agent_claims=agent.claims,
        agent_rulings=agent_rulings,
        truth_claims=true.claims,
        truth_rulings=truth_rulings,
        score=score([r.verdict for r in agent_rulings], [r.verdict for r in truth_rulings]),
        notes=_notes("conclusion", agent) + _notes("ground truth", true),
        spent=spent + spent_precision + spent_recall,
    )


def in_order(claims: Sequence[Claim], rulings: Sequence[Ruling]) -> tuple[Ruling, ...]:
    """One ruling per claim, by id: missing ones are UNSCORED, those on unknown claims are dropped.

    Verdicts never move to another claim because one is missing.
    """
    by_id = {ruling.claim_id: ruling for ruling in rulings}
    return tuple(
        by_id.get(claim.id) or Ruling(claim.id, Verdict.UNSCORED, "the judge gave no verdict")
        for claim in claims
    )


def _named(extraction: Extraction, side: str) -> Extraction:
    """The claims as a1, a2, … or t1, t2, …, so that an id alone tells the side."""
    claims = tuple(replace(claim, id=f"{side}{n}") for n, claim in enumerate(extraction.claims, 1))
    return replace(extraction, claims=claims)


def _notes(side: str, extraction: Extraction) -> tuple[str, ...]:
    return tuple(f"{side}: {note}" for note in extraction.notes)
