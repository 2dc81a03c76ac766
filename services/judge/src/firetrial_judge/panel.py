"""Several judges, or one asked several times: the majority decides each claim.

What decides the score decides first: entailed or not, by more than half of the votes cast. A tie leaves the
claim UNSCORED, whatever the order of the judges. Where more than half say "not entailed", the verdict is
CONTRADICTED if most of them say so, else NEUTRAL: a contradiction needs its own majority. UNSCORED is an
abstention, no vote.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from firetrial_judge.claims import Claim, Extraction
from firetrial_judge.judge import Convention, Judge, Mode, ModelBacked, Question
from firetrial_judge.merging import merged
from firetrial_judge.verdict import Ruling, Verdict
from firetrial_kit.asking import ModelError, Spent
from firetrial_kit.errors import FiretrialError, Reason

A = TypeVar("A")


@dataclass(frozen=True, slots=True)
class Vote:
    """What one judge said of a claim in one of its turns; `repeat` counts from 1."""

    judge: str
    repeat: int
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Opinion:
    """The panel's ruling on a claim, the votes, and the share of them that differ (None for a single one)."""

    ruling: Ruling
    votes: tuple[Vote, ...] = ()
    flip_rate: float | None = None


@dataclass(frozen=True, slots=True)
class _Turn:
    judge: str
    repeat: int
    rulings: tuple[tuple[Ruling, ...], ...]


class Panel:
    """The `Judge` port over `members`, each asked `repeats` times. The first extracts the claims for all."""

    def __init__(
        self,
        members: Sequence[Judge],
        *,
        repeats: int = 1,
        mode: Mode = Mode.TEXT,
        core_idea: bool = False,
        convention: Convention = Convention.UNDEFINED,
    ) -> None:
        self._members = tuple(members)
        self._repeats = repeats
        self._leader = self._members[0]
        self.quality = self._leader.quality
        self.prompts_sha256 = self._leader.prompts_sha256 if isinstance(self._leader, ModelBacked) else ""
        self.config = replace(
            self._leader.config,
            panel=tuple(member.config.model for member in self._members[1:]),
            repeats=repeats,
            mode=mode,
            core_idea=core_idea,
            convention=convention,
        )

    @property
    def model_backed(self) -> bool:
        """Whether models judge, who read a text as a whole."""
        return isinstance(self._leader, ModelBacked)

    async def claims(self, text: str) -> tuple[Extraction, Spent]:
        """The claims of a text, each said once."""
        extraction, spent = await self._leader.claims(text)
        if isinstance(self._leader, ModelBacked):
            return extraction, spent  # a model tells what repeats as it reads

        async def rule(claims: Sequence[Claim], reference: str) -> Sequence[Ruling]:
            return (await self._leader.rule(claims, reference))[0]

        return await merged(extraction, rule), spent

    async def core_idea(self, text: str) -> tuple[str, Spent]:
        """Raises PRECONDITION where the judge asks no model."""
        if not isinstance(self._leader, ModelBacked):
            raise FiretrialError(Reason.PRECONDITION, "only a model can tell a conclusion's core idea")
        return await self._leader.core_idea(text)

    async def rule(self, claims: Sequence[Claim], reference: str) -> tuple[Sequence[Ruling], Spent]:
        (opinions,), spent, _ = await self.consider([Question(tuple(claims), reference)])
        return [opinion.ruling for opinion in opinions], spent

    async def consider(
        self, questions: Sequence[Question]
    ) -> tuple[list[tuple[Opinion, ...]], Spent, tuple[str, ...]]:
        """An opinion per claim in their order, for each question; the cost; and notes for people.

        A member that refuses for good abstains while another answers. Raises what can pass, and the refusal
        where nobody answered.
        """
        seats = [(m, turn) for turn in range(1, self._repeats + 1) for m in self._members]
        answers, notes = await polled(
            [(member.config.model, _asked(member, questions, turn)) for member, turn in seats]
        )
        given = [(seat, answer) for seat, answer in zip(seats, answers, strict=True) if answer is not None]
        turns = [_Turn(m.config.model, turn, _ordered(questions, found)) for (m, turn), (found, _) in given]
        spent = sum((cost for _, (_, cost) in given), Spent())
        single = len(seats) == 1
        opinions = [
            tuple(_opinion(turns, q, c, single=single) for c in range(len(question.claims)))
            for q, question in enumerate(questions)
        ]
        return opinions, spent, (*notes, *_disagreements(opinions))


async def polled(
    asked: Sequence[tuple[str, Awaitable[A]]],
) -> tuple[list[A | None], tuple[str, ...]]:
    """The answers of judges by name, None where one abstains, and a note on each that does.

    All are waited for: what was paid for is kept, even where one of them has to be asked again. A judge that
    refuses for good abstains while another answers. Raises what can pass, and the refusal where nobody
    answered.
    """
    answers = await asyncio.gather(*(answer for _, answer in asked), return_exceptions=True)
    given: list[A | None] = []
    notes: list[str] = []
    refusal: ModelError | None = None
    for (name, _), answer in zip(asked, answers, strict=True):
        if not isinstance(answer, BaseException):
            given.append(answer)
        elif isinstance(answer, ModelError) and not answer.retryable:
            refusal = answer
            given.append(None)
            notes.append(f"{name} abstained: {answer.message}")
        else:
            raise answer
    if refusal is not None and all(answer is None for answer in given):
        raise refusal
    return given, tuple(notes)


async def _asked(
    judge: Judge, questions: Sequence[Question], turn: int
) -> tuple[list[Sequence[Ruling]], Spent]:
    if isinstance(judge, ModelBacked):
        return await judge.rule_all(questions, turn)
    answers = await asyncio.gather(*(judge.rule(q.claims, q.reference) for q in questions))
    return [rulings for rulings, _ in answers], sum((spent for _, spent in answers), Spent())


def _ordered(
    questions: Sequence[Question], answers: Sequence[Sequence[Ruling]]
) -> tuple[tuple[Ruling, ...], ...]:
    return tuple(in_order(q.claims, rulings) for q, rulings in zip(questions, answers, strict=True))


def in_order(claims: Sequence[Claim], rulings: Sequence[Ruling]) -> tuple[Ruling, ...]:
    """One ruling per claim, by id: missing ones are UNSCORED, those on unknown claims are dropped.

    Verdicts never move to another claim because one is missing.
    """
    by_id = {ruling.claim_id: ruling for ruling in rulings}
    return tuple(
        by_id.get(claim.id) or Ruling(claim.id, Verdict.UNSCORED, "the judge gave no verdict")
        for claim in claims
    )


def _opinion(turns: Sequence[_Turn], question: int, claim: int, *, single: bool) -> Opinion:
    rulings = [turn.rulings[question][claim] for turn in turns]
    if single:
        return Opinion(rulings[0])
    votes = tuple(Vote(t.judge, t.repeat, r.verdict) for t, r in zip(turns, rulings, strict=True))
    verdict = majority([vote.verdict for vote in votes])
    return Opinion(_spoken(verdict, rulings), votes, flip_rate(verdict, votes))


def _spoken(verdict: Verdict, rulings: Sequence[Ruling]) -> Ruling:
    """The ruling with this verdict, in the words of the first who gave it."""
    given = next((ruling for ruling in rulings if ruling.verdict is verdict), None)
    return given or Ruling(rulings[0].claim_id, verdict, "the judges do not agree")


def majority(verdicts: Sequence[Verdict]) -> Verdict:
    """What the votes come to; no order of them changes it. See the module's text for the rule."""
    cast = [v for v in verdicts if v is not Verdict.UNSCORED]
    entailed = cast.count(Verdict.ENTAILED)
    against = len(cast) - entailed
    if entailed == against:
        return Verdict.UNSCORED
    if entailed > against:
        return Verdict.ENTAILED
    contradicted = cast.count(Verdict.CONTRADICTED)
    return Verdict.CONTRADICTED if 2 * contradicted > against else Verdict.NEUTRAL


def flip_rate(verdict: Verdict, votes: Sequence[Vote]) -> float | None:
    """The share of the votes cast that differ from the verdict, 0 to 1; None for fewer than two."""
    cast = [vote.verdict for vote in votes if vote.verdict is not Verdict.UNSCORED]
    return sum(v is not verdict for v in cast) / len(cast) if len(cast) > 1 else None


def _disagreements(opinions: Sequence[Sequence[Opinion]]) -> list[str]:
    """A line for each claim that the votes differ on."""
    return [
        f"the judges disagree on {opinion.ruling.claim_id}: {_tally(opinion.votes)}"
        for side in opinions
        for opinion in side
        if opinion.flip_rate
    ]


def _tally(votes: Sequence[Vote]) -> str:
    verdicts = [vote.verdict for vote in votes]
    return ", ".join(f"{verdicts.count(v)} {v}" for v in Verdict if v in verdicts)
